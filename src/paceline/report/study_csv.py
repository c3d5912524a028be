"""A study's points as CSV."""

import csv
import io
from collections.abc import Sequence

from paceline.report.study import FIGURES, Point, StudyReport

_HEAD = ("steps", "overloaded", "attempted", "met", "trust")


def render_csv(report: StudyReport) -> str:
    """One line a point: where it is, its steps, and each figure with the ends of its interval."""
    axes = list(dict.fromkeys(name for point in report.points for name in point.at))
    sink = io.StringIO()
    writer = csv.writer(sink, lineterminator="\n")
    writer.writerow(csv_columns(axes))
    writer.writerows(_cells(point, axes) for point in report.points)
    return sink.getvalue()


def csv_columns(axes: Sequence[str]) -> list[str]:
    """The columns in order: axes, counts, and three for each figure."""
    return [*axes, *_HEAD, *(f"{name}{end}" for name in FIGURES for end in ("", "_lo", "_hi"))]


def _cells(point: Point, axes: Sequence[str]) -> list[object]:
    ends: list[object] = []
    for name in FIGURES:
        band = point.figures.get(name)
        ends += ["", "", ""] if band is None else [band.value, band.lo, band.hi]
    counts = [point.steps, point.overloaded, point.attempted, point.met, point.trust]
    return [*(point.at.get(name) for name in axes), *counts, *ends]

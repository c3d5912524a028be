"""What all users get together against what one of them gets, as the load rises; one line an offer."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import altair as alt
import numpy as np
from scipy.stats import t as student_t

from paceline.report.board_words import full_name, short_names
from paceline.report.chart_axes import Axis, axis_of
from paceline.report.charts import Spec
from paceline.report.line_chart import Line, LinePoint, line_chart
from paceline.units import format_number

if TYPE_CHECKING:
    from paceline.advisor.evidence import OfferEvidence
    from paceline.advisor.identity import OfferKey

_NUMBER = re.compile(r"(\D*?)([\d.]+)(.*)")


def load_lines(offers: Sequence["OfferEvidence"], numbers: Mapping["OfferKey", int]) -> list[Line]:
    """Lines of the offers that were measured at several loads of one kind, under one workload.

    x: median rate of one request; y: tokens a second of all, the mean over runs, with its interval where
    there are several runs (Student's t). numbers: of rows on the board, by offer; others follow.
    """
    groups: dict[tuple[OfferKey, str], list[tuple[float, OfferEvidence]]] = {}
    for one in offers:
        found = _NUMBER.fullmatch(one.load)
        if found is not None:
            kind = f"{found.group(1)}{found.group(3)}"
            groups.setdefault((one.key, kind), []).append((float(found.group(2)), one))
    several = {key: mine for key, mine in groups.items() if len(mine) > 1}
    keys = list(dict.fromkeys(key for key, _ in several))
    names = dict(zip(keys, short_names(keys), strict=True))
    lines: list[Line] = []
    for (key, _), mine in several.items():
        points = [point for at, one in sorted(mine, key=lambda each: each[0]) for point in _point(at, one)]
        if len(points) > 1:
            number = numbers.get(key, len(numbers) + 1 + len(lines))
            lines.append(Line(number, names[key], full_name(key), tuple(points)))
    return sorted(lines, key=lambda line: -max(point.y for point in line.points))


def load_chart(lines: Sequence[Line]) -> Spec:
    """Throughput against interactivity."""
    titles = ("tokens a second at the median user", "tokens a second in all")
    x = _axis(titles[0], [end for line in lines for p in line.points for end in (p.x, p.x_lo, p.x_hi)])
    y = _axis(titles[1], [end for line in lines for p in line.points for end in (p.y, p.lo, p.hi)])
    place = alt.X("x:Q", title=titles[0], scale=x.scale(), axis=x.marks())
    return line_chart(lines, place, y, titles=("tok/s/user", "tok/s"), names_over=x)


def _axis(title: str, ends: Sequence[float | None]) -> Axis:
    return axis_of(title, [end for end in ends if end is not None and end > 0.0], zero=True)


def _point(at: float, one: "OfferEvidence") -> list[LinePoint]:
    user = one.quantile("output_tok_s", 0.5)
    total = np.array([digest.output_tok_s for digest in one.digests if digest.output_tok_s])
    if not user.n or not len(total):
        return []
    mean, lo, hi = float(total.mean()), None, None
    if len(total) > 1:
        half = float(student_t.ppf(0.975, len(total) - 1) * total.std(ddof=1) / math.sqrt(len(total)))
        lo, hi = mean - half, mean + half
    span = f" ({format_number(lo)} to {format_number(hi)})" if lo is not None and hi is not None else ""
    own = (
        ""
        if user.lo is None or user.hi is None
        else f" ({format_number(user.lo)} to {format_number(user.hi)})"
    )
    return [
        LinePoint(
            user.value,
            mean,
            lo if lo is None or lo > 0.0 else None,
            hi,
            f"{format_number(user.value)}{own} at {one.load}",
            f"{format_number(mean)}{span}",
            user.lo,
            user.hi,
            f"{at:g}",
        )
    ]

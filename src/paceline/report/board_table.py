"""The table of a board as a page draws it: every cell with its value, interval, bar and place."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from paceline.report.board_figures import FIGURES, FigureInfo
from paceline.report.board_notes import MARKS
from paceline.report.board_points import JOBS_CHARTED, Point, better_of, charted
from paceline.report.board_sentences import alike_best
from paceline.report.board_words import figure_words, full_name, interval_words, missing_words, reason_words
from paceline.report.words import printable, shorten

if TYPE_CHECKING:
    from paceline.advisor.board import Board, BoardRow
    from paceline.advisor.figures import Figure

_BAR_PX = 72.0
# Bars of a column lie on one scale from zero. One so many times the median would make dots of all others.
_FAR = 4.0
# The whole of a longer note is in the list below the table.
_NOTE = 66


def table_context(board: "Board") -> dict[str, Any]:
    """What the macro `board_table` draws: `columns`, `rows`, and `sort`, the column of the order."""
    scales = {name: _scale(board.rows, name) for name in FIGURES}
    best = {name: _best(board.rows, name) for name in FIGURES}
    return {
        "sort": board.query.sort,
        "columns": [_column(info) for info in FIGURES.values()],
        "rows": [
            {
                "number": place + 1,
                **_offer(row),
                "cells": [
                    _cell(info, row.figures[info.name], scales[info.name], best=place in best[info.name])
                    for info in FIGURES.values()
                ],
            }
            for place, row in enumerate(board.rows)
        ],
    }


def _column(info: FigureInfo) -> dict[str, str]:
    return {
        "name": info.name,
        "label": _label(info),
        "unit": _unit(info),
        "better": info.better,
        "definition": f"{info.definition}; {info.better} is better",
    }


def _label(info: FigureInfo) -> str:
    """Bills are of more jobs than one here, as in charts: those of one are too small to read."""
    return f"bill of {JOBS_CHARTED:,}" if info.name == "usd_per_job" else info.label


def _unit(info: FigureInfo) -> str:
    if info.name == "usd_per_job":
        return "USD"
    said = info.unit in info.label or info.unit.replace("/USD", " per USD") in info.label
    return "" if said else info.unit


def _offer(row: "BoardRow") -> dict[str, Any]:
    evidence = row.evidence
    runs, requests = len(evidence.digests), evidence.attempted
    return {
        "model": printable(row.key.model),
        "provider": printable(row.key.provider),
        "tier": printable(row.key.tier),
        "full": full_name(row.key),
        "marks": [{"name": mark, "about": MARKS[mark][1] if mark in MARKS else mark} for mark in row.marks],
        "feel": "feel not known yet"
        if row.feel == "?"
        else f"feels {printable(row.feel)}"
        if row.feel
        else "",
        "behind": f"{requests:,} requests, {runs:,} {'run' if runs == 1 else 'runs'}",
        "last": f"{evidence.last_at:%Y-%m-%d}",
        "run_ids": [one.run_id for one in evidence.digests],
    }


def _cell(info: FigureInfo, figure: "Figure", scale: float, *, best: bool) -> dict[str, Any]:
    figure, value = charted(info.name, figure), figure.value
    return {
        "name": info.name,
        "label": _label(info),
        "unit": _unit(info),
        "text": reason_words(figure)
        if value is None and figure.lo is None
        else figure_words(info.name, figure),
        "span": interval_words(info.name, figure),
        "note": "" if value is None and figure.lo is None else shorten(reason_words(figure), _NOTE),
        "whole_note": missing_words(figure),
        # The plain number: what the page sorts by; nothing where there is none.
        "value": "" if value is None else repr(float(value)),
        "best": best,
        "bar": _bar(figure, scale) if value is not None and scale > 0.0 else None,
    }


def _bar(figure: "Figure", scale: float) -> dict[str, str]:
    """Places in px of a bar of `_BAR_PX`: of the interval, and of the value."""
    value = min((figure.value or 0.0) / scale, 1.0) * _BAR_PX
    lo = value if not figure.known or figure.lo is None else min(max(figure.lo / scale, 0.0), 1.0) * _BAR_PX
    hi = value if not figure.known or figure.hi is None else min(max(figure.hi / scale, 0.0), 1.0) * _BAR_PX
    # Also the narrowest interval can be seen.
    wide = max(hi - lo, 2.0)
    return {
        "at": f"{value:.1f}",
        "from": f"{min(lo, _BAR_PX - wide):.1f}",
        "wide": f"{wide:.1f}",
    }


def _scale(rows: Sequence["BoardRow"], name: str) -> float:
    """The value at the right end of a column's bars."""
    known = sorted(value for row in rows if (value := charted(name, row.figures[name]).value) is not None)
    if not known:
        return 0.0
    middle = known[len(known) // 2]
    return max((value for value in known if value <= _FAR * middle), default=known[-1]) * 1.08


def _best(rows: Sequence["BoardRow"], name: str) -> set[int]:
    """Places of the best of a column, and of all that cannot be told apart from it; of none where all are."""
    points = [
        Point(place, "", "", "", row.figures[name], row.figures[name]) for place, row in enumerate(rows)
    ]
    found = {point.number for point in alike_best(points, name)}
    known = [point for point in points if point.y.value is not None]
    return found if len(found) < len(known) and better_of(name) else set()

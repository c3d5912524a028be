"""One figure of all offers: a dot with its interval a row, and those without it, too."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import altair as alt

from paceline.report.board_figures import FIGURES
from paceline.report.board_points import Point, better_of, plain_ends
from paceline.report.board_sentences import alike_best
from paceline.report.board_words import figure_words, interval_words, missing_words, plain_value, reason_words
from paceline.report.chart_axes import axis_of
from paceline.report.charts import ACCENT, QUIET, TEXT, WIDTH, Spec, inline, plain
from paceline.report.line_chart import NUMBERED, numbered_param

if TYPE_CHECKING:
    from paceline.advisor.figures import Figure

_ROW_PX = 32
_CHAR_PX = 6.4


def dots_chart(points: Sequence[Point], name: str, title: str) -> Spec | None:
    """`y` of each point, the best first; None where nobody has it. title: of the axis, with its unit."""
    known = [point for point in points if point.y.value is not None]
    if not known:
        return None
    sign = 1.0 if better_of(name) == "lower" else -1.0
    known.sort(key=lambda point: sign * (point.y.value or 0.0))
    shown = [*known, *(point for point in points if point.y.value is None)]
    first = alike_best(known, name)
    rows = [_row(point, place, name, best=point in first) for place, point in enumerate(shown)]
    ends = [end for row in rows for end in (row["value"], row["lo"], row["hi"]) if end is not None]
    axis = axis_of(title, ends, zero=True)
    base = alt.Chart(inline(rows))
    x = alt.X("value:Q", title=title, scale=axis.scale(), axis=axis.marks())
    rows_scale = alt.Scale(domain=[0, len(rows)], reverse=True, nice=False, zero=False)
    y, upper, edge = (
        alt.Y(f"{field}:Q", title=None, axis=None, scale=rows_scale) for field in ("place", "upper", "edge")
    )
    colour = alt.condition("datum.best", alt.value(ACCENT), alt.value(QUIET))
    span = (
        base.transform_filter("isValid(datum.lo)")
        .mark_rule(strokeWidth=4, opacity=0.4, strokeCap="round")
        .encode(x=alt.X("lo:Q"), x2="hi:Q", y=y, color=colour)
    )
    dot = (
        base.transform_filter("isValid(datum.value)")
        .mark_point(filled=True, size=70, opacity=1)
        .encode(
            x=x,
            y=y,
            color=colour,
            shape=alt.condition("datum.best", alt.value("circle"), alt.value("diamond")),
            tooltip=[alt.Tooltip("full:N", title="offer"), alt.Tooltip("said:N", title=title)],
        )
    )
    # A narrow one leaves intervals to the bars: a name without its end may be another offer's.
    said_px, short_px = (_CHAR_PX * max(len(row[field]) for row in rows) for field in ("said", "short"))
    room = alt.ExprRef(f"max(60, width - ({NUMBERED} ? {short_px:.0f} : {said_px:.0f}))")
    names = base.mark_text(align="left", baseline="middle", color=TEXT, limit=room).encode(
        x=alt.value(2), y=upper, text="name:N"
    )
    said = (
        base.transform_calculate(shown=f"{NUMBERED} ? datum.short : datum.said")
        .mark_text(align="right", baseline="middle", color=QUIET)
        .encode(x=alt.X(value="width"), y=upper, text="shown:N")
    )
    lines = base.mark_rule(color=QUIET, opacity=0.18).encode(y=edge)
    chart: Any = alt.layer(lines, span, dot, names, said)
    return plain(chart.properties(width=WIDTH, height=_ROW_PX * len(rows)).add_params(numbered_param()))


def _row(point: Point, place: int, name: str, *, best: bool) -> dict[str, Any]:
    lo, hi = plain_ends(name, point.y)
    value = point.y.value
    return {
        "full": point.full,
        "name": point.name,
        "place": place + 0.72,
        "upper": place + 0.3,
        "edge": place + 1,
        "best": best,
        "value": None if value is None else plain_value(name, value),
        "lo": lo if point.y.known else None,
        "hi": hi if point.y.known else None,
        "said": _said(name, point.y),
        "short": _said(name, point.y, span=False),
    }


def _said(name: str, figure: "Figure", *, span: bool = True) -> str:
    if figure.value is None:
        return reason_words(figure)
    if not span:
        return f"{figure_words(name, figure)} {FIGURES[name].unit}"
    ends = interval_words(name, figure) or missing_words(figure)
    return f"{figure_words(name, figure)} {FIGURES[name].unit} ({ends})"

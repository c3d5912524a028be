"""Offers over time: medians of hours with their intervals, the level of each, and where it changed."""

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np

from paceline.report.board_figures import FIGURES
from paceline.report.board_words import full_name, short_names
from paceline.report.chart_axes import axis_of
from paceline.report.charts import ACCENT, QUIET, SECOND, TEXT, WIDTH, Spec, inline, plain
from paceline.report.drawn import Drawn
from paceline.report.line_chart import Line, LinePoint, grey_words, line_chart, names_px, with_halo
from paceline.report.trend_text import trend_words
from paceline.units import format_number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from paceline.advisor.identity import OfferKey
    from paceline.advisor.trend import Trend

HEIGHT = 240
MOST_CHANGED = 6
"""Offers that changed and have a chart of their own; all are in the chart of all."""
# The hour, and under it the day.
_TIMES = alt.Axis(
    labelExpr="[utcFormat(datum.value, '%H:%M'), utcFormat(datum.value, '%d %b')]", labelOverlap="greedy"
)
# Of trends by figures that no board has.
_TITLES = {"e2e_p50_ms": "median E2E, ms"}


def trend_chart(trend: "Trend") -> Spec | None:
    """None where no hour has enough requests."""
    if not trend.hours:
        return None
    title = trend_title(trend.figure)
    rows = [
        {
            "at": _utc(hour.at),
            "y": hour.median.value,
            "lo": hour.median.lo,
            "hi": hour.median.hi,
            "n": hour.n,
            "said": _interval(hour.median.lo, hour.median.hi),
            "runs": ", ".join(hour.runs),
        }
        for hour in trend.hours
    ]
    medians = [hour.median for hour in trend.hours]
    ends = [end for one in medians for end in (one.value, one.lo, one.hi) if end is not None]
    axis = axis_of(title, ends, zero=True)
    base = alt.Chart(inline(rows))
    x = alt.X("at:T", title="time, UTC", scale=alt.Scale(type="utc", padding=14), axis=_TIMES)
    y = alt.Y("y:Q", title=title, scale=axis.scale(), axis=axis.marks())
    spans = (
        base.transform_filter("isValid(datum.lo) && isValid(datum.hi)")
        .mark_rule(color=ACCENT, strokeWidth=3, opacity=0.35)
        .encode(x=x, y=alt.Y("lo:Q", title=title), y2="hi:Q")
    )
    dots = base.mark_point(filled=True, size=45, opacity=1, color=ACCENT).encode(
        x=x,
        y=y,
        tooltip=[
            alt.Tooltip("at:T", title="hour, UTC", format="%Y-%m-%d %H:%M", formatType="utc"),
            alt.Tooltip("y:Q", title=title, format=",.4~r"),
            alt.Tooltip("said:N", title="95 % interval"),
            alt.Tooltip("n:Q", title="requests"),
            alt.Tooltip("runs:N"),
        ],
    )
    chart: Any = alt.layer(*_changes(trend), spans, *_levels(trend), dots)
    return plain(chart.properties(width=WIDTH, height=HEIGHT))


def trends_drawn(trends: "Sequence[Trend]", numbers: "Mapping[OfferKey, int]") -> Drawn | None:
    """Several offers over time in one chart, those that changed first; None where none has two hours.

    numbers: of rows on the board, by offer.
    """
    shown = sorted((one for one in trends if len(one.hours) > 1), key=lambda one: not one.shifts)
    if not shown:
        return None
    names = short_names([one.key for one in shown])
    lines = [
        Line(numbers.get(one.key, place + 1), name, full_name(one.key), tuple(_points(one)))
        for place, (one, name) in enumerate(zip(shown, names, strict=True))
    ]
    title = trend_title(shown[0].figure)
    ends = [end for line in lines for point in line.points for end in (point.y, point.lo, point.hi)]
    axis = axis_of(title, [end for end in ends if end is not None], zero=True)
    x = alt.X("x:T", title="time, UTC", scale=alt.Scale(type="utc"), axis=_TIMES)
    return Drawn(
        name="trends",
        title=f"Over time: {title}",
        says=_trends_words(shown, names),
        about="Medians of hours; bands are 95\N{NARROW NO-BREAK SPACE}% intervals. A change is only told "
        f"where chance alone would hardly show as much.{grey_words(lines)}",
        spec=line_chart(lines, x, axis, titles=("hour, UTC", title)),
        head=("offer", "hour, UTC", f"{title} (95 % interval)"),
        rows=tuple((line.full, point.x_said, point.y_said) for line in lines for point in line.points),
        numbered=True,
        names_px=names_px(lines),
    )


def changes_drawn(trends: "Sequence[Trend]") -> list[Drawn]:
    """A chart of its own for each offer that changed, at most `MOST_CHANGED`, the latest change first."""
    shown = sorted((one for one in trends if one.shifts), key=lambda one: one.shifts[-1].at, reverse=True)
    found = []
    for place, one in enumerate(shown[:MOST_CHANGED]):
        spec = trend_chart(one)
        assert spec is not None
        head, rows = trend_table(one)
        found.append(
            Drawn(
                name=f"trend_{place + 1}",
                title=f"{full_name(one.key)} over time",
                says=trend_words(one),
                about="Dots are medians of hours, bars are 95\N{NARROW NO-BREAK SPACE}% intervals. Lines: "
                "the level before and after. Dashed: the first hour of the new level.",
                spec=spec,
                head=head,
                rows=rows,
            )
        )
    return found


def _points(trend: "Trend") -> list[LinePoint]:
    found = []
    for hour in trend.hours:
        lo, hi = hour.median.lo, hour.median.hi
        said = f"{format_number(hour.median.value)} ({_interval(lo, hi)})"
        at = hour.at.timestamp() * 1e3
        found.append(LinePoint(at, hour.median.value, lo, hi, f"{hour.at:%Y-%m-%d %H:%M}", said))
    return found


def _trends_words(trends: "Sequence[Trend]", names: "Sequence[str]") -> str:
    """The changes, and of how many offers there is none to tell."""
    told = [f"{name}: {trend_words(one)}" for one, name in zip(trends, names, strict=True) if one.shifts]
    if told:
        return " ".join(told)
    known = sum(one.needs_hours is None for one in trends)
    if not known:
        return "Too few hours were measured yet to tell a change from noise."
    return f"No change beyond noise in the {known:,} {'offer' if known == 1 else 'offers'} with enough hours."


def trend_title(figure: str) -> str:
    """The name of a trend's figure with its unit."""
    if figure in _TITLES:
        return _TITLES[figure]
    info = FIGURES[figure]
    return info.label if info.unit in info.label else f"{info.label}, {info.unit}"


def trend_table(trend: "Trend") -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Hours as text: head and rows."""
    head = ("hour, UTC", trend_title(trend.figure), "95 % interval", "requests", "runs")
    rows = tuple(
        (
            f"{hour.at:%Y-%m-%d %H:%M}",
            format_number(hour.median.value),
            _interval(hour.median.lo, hour.median.hi),
            f"{hour.n:,}",
            ", ".join(hour.runs),
        )
        for hour in trend.hours
    )
    return head, rows


def _levels(trend: "Trend") -> list[Any]:
    """The median of the hours between two changes, as a line."""
    edges = [None, *(shift.at for shift in trend.shifts), None]
    rows = []
    for begin, end in pairwise(edges):
        mine = [
            hour
            for hour in trend.hours
            if (begin is None or hour.at >= begin) and (end is None or hour.at < end)
        ]
        if mine:
            # Medians of hours are held against each other by ratios, so that their middle is, too.
            level = math.exp(float(np.median([math.log(hour.median.value) for hour in mine])))
            rows.append({"from": _utc(mine[0].at), "to": _utc(mine[-1].at), "y": level})
    data = alt.Chart(inline(rows))
    return [data.mark_rule(color=SECOND, strokeWidth=2).encode(x="from:T", x2="to:T", y="y:Q")]


def _changes(trend: "Trend") -> list[Any]:
    """Where the level changed: between the last hour of the old one and the first of the new."""
    rows = [
        {
            "from": _utc(shift.after),
            "to": _utc(shift.at),
            "text": f"{shift.ratio:.2f} times ({shift.lo:.2f} to {shift.hi:.2f})",
            "late": shift.at > trend.hours[len(trend.hours) // 2].at,
        }
        for shift in trend.shifts
    ]
    if not rows:
        return []
    data = alt.Chart(inline(rows))
    band = data.mark_rect(color=QUIET, opacity=0.18).encode(x="from:T", x2="to:T")
    rule = data.mark_rule(color=TEXT, strokeDash=[4, 3], opacity=0.8).encode(x="to:T")
    mark = {
        "color": TEXT,
        "baseline": "top",
        "align": alt.ExprRef("datum.late ? 'right' : 'left'"),
        "dx": alt.ExprRef("datum.late ? -6 : 6"),
        "dy": 8,
    }
    names = with_halo(data, {"x": alt.X("to:T"), "y": alt.value(0), "text": "text:N"}, mark)
    return [band, rule, *names]


def _utc(at: "datetime") -> str:
    return at.isoformat()


def _interval(lo: float | None, hi: float | None) -> str:
    return "not enough data" if lo is None or hi is None else f"{format_number(lo)} to {format_number(hi)}"

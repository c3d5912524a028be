"""A tuning as one HTML file."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import altair as alt

from paceline import __version__
from paceline.report.chart_axes import Axis, axis_of
from paceline.report.charts import ACCENT, QUIET, SECOND, WIDTH, Spec, inline, plain
from paceline.report.line_chart import Line, LinePoint, line_chart
from paceline.report.page import Page
from paceline.report.sameness_words import sameness_words
from paceline.report.tuning_text import (
    SIDES,
    common_settings,
    curve_cells,
    head_rows,
    metric_words,
    setting_cells,
    settings_words,
)
from paceline.units import format_number

if TYPE_CHECKING:
    from paceline.tuning.goal import Goal
    from paceline.tuning.journal import Tuning
    from paceline.tuning.leaders import Leader

_HEIGHT = 180


def render_tuning_html(tuning: "Tuning", goal: "Goal", leaders: Sequence["Leader"]) -> str:
    """One self-contained file."""
    return tuning_page(tuning, goal, leaders).as_file()


def tuning_page(tuning: "Tuning", goal: "Goal", leaders: Sequence["Leader"]) -> Page:
    """Verdict, settings, rounds, trade-off and what the search saw."""
    result = tuning.result or {}
    rounds = _round_rows(tuning, goal)
    charts: dict[str, Any] = {}
    if any(row["value"] > 0.0 for row in rounds):
        charts["rounds"] = _rounds_chart(rounds, goal)
    lines = [line for line in _curve_lines(tuning) if line.points]
    if lines:
        charts["curve"] = _curve_chart(lines)
    common = common_settings(leaders)
    better = "lower" if goal.direction == "min" else "higher"
    sentence = str(result.get("sentence") or "no verdict yet")
    context: dict[str, Any] = {
        "title": f"Tuning of {tuning.model_name}",
        "version": __version__,
        "tone": "trusted" if result.get("real") else "suspect",
        "verdict": sentence[:1].upper() + sentence[1:],
        "below": _below(tuning),
        "head": head_rows(tuning, leaders),
        "settings": setting_cells(tuning),
        "has_rounds": "rounds" in charts,
        "has_curve": "curve" in charts,
        "rounds_title": f"{metric_words(goal)}: {better} is better",
        "curve_rows": curve_cells(tuning),
        "curve_sentence": "Further right is faster for each user, further up is more for all together; "
        "numbers are streams at once.",
        "leading": [_leading(one, common) for one in leaders],
        "common": settings_words(common) if common else "",
        "metric": metric_words(goal),
    }
    document = tuning.model_dump_json(by_alias=True)
    return Page("tuning.html", context, charts, document)


def _below(tuning: "Tuning") -> list[str]:
    lines = [] if tuning.sameness is None else [f"Greedy answers: {sameness_words(tuning.sameness)}."]
    if tuning.profile is not None:
        lines.append(f"`paceline serve MODEL --tier {tuning.tier}` takes these settings.")
    elif tuning.state == "complete":
        lines.append("No profile was written.")
    return lines


def _leading(one: "Leader", common: Mapping[str, Any]) -> list[str]:
    return [
        str(one.number),
        settings_words({n: v for n, v in one.settings.items() if n not in common})
        if one.number
        else "the engine's defaults",
        str(one.blocks),
        "-" if one.value is None else format_number(one.value),
        "-" if one.ratio is None else f"{one.ratio:.2f}",
        one.stopped or "",
    ]


def _round_rows(tuning: "Tuning", goal: "Goal") -> list[dict[str, Any]]:
    rows = []
    for number, one in enumerate(tuning.rounds, 1):
        for side, name in SIDES.items():
            block = one.default if side == "default" else one.tuned
            values = (
                [] if block is None or block.failure else [v for v in block.values.values() if goal.counts(v)]
            )
            rows += [{"round": number, "side": name, "value": value} for value in values]
    return rows


def _rounds_chart(rows: list[dict[str, Any]], goal: "Goal") -> Spec:
    """A dot a request, in its round and side."""
    axis = axis_of(metric_words(goal), [row["value"] for row in rows if row["value"] > 0.0], zero=True)
    base = alt.Chart(inline(rows))
    colour = alt.Color(
        "side:N",
        title=None,
        scale=alt.Scale(domain=list(SIDES.values()), range=[SECOND, ACCENT]),
        legend=alt.Legend(orient="top", labelColor=QUIET),
    )
    dots = base.mark_point(filled=True, size=45, opacity=0.75).encode(
        x=alt.X("round:O", title="round", axis=alt.Axis(labelAngle=0)),
        xOffset=alt.XOffset("side:N", scale=alt.Scale(domain=list(SIDES.values()))),
        y=alt.Y("value:Q", title=axis.title, scale=axis.scale(), axis=axis.marks()),
        color=colour,
        shape=alt.Shape("side:N", legend=None),
        tooltip=["side:N", "round:O", alt.Tooltip("value:Q", title=goal.metric, format=".4g")],
    )
    return plain(dots.properties(width=WIDTH, height=_HEIGHT))


def _curve_lines(tuning: "Tuning") -> list[Line]:
    """A line a side, of the levels at which answers had a rate."""
    lines = []
    for number, (side, curve) in enumerate(sorted(tuning.curves.items(), reverse=True), 1):
        points = []
        for point in curve:
            user = ((point.get("user_tok_s") or {}).get("p50") or {}).get("value")
            total = point.get("output_tok_s")
            if user and total:
                streams = int(point["concurrency"])
                said = f"{format_number(user)} at {streams} streams"
                points.append(
                    LinePoint(user, total, None, None, said, format_number(total), tag=str(streams))
                )
        lines.append(Line(number, SIDES[side], SIDES[side], tuple(points)))
    return lines


def _curve_chart(lines: Sequence[Line]) -> Spec:
    x = _axis("tokens a second at the median user", [p.x for line in lines for p in line.points])
    y = _axis("tokens a second in all", [p.y for line in lines for p in line.points])
    place = alt.X("x:Q", title=x.title, scale=x.scale(), axis=x.marks())
    return line_chart(lines, place, y, titles=("tok/s/user", "tok/s"), names_over=x)


def _axis(title: str, ends: list[float]) -> Axis:
    return axis_of(title, ends, zero=True)

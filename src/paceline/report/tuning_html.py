"""A tuning as one HTML file."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import altair as alt

from paceline import __version__
from paceline.report.chart_axes import Axis, axis_of
from paceline.report.charts import FAILED, GOOD, WIDTH, Spec, inline, plain
from paceline.report.line_chart import HUES, Line, LinePoint, line_chart
from paceline.report.page import Page, coded
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

_HEIGHT = 200
# Half of what the two sides of a round lie apart, where rounds are 1 apart.
_ASIDE = 0.2
# The second half of a tuning in the colours and shapes of its curves: tuned is first there.
_HUES = {"default": HUES[1], "tuned": HUES[0]}
_SHAPES = {"default": "square", "tuned": "circle"}
_BETTER, _WORSE = "tuned is better", "tuned is no better"


def render_tuning_html(tuning: "Tuning", goal: "Goal", leaders: Sequence["Leader"]) -> str:
    """One self-contained file."""
    return tuning_page(tuning, goal, leaders).as_file()


def tuning_page(tuning: "Tuning", goal: "Goal", leaders: Sequence["Leader"]) -> Page:
    """Verdict, settings, rounds, trade-off, what the search saw, and how all of it was measured."""
    result = tuning.result or {}
    rounds = _round_rows(tuning, goal)
    charts: dict[str, Any] = {}
    if any(row["value"] > 0.0 for row in rounds):
        charts["rounds"] = _rounds_chart(rounds, goal)
    lines = _curve_lines(tuning)
    # One side alone has nothing that it could be held against.
    if len(lines) == len(SIDES) and all(line.points for line in lines):
        charts["curve"] = _curve_chart(lines)
    common = common_settings(leaders)
    verdict, _, rest = str(result.get("sentence") or "no verdict yet").partition("; ")
    head = dict(head_rows(tuning, leaders))
    context: dict[str, Any] = {
        "title": f"Tuning of {head['model']}",
        "about": f"{head['engine']}. Goal: {head['goal']}.",
        "version": __version__,
        "tone": "trusted" if result.get("real") else "suspect",
        "verdict": _upper(verdict),
        "below": coded([*([f"{rest}."] if rest else []), *_below(tuning)]),
        "notes": tuning.notes,
        "head": [
            row for row in head_rows(tuning, leaders) if row[0] not in ("model", "engine", "goal", "note")
        ],
        "won": bool(result.get("real")),
        "settings": setting_cells(tuning),
        "has_rounds": "rounds" in charts,
        "has_curve": "curve" in charts,
        "rounds_sentence": _rounds_sentence(rounds, goal),
        "curve_rows": [[_streams_words(row[0], row[1]), *row[2:]] for row in curve_cells(tuning)],
        "leading": [_leading(one, common) for one in leaders],
        "common": settings_words(common) if common else "",
        "metric": metric_words(goal),
    }
    document = tuning.model_dump_json(by_alias=True)
    return Page("tuning.html", context, charts, document)


def _upper(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def _streams_words(level: str, side: str) -> str:
    return f"{level} stream{'' if level == '1' else 's'}, {side}"


def _below(tuning: "Tuning") -> list[str]:
    lines = [] if tuning.sameness is None else [f"Greedy answers: {sameness_words(tuning.sameness)}."]
    if tuning.profile is not None:
        lines.append(f"`paceline serve MODEL --tier {tuning.tier}` takes these settings.")
    elif tuning.state == "complete":
        lines.append("No profile was written: `paceline serve` goes on as before.")
    return lines


def _leading(one: "Leader", common: Mapping[str, Any]) -> dict[str, Any]:
    own = {name: value for name, value in one.settings.items() if name not in common}
    return {
        "number": str(one.number),
        "settings": settings_words(own).split(" ") if one.number else ["the engine's", "defaults"],
        "stopped": one.stopped or "",
        "figures": [
            str(one.blocks),
            "-" if one.value is None else format_number(one.value),
            "-" if one.ratio is None else f"{one.ratio:.2f}",
        ],
    }


def _round_rows(tuning: "Tuning", goal: "Goal") -> list[dict[str, Any]]:
    """A row a value. pair: the round and the prompt, which a value of each side has; better: see `goal`."""
    rows = []
    for number, one in enumerate(tuning.rounds, 1):
        values = {
            side: {} if block is None or block.failure else block.values
            for side, block in (("default", one.default), ("tuned", one.tuned))
        }
        counted = {side: {k: v for k, v in found.items() if goal.counts(v)} for side, found in values.items()}
        for side, found in counted.items():
            for prompt, value in found.items():
                both = all(prompt in other for other in counted.values())
                better = both and goal.better(counted["tuned"][prompt], counted["default"][prompt])
                rows.append(
                    {
                        "round": number,
                        "at": number + (-_ASIDE if side == "default" else _ASIDE),
                        "side": SIDES[side],
                        "value": value,
                        "pair": f"{number}/{prompt}",
                        "joined": (_BETTER if better else _WORSE) if both else "",
                    }
                )
    return rows


def _rounds_sentence(rows: Sequence[Mapping[str, Any]], goal: "Goal") -> str:
    """What the chart of rounds shows."""
    joined = {row["pair"]: row["joined"] for row in rows if row["joined"]}
    better = sum(one == _BETTER for one in joined.values())
    alone = sum(not row["joined"] for row in rows)
    each = "prompt" if goal.one_stream else "round"
    way = "down" if goal.direction == "min" else "up"
    said = (
        f"A line joins the two figures of one {each}, defaults on the left and tuned on the right: {way} is "
        f"better. Tuned is better in {better} of {len(joined)}."
    )
    return said + (
        f" {alone} without the other side's figure stand{'s' if alone == 1 else ''} alone." if alone else ""
    )


def _rounds_chart(rows: list[dict[str, Any]], goal: "Goal") -> Spec:
    """A dot a value, in its round and side; those of one prompt are joined."""
    axis = axis_of(metric_words(goal), [row["value"] for row in rows], zero=True)
    numbers = sorted({row["round"] for row in rows})
    base = alt.Chart(inline(rows))
    x = alt.X(
        "at:Q",
        title="round",
        scale=alt.Scale(domain=[numbers[0] - 0.5, numbers[-1] + 0.5], nice=False, zero=False),
        axis=alt.Axis(values=numbers, format="d", grid=False),
    )
    y = alt.Y("value:Q", title=axis.title, scale=axis.scale(), axis=axis.marks())
    legend = alt.Legend(orient="top", columns=len(SIDES))
    outcomes = [_BETTER, _WORSE]
    lines = (
        base.transform_filter("datum.joined != ''")
        .mark_line(strokeWidth=1.5)
        .encode(
            x=x,
            y=y,
            detail="pair:N",
            color=alt.Color(
                "joined:N", title=None, scale=alt.Scale(domain=outcomes, range=[GOOD, FAILED]), legend=legend
            ),
            strokeDash=alt.StrokeDash(
                "joined:N",
                title=None,
                scale=alt.Scale(domain=outcomes, range=[[1, 0], [4, 3]]),
                legend=legend,
            ),
        )
    )
    names = list(SIDES.values())
    # By fill, so that the lines have the scale of colours, and each a legend of its own.
    dots = base.mark_point(filled=True, size=50, opacity=1, strokeWidth=0).encode(
        x=x,
        y=y,
        fill=alt.Fill(
            "side:N", title=None, scale=alt.Scale(domain=names, range=list(_HUES.values())), legend=legend
        ),
        shape=alt.Shape(
            "side:N", title=None, scale=alt.Scale(domain=names, range=list(_SHAPES.values())), legend=legend
        ),
        tooltip=[
            alt.Tooltip("side:N", title="settings"),
            alt.Tooltip("round:Q", title="round"),
            alt.Tooltip("value:Q", title=metric_words(goal), format=",.4~r"),
            alt.Tooltip("joined:N", title="pair"),
        ],
    )
    chart: Any = alt.layer(lines, dots)
    return plain(chart.properties(width=WIDTH, height=_HEIGHT))


def _curve_lines(tuning: "Tuning") -> list[Line]:
    """A line a side, of the levels at which answers had a rate."""
    lines = []
    for side, curve in sorted(tuning.curves.items(), reverse=True):
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
        lines.append(Line(None, SIDES[side], SIDES[side], tuple(points)))
    return lines


def _curve_chart(lines: Sequence[Line]) -> Spec:
    x = _axis("tokens a second at the median user", [p.x for line in lines for p in line.points])
    y = _axis("tokens a second in all", [p.y for line in lines for p in line.points])
    place = alt.X("x:Q", title=x.title, scale=x.scale(), axis=x.marks())
    return line_chart(lines, place, y, titles=("tok/s/user", "tok/s"), names_over=x, each="settings")


def _axis(title: str, ends: list[float]) -> Axis:
    return axis_of(title, ends, zero=True)

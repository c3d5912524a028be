"""Lines of several offers in one chart: told apart by colour, dash and shape, and named at their ends."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from paceline.report.chart_axes import Axis
from paceline.report.charts import QUIET, TEXT, WIDTH, Spec, inline, plain

HEIGHT = 280
MOST_NAMED = 8
"""Lines that are told apart; more are grey, and in the table."""
PANEL = "var(--panel)"
HUES = [f"var(--hue-{letter})" for letter in "abcdef"]
_DASHES = ([1, 0], [7, 3], [2, 2], [9, 3, 2, 3])
_SHAPES = ("circle", "square", "diamond", "triangle-up", "cross", "triangle-down", "triangle-right", "stroke")
NUMBERED = "numbered"
"""A parameter of charts: points have the numbers of the board's rows. The page sets it where it is narrow."""
_LINE_PX = 13.0
HALO_PX = 3.5
_NAMES_FROM_PX = 12
_RIGHT = 0.6
_CHAR_PX = 6.2


@dataclass(frozen=True)
class LinePoint:
    """A place on a line with its intervals; said: both in words. tag: what is written at it."""

    x: float
    y: float
    lo: float | None
    hi: float | None
    x_said: str
    y_said: str
    x_lo: float | None = None
    x_hi: float | None = None
    tag: str = ""


@dataclass(frozen=True)
class Line:
    """The line of an offer. number: of its row on the board; without one its name stands there on phones."""

    number: int | None
    name: str
    full: str
    points: tuple[LinePoint, ...]


def line_chart(
    lines: Sequence[Line],
    x: alt.X,
    y: Axis,
    *,
    titles: tuple[str, str],
    dots: bool = True,
    names_over: Axis | None = None,
    cloud: Sequence[tuple[int, float, float]] = (),
    each: str = "offer",
) -> Spec:
    """Lines in the order of their importance, with intervals as bands (as bars where x has some, too).

    x: the axis of the field `x`. titles: of x and y in tooltips. names_over: the axis of x where names stand
    at the highest points of lines; else they stand beside the plot, at the ends. cloud: single values, each
    with its line's place. each: what a line is of, in tooltips.
    """
    named = lines[:MOST_NAMED]
    rows = [
        {**_row(line, point), "line": str(place) if place < MOST_NAMED else "other", "order": order}
        for place, line in enumerate(lines)
        for order, point in enumerate(line.points)
    ]
    base = alt.Chart(inline(rows))
    y_at = alt.Y("y:Q", title=y.title, scale=y.scale(), axis=y.marks())
    style = _Style(len(named), others=len(lines) > len(named))
    tooltip = [
        alt.Tooltip("full:N", title=each),
        alt.Tooltip("x_said:N", title=titles[0]),
        alt.Tooltip("y_said:N", title=titles[1]),
    ]
    layers: list[Any] = []
    if cloud:
        spots = alt.Chart(inline([{"line": str(line), "x": at, "y": value} for line, at, value in cloud]))
        layers.append(
            spots.mark_point(size=8, opacity=0.25, filled=True, clip=True).encode(
                x=x, y=y_at, color=style.colour
            )
        )
    layers += _intervals(base, x, y_at, style, y.title, both=any(row["x_lo"] is not None for row in rows))
    line = base.mark_line().encode(
        x=x,
        y=y_at,
        color=style.colour,
        strokeDash=style.dash,
        order="order:Q",
        detail=["full:N"],
        strokeWidth=alt.condition("datum.line == 'other'", alt.value(1), alt.value(2)),
        opacity=alt.condition("datum.line == 'other'", alt.value(0.5), alt.value(1)),
    )
    marks = base.mark_point(filled=True, size=45 if dots else 120).encode(
        x=x,
        y=y_at,
        color=style.colour,
        shape=style.shape,
        # Points of grey lines, and those of smooth ones, are there to hover over.
        opacity=alt.condition("datum.line == 'other'", alt.value(0), alt.value(int(dots))),
        tooltip=tooltip,
    )
    layers += [line, marks]
    if any(row["tag"] for row in rows):
        layers += with_halo(
            base.transform_filter("datum.tag != ''"),
            {"x": x, "y": y_at, "text": "tag:N"},
            {"align": "right", "dx": -7, "dy": 8, "color": TEXT},
        )
    layers += (
        _names(named, x, y_at, y, style)
        if names_over is None
        else _names_on_top(named, x, y_at, style, names_over)
    )
    chart: Any = alt.layer(*layers)
    return plain(chart.properties(width=WIDTH, height=HEIGHT).add_params(numbered_param()))


def numbered_param() -> alt.Parameter:
    """`NUMBERED`, by default not so."""
    return alt.param(name=NUMBERED, value=False)


def names_px(lines: Sequence[Line]) -> int:
    """What the longest name beside the plot takes, with what leads to it."""
    return round(_CHAR_PX * max(len(line.name) for line in lines[:MOST_NAMED])) + _NAMES_FROM_PX + 14


def grey_words(lines: Sequence[Line]) -> str:
    """What became of lines that are not named; nothing where there are none."""
    left = len(lines) - MOST_NAMED
    return f" {left:,} more offers are drawn in grey; the table has them." if left > 0 else ""


def with_halo(base: Any, encoding: dict[str, Any], mark: dict[str, Any]) -> list[Any]:
    """Text that stays readable over lines: first its outline in the colour of the ground, then itself."""
    halo = {**mark, "color": PANEL, "stroke": PANEL, "strokeWidth": HALO_PX, "strokeJoin": "round"}
    under = {key: value for key, value in encoding.items() if key != "color"}
    return [base.mark_text(**halo).encode(**under), base.mark_text(**mark).encode(**encoding)]


class _Style:
    def __init__(self, named: int, *, others: bool) -> None:
        domain = [*(str(place) for place in range(named)), *(["other"] if others else [])]
        last = [QUIET] if others else []
        hues = [HUES[place % len(HUES)] for place in range(named)]
        dashes = [_DASHES[place % len(_DASHES)] for place in range(named)]
        shapes = [_SHAPES[place % len(_SHAPES)] for place in range(named)]
        self.colour = alt.Color("line:N", legend=None, scale=alt.Scale(domain=domain, range=[*hues, *last]))
        self.dash = alt.StrokeDash(
            "line:N",
            legend=None,
            scale=alt.Scale(domain=domain, range=[*dashes, *([[1, 0]] if others else [])]),
        )
        self.shape = alt.Shape(
            "line:N",
            legend=None,
            scale=alt.Scale(domain=domain, range=[*shapes, *(["circle"] if others else [])]),
        )


def _row(line: Line, point: LinePoint) -> dict[str, Any]:
    return {
        "full": line.full,
        "x": point.x,
        "y": point.y,
        "lo": point.lo,
        "hi": point.hi,
        "x_lo": point.x_lo,
        "x_hi": point.x_hi,
        "x_said": point.x_said,
        "y_said": point.y_said,
        "tag": point.tag,
    }


def _intervals(base: alt.Chart, x: alt.X, y: alt.Y, style: _Style, title: str, *, both: bool) -> list[Any]:
    known = base.transform_filter("isValid(datum.lo) && isValid(datum.hi) && datum.line != 'other'")
    low = alt.Y("lo:Q", title=title)
    if not both:
        # Without an order: it would make an area of each point, which is nothing to see.
        band = known.mark_area(opacity=0.16).encode(
            x=x, y=low, y2="hi:Q", color=style.colour, detail=["full:N"]
        )
        return [band]
    across = (
        base.transform_filter("isValid(datum.x_lo) && isValid(datum.x_hi)")
        .mark_rule(strokeWidth=3, opacity=0.35)
        .encode(x=alt.X("x_lo:Q"), x2="x_hi:Q", y=y, color=style.colour)
    )
    along = known.mark_rule(strokeWidth=3, opacity=0.35).encode(x=x, y=low, y2="hi:Q", color=style.colour)
    return [across, along]


def _names(lines: Sequence[Line], x: alt.X, y: alt.Y, axis: Axis, style: _Style) -> list[Any]:
    """Names at the ends of lines, pushed apart so that none covers another."""
    ends = [line.points[-1] for line in lines]
    wanted = [(1.0 - axis.share(end.y)) * HEIGHT for end in ends]
    given = pushed_apart(wanted, _LINE_PX, HEIGHT)
    rows = [
        {
            "line": str(place),
            "name": line.name,
            "number": line.name if line.number is None else str(line.number),
            "x": end.x,
            "y": end.y,
            "dy": given[place] - wanted[place],
        }
        for place, (line, end) in enumerate(zip(lines, ends, strict=True))
    ]
    base = alt.Chart(inline(rows)).transform_calculate(shown=f"{NUMBERED} ? datum.number : datum.name")
    leader = base.mark_rule(
        strokeWidth=0.8, opacity=0.7, x2Offset=_NAMES_FROM_PX, y2Offset=alt.ExprRef("datum.dy")
    ).encode(x=x, x2=alt.X2(value="width"), y=y, y2="y:Q", color=style.colour)
    name = base.mark_text(
        align="left", baseline="middle", dx=_NAMES_FROM_PX + 3, dy=alt.ExprRef("datum.dy")
    ).encode(x=alt.X(value="width"), y=y, text="shown:N", color=style.colour)
    return [leader, name]


def _names_on_top(lines: Sequence[Line], x: alt.X, y: alt.Y, style: _Style, axis: Axis) -> list[Any]:
    """Names over the highest points of lines."""
    rows = []
    for place, line in enumerate(lines):
        top = max(line.points, key=lambda point: point.y)
        rows.append(
            {
                "line": str(place),
                "name": line.name,
                "number": line.name if line.number is None else str(line.number),
                "x": top.x,
                "y": top.y,
                "right": axis.share(top.x) > _RIGHT,
            }
        )
    base = alt.Chart(inline(rows)).transform_calculate(shown=f"{NUMBERED} ? datum.number : datum.name")
    # Near the right edge a name is written to the left, so that it is not cut.
    mark = {
        "baseline": "middle",
        "align": alt.ExprRef("datum.right ? 'right' : 'left'"),
        "dx": alt.ExprRef("datum.right ? -9 : 9"),
        "dy": -7,
    }
    return with_halo(base, {"x": x, "y": y, "text": "shown:N", "color": style.colour}, mark)


def pushed_apart(wanted: Sequence[float], least: float, height: float) -> list[float]:
    """Places near the wanted ones, px from the top, that are at least `least` apart; in the order given."""
    order = sorted(range(len(wanted)), key=lambda place: wanted[place])
    # Runs of names that touch are moved together, about the mean of what they want.
    runs: list[tuple[float, list[int]]] = []
    for place in order:
        runs.append((wanted[place], [place]))
        while len(runs) > 1:
            (middle, mine), (before, theirs) = runs[-1], runs[-2]
            room = least * (len(mine) + len(theirs)) / 2.0
            if middle - before >= room:
                break
            both = [*theirs, *mine]
            runs[-2:] = [(sum(wanted[one] for one in both) / len(both), both)]
    found = [0.0] * len(wanted)
    for middle, mine in runs:
        half = least * (len(mine) - 1) / 2.0
        top = min(max(middle - half, 0.0), max(height - 2.0 * half, 0.0))
        for number, place in enumerate(mine):
            found[place] = top + least * number
    return found

"""Offers by two figures: points with both intervals, the frontier, the region that is asked for."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import altair as alt

from paceline.report.board_figures import FIGURES
from paceline.report.board_points import JOBS_CHARTED, Point, better_of, charted_label, frontier, plain_ends
from paceline.report.board_words import figure_words, interval_words, missing_words, plain_value, value_words
from paceline.report.chart_axes import Axis, axis_of
from paceline.report.charts import ACCENT, QUIET, TEXT, WIDTH, Spec, inline, plain
from paceline.report.label_places import Ends, Spot, places
from paceline.report.line_chart import NUMBERED, numbered_param, with_halo

HEIGHT = 360
SHAPES = {"standard": "circle", "fast": "diamond", "ultra": "triangle-up", "flex": "square", "batch": "cross"}
# Plots that names are placed for: wide, middle and narrow ones; the page's own are a little wider than each.
_WIDTHS = {"w": 860.0, "m": 520.0, "n": 250.0}
_WIDE_FROM_PX = 860
# A name that is farther from its point than this says nothing about it.
_FAR_PX = 48.0
_FAINT = 0.55


def title_of(name: str) -> str:
    """The name of an axis with its unit, and which way is better."""
    return f"{charted_label(name)} ({FIGURES[name].better} is better)"


def scatter(
    points: Sequence[Point], x: str, y: str, *, limits: Mapping[str, float], gaps: tuple[str, str]
) -> tuple[Spec, bool] | None:
    """Points of two figures, and whether some are numbered for want of room; None without one that has both.

    limits: bounds that are asked for, by figure, in its own unit (shares are fractions). gaps: what stands in
    the strips of offers without x and without y.
    """
    if not any(point.drawn for point in points):
        return None
    limits = {name: bound * (JOBS_CHARTED if name == "usd_per_job" else 1) for name, bound in limits.items()}
    shown = [point for point in points if point.x.value is not None or point.y.value is not None]
    x_axis = _axis(x, [point.x for point in shown], limits, strip=any(p.x.value is None for p in shown))
    y_axis = _axis(y, [point.y for point in shown], limits, strip=any(p.y.value is None for p in shown))
    edge = frontier(shown, better_of(x), better_of(y))
    rows = [_row(point, x, y, x_axis, y_axis, on_edge=point in edge) for point in shown]
    steps = _steps_of(edge, x, y, x_axis)
    crowded = _place_names(rows, x_axis, y_axis, steps)
    layers = [
        *_region(x, y, x_axis, y_axis, limits),
        *_strips(x_axis, y_axis, gaps),
        *_steps(steps),
        *_marks(rows, x, y, x_axis, y_axis),
    ]
    chart: Any = alt.layer(*layers)
    return plain(chart.properties(width=WIDTH, height=HEIGHT).add_params(numbered_param())), crowded


def table_of(points: Sequence[Point], x: str, y: str) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """The figures of a scatter as text: head and rows."""
    names = [charted_label(name) for name in (x, y)]
    head = ("offer", names[0], "95 % interval", names[1], "95 % interval", "on the frontier")
    edge = frontier(points, better_of(x), better_of(y))
    rows = tuple(
        (
            point.full,
            figure_words(x, point.x),
            interval_words(x, point.x) or missing_words(point.x),
            figure_words(y, point.y),
            interval_words(y, point.y) or missing_words(point.y),
            "yes" if point in edge else "no",
        )
        for point in points
    )
    return head, rows


def _axis(name: str, figures: Sequence[Any], limits: Mapping[str, float], *, strip: bool) -> Axis:
    values = [plain_value(name, figure.value) for figure in figures if figure.value is not None]
    for figure in figures:
        if figure.value is not None:
            values += [end for end in plain_ends(name, figure) if end is not None and end > 0.0]
    if name in limits:
        values.append(plain_value(name, limits[name]))
    worse = "high" if better_of(name) == "lower" else "low"
    return axis_of(title_of(name), values, strip=worse if strip else None)  # type: ignore[arg-type]


def _row(point: Point, x: str, y: str, x_axis: Axis, y_axis: Axis, *, on_edge: bool) -> dict[str, Any]:
    row: dict[str, Any] = {
        "name": point.name,
        "full": point.full,
        "number": str(point.number),
        "tier": point.tier,
        "edge": on_edge,
        "known": point.drawn,
    }
    for channel, name, figure, axis in (("x", x, point.x, x_axis), ("y", y, point.y, y_axis)):
        row[channel] = axis.strip_middle if figure.value is None else plain_value(name, figure.value)
        lo, hi = plain_ends(name, figure)
        both = figure.known
        row[f"{channel}_lo"] = max(lo, axis.ends[0]) if both and lo is not None else None
        row[f"{channel}_hi"] = min(hi, axis.ends[1]) if both and hi is not None else None
        span = interval_words(name, figure)
        said = f"{figure_words(name, figure)}{f' ({span})' if span else ''}"
        row[f"{channel}_said"] = said if figure.value is not None else missing_words(figure)
    return row


def _place_names(rows: list[dict[str, Any]], x: Axis, y: Axis, steps: Sequence[dict[str, float]]) -> bool:
    """Puts into each row what is written at its point, and where, for plots of three widths.

    A narrow plot has numbers; in the others a name that would cover others, or be far off, gives way to its
    number, unless it is on the frontier. Gives whether there is such a one.
    """
    # Names of the frontier matter most: they have the first choice.
    order = sorted(range(len(rows)), key=lambda place: not rows[place]["edge"])
    crowded = False
    for prefix, width in _WIDTHS.items():
        lines, boxes = _obstacles(rows, x, y, steps, width)
        texts = [str(rows[at]["number" if prefix == "n" else "name"]) for at in order]
        for _ in range(2):
            spots = [
                Spot(x.share(rows[at]["x"]) * width, (1.0 - y.share(rows[at]["y"])) * HEIGHT, text)
                for at, text in zip(order, texts, strict=True)
            ]
            found = places(spots, width, HEIGHT, lines=lines, boxes=boxes)
            for number, (at, place) in enumerate(zip(order, found, strict=True)):
                if not rows[at]["edge"] and (place.crowded or abs(place.dx) + abs(place.dy) > _FAR_PX):
                    crowded = crowded or prefix != "n"
                    texts[number] = str(rows[at]["number"])
        for at, text, place in zip(order, texts, found, strict=True):
            rows[at] |= {
                f"{prefix}_text": text,
                f"{prefix}_dx": place.dx,
                f"{prefix}_dy": place.dy,
                f"{prefix}_align": place.align,
                f"{prefix}_far": place.far,
            }
    return crowded


def _obstacles(
    rows: list[dict[str, Any]], x: Axis, y: Axis, steps: Sequence[dict[str, float]], width: float
) -> tuple[list[Ends], list[Ends]]:
    """What names keep off: intervals and the steps of the frontier; words in the corners of the plot."""

    def at(x_value: float, y_value: float) -> tuple[float, float]:
        return x.share(x_value) * width, (1.0 - y.share(y_value)) * HEIGHT

    lines: list[Ends] = []
    for row in rows:
        if row["x_lo"] is not None:
            lines.append((*at(row["x_lo"], row["y"]), *at(row["x_hi"], row["y"])))
        if row["y_lo"] is not None:
            lines.append((*at(row["x"], row["y_lo"]), *at(row["x"], row["y_hi"])))
    for one, other in pairwise(steps):
        corner = at(other["x"], one["y"]) if one["after"] else at(one["x"], other["y"])
        lines += [(*at(one["x"], one["y"]), *corner), (*corner, *at(other["x"], other["y"]))]
    boxes: list[Ends] = [(0.0, 0.0, 0.5 * width, 20.0)]
    if x.strip is not None:
        boxes.append((x.share(x.strip[0]) * width, 0.0, x.share(x.strip[1]) * width, 20.0))
    if y.strip is not None:
        top = (1.0 - y.share(y.strip[1])) * HEIGHT
        boxes.append((0.0, top, 0.3 * width, top + 18.0))
    return lines, boxes


def _at_width(field: str) -> str:
    """An expression: what a row has of `field` in a plot as wide as this one."""
    return f"{NUMBERED} ? datum.n_{field} : width >= {_WIDE_FROM_PX} ? datum.w_{field} : datum.m_{field}"


def _marks(rows: list[dict[str, Any]], x: str, y: str, x_axis: Axis, y_axis: Axis) -> list[Any]:
    base = alt.Chart(inline(rows))
    x_at = alt.X("x:Q", title=x_axis.title, scale=x_axis.scale(), axis=x_axis.marks())
    y_at = alt.Y("y:Q", title=y_axis.title, scale=y_axis.scale(), axis=y_axis.marks())
    colour = alt.condition("datum.edge", alt.value(ACCENT), alt.value(QUIET))
    tiers = [tier for tier in SHAPES if any(row["tier"] == tier for row in rows)]
    tiers += sorted({row["tier"] for row in rows} - set(SHAPES))
    shape = alt.Shape(
        "tier:N",
        legend=None,
        scale=alt.Scale(domain=tiers, range=[SHAPES.get(tier, "triangle-down") for tier in tiers]),
    )
    tooltip = [
        alt.Tooltip("full:N", title="offer"),
        alt.Tooltip("x_said:N", title=charted_label(x)),
        alt.Tooltip("y_said:N", title=charted_label(y)),
    ]
    across = (
        base.transform_filter("isValid(datum.x_lo)")
        .mark_rule(strokeWidth=2, opacity=_FAINT)
        .encode(x=alt.X("x_lo:Q", title=x_axis.title), x2="x_hi:Q", y=y_at, color=colour)
    )
    along = (
        base.transform_filter("isValid(datum.y_lo)")
        .mark_rule(strokeWidth=2, opacity=_FAINT)
        .encode(x=x_at, y=alt.Y("y_lo:Q", title=y_axis.title), y2="y_hi:Q", color=colour)
    )
    dots = base.mark_point(filled=True, size=80, opacity=1).encode(
        x=x_at, y=y_at, color=colour, shape=shape, tooltip=tooltip
    )
    return [across, along, _leaders(base, x_at, y_at), dots, *_names(base, x_at, y_at)]


def _leaders(base: alt.Chart, x: alt.X, y: alt.Y) -> Any:
    """Thin lines from points to names that had no room beside them."""
    short = 0.8
    return (
        base.transform_filter(_at_width("far"))
        .mark_rule(
            color=QUIET,
            strokeWidth=0.8,
            opacity=0.7,
            x2Offset=alt.ExprRef(f"{short} * ({_at_width('dx')})"),
            y2Offset=alt.ExprRef(f"{short} * ({_at_width('dy')})"),
        )
        .encode(x=x, x2="x:Q", y=y, y2="y:Q")
    )


def _names(base: alt.Chart, x: alt.X, y: alt.Y) -> list[Any]:
    mark = {
        "color": TEXT,
        "baseline": "middle",
        "align": alt.ExprRef(_at_width("align")),
        "dx": alt.ExprRef(_at_width("dx")),
        "dy": alt.ExprRef(_at_width("dy")),
    }
    shown = base.transform_calculate(shown=_at_width("text"))
    return with_halo(shown, {"x": x, "y": y, "text": "shown:N"}, mark)


def _region(x: str, y: str, x_axis: Axis, y_axis: Axis, limits: Mapping[str, float]) -> list[Any]:
    """The part of the plot that meets what is asked for; nothing where nothing of it is asked here."""
    if x not in limits and y not in limits:
        return []
    box: dict[str, float] = {}
    said = []
    for channel, name, axis in (("x", x, x_axis), ("y", y, y_axis)):
        lo, hi = axis.ends
        if name in limits:
            bound = plain_value(name, limits[name])
            lower = better_of(name) == "lower"
            lo, hi = (lo, bound) if lower else (bound, hi)
            sign = "\N{LESS-THAN OR EQUAL TO}" if lower else "\N{GREATER-THAN OR EQUAL TO}"
            label = charted_label(name) if name == "usd_per_job" else FIGURES[name].label
            said.append(f"{label} {sign} {value_words(name, limits[name])}{_after(name)}")
        box |= {channel: lo, f"{channel}2": hi}
    data = alt.Chart(inline([{**box, "text": "asked for: " + ", ".join(said)}])).transform_calculate(
        said=f"{NUMBERED} ? 'asked for' : datum.text"
    )
    rect = data.mark_rect(color=ACCENT, opacity=0.09).encode(x="x:Q", x2="x2:Q", y="y:Q", y2="y2:Q")
    name = data.mark_text(color=ACCENT, align="left", baseline="top", dx=5, dy=5, fontStyle="italic").encode(
        x="x:Q", y="y2:Q", text="said:N"
    )
    return [rect, name]


def _after(name: str) -> str:
    unit = FIGURES[name].unit
    return "" if unit == "USD" else f" {unit}"


def _strips(x: Axis, y: Axis, gaps: tuple[str, str]) -> list[Any]:
    """Where offers without one of the figures stand."""
    found: list[Any] = []
    if x.strip is not None:
        data = alt.Chart(
            inline([{"x": x.strip[0], "x2": x.strip[1], "y": y.lo, "y2": y.hi, "at": x.strip_middle}])
        )
        found.append(data.mark_rect(color=QUIET, opacity=0.1).encode(x="x:Q", x2="x2:Q", y="y:Q", y2="y2:Q"))
        found.append(
            data.transform_calculate(said=f"{NUMBERED} ? '{gaps[0].removesuffix(' known')}' : '{gaps[0]}'")
            .mark_text(color=QUIET, baseline="top", dy=5, fontStyle="italic")
            .encode(x="at:Q", y="y2:Q", text="said:N")
        )
    if y.strip is not None:
        data = alt.Chart(
            inline([{"y": y.strip[0], "y2": y.strip[1], "x": x.lo, "x2": x.hi, "at": y.strip_middle}])
        )
        found.append(data.mark_rect(color=QUIET, opacity=0.1).encode(x="x:Q", x2="x2:Q", y="y:Q", y2="y2:Q"))
        found.append(
            data.mark_text(color=QUIET, align="left", baseline="top", dx=5, dy=4, fontStyle="italic").encode(
                x="x:Q", y="y2:Q", text=alt.value(gaps[1])
            )
        )
    return found


def _steps_of(edge: Sequence[Point], x: str, y: str, x_axis: Axis) -> list[dict[str, float]]:
    """Corners of the frontier, by rising x; after: a step comes after its point, else before it."""
    rows = [
        {"x": plain_value(x, one.x.value), "y": plain_value(y, one.y.value)}
        for one in edge
        if one.x.value is not None and one.y.value is not None
    ]
    if len(rows) < 2:
        return []
    lower = better_of(x) == "lower"
    if lower:
        rows.append({"x": x_axis.ends[1], "y": rows[-1]["y"]})
    else:
        rows.insert(0, {"x": x_axis.ends[0], "y": rows[0]["y"]})
    return [{**row, "after": float(lower)} for row in rows]


def _steps(rows: Sequence[dict[str, float]]) -> list[Any]:
    """The frontier as steps: what is to be had at most for each x."""
    if not rows:
        return []
    line = alt.Chart(inline(list(rows))).mark_line(
        color=ACCENT,
        strokeWidth=1.5,
        opacity=0.6,
        interpolate="step-after" if rows[0]["after"] else "step-before",
    )
    return [line.encode(x="x:Q", y="y:Q")]

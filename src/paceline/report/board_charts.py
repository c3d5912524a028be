"""All charts of a board, each with its sentence and its figures as text.

A page draws them by name (`charts` of `report.page.Page`), with the macro `drawn` of `board_parts.html`.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from paceline.report.board_curves import (
    Named,
    answer_chart,
    answer_lines,
    ladder_chart,
    ladder_lines,
    ordered,
    prompt_chart,
    prompt_lines,
)
from paceline.report.board_dots import dots_chart
from paceline.report.board_figures import FIGURES
from paceline.report.board_loads import load_chart, load_lines
from paceline.report.board_points import Point, named_rows, points_of
from paceline.report.board_scatter import SHAPES, scatter, table_of, title_of
from paceline.report.board_sentences import PHRASES, first_words, two_figures_words
from paceline.report.board_words import figure_words, full_name, interval_words, missing_words
from paceline.report.drawn import Drawn
from paceline.report.line_chart import Line, grey_words, names_px
from paceline.report.line_sentences import answer_words, ladder_words, load_words, prompt_words

if TYPE_CHECKING:
    from paceline.advisor.board import Board

SPEEDS = ("output_tok_s", "ttft_p50_ms", "ttfat_p50_ms", "e2e_500_ms")
"""Figures that a speed against a bill can be drawn by."""
_PERCENT = "95\N{NARROW NO-BREAK SPACE}%"
_INTERVALS = f"Bars are {_PERCENT} intervals."
_MEDIAN = 0.3
_SHAPE_NAMES = {
    "circle": "circles",
    "diamond": "diamonds",
    "triangle-up": "triangles",
    "square": "squares",
    "cross": "crosses",
}
_CROWDED = " Where a name has no room, there is the number of its row."
_SIZES_SHOWN = ("1 token", "100 tokens", "500 tokens", "1,000 tokens", "2,000 tokens")
_PERCENTILES_SHOWN = ("p50", "p90", "p95", "p99")


def board_charts(
    board: "Board",
    *,
    speed: str = "output_tok_s",
    limits: Mapping[str, float] | None = None,
) -> list[Drawn]:
    """Every chart that there are figures for, in the order in which to show them.

    speed: one of SPEEDS. limits: what is asked for, by figure, in its own unit (shares are fractions): drawn
    as the region that meets it.
    """
    bounds = dict(limits or {})
    makers = (
        speed_against_bill(board, speed, bounds),
        capability_against_speed(board, speed, bounds),
        offers_by(board, "ttft_p50_ms"),
        answers(board),
        percentiles(board),
        prompts(board),
        throughput(board),
    )
    return [chart for chart in makers if chart is not None]


def speed_against_bill(board: "Board", speed: str, limits: Mapping[str, float]) -> Drawn | None:
    """None where no offer has both a speed and a price."""
    return _two_figures(
        board,
        "speed_bill",
        f"Speed against bill: {FIGURES[speed].label}",
        ("usd_per_job", speed),
        limits,
    )


def capability_against_speed(board: "Board", speed: str, limits: Mapping[str, float]) -> Drawn | None:
    """None where no offer has both a capability and a speed."""
    return _two_figures(
        board,
        "capability_speed",
        f"Capability against speed: {FIGURES[speed].label}",
        (speed, "capability"),
        limits,
    )


def offers_by(board: "Board", name: str) -> Drawn | None:
    """One figure of all offers; None where nobody has it."""
    points = points_of(board, name, name)
    title = title_of(name)
    spec = dots_chart(points, name, title)
    if spec is None:
        return None
    return Drawn(
        name=f"offers_{name}",
        title=f"{FIGURES[name].label} of each offer",
        says=first_words(points, "y", name),
        about=f"{_INTERVALS} Blue dots: the best, and all that cannot be told apart from it.",
        spec=spec,
        head=("offer", _head(name), "95 % interval"),
        rows=tuple(
            (point.full, figure_words(name, point.y), interval_words(name, point.y) or missing_words(point.y))
            for point in points
        ),
        axes_px=16,
    )


def answers(board: "Board") -> Drawn | None:
    """Time to an answer over its size; None without streamed answers."""
    lines = ordered_or_none(answer_lines(_offers(board)), 500.0)
    if lines is None:
        return None
    return Drawn(
        name="answers",
        title="Time to an answer, by its size",
        says=answer_words(lines),
        about="To the left it is the wait for the first token of the answer, to the right the decode rate. "
        f"Bands are {_PERCENT} intervals of the median.{grey_words(lines)}",
        spec=answer_chart(lines),
        head=("offer", *_SIZES_SHOWN),
        rows=_table(lines, _SIZES_SHOWN),
        numbered=True,
        names_px=names_px(lines),
    )


def percentiles(board: "Board", column: str = "ttft_ms", what: str = "TTFT") -> Drawn | None:
    """Percentile ladders of all offers over each other; None without figures."""
    lines = ordered_or_none(ladder_lines(_offers(board), column), _MEDIAN)
    if lines is None:
        return None
    return Drawn(
        name=f"ladder_{column}",
        title=f"{what}, all percentiles",
        says=ladder_words(lines, what),
        about="To the right are the slowest requests: p90, p99 and p99.9 are equally far apart. "
        f"Bands are {_PERCENT} intervals.{grey_words(lines)}",
        spec=ladder_chart(lines, f"{what}, ms"),
        head=("offer", *_PERCENTILES_SHOWN),
        rows=_table(lines, _PERCENTILES_SHOWN),
        numbered=True,
        names_px=names_px(lines),
    )


def prompts(board: "Board") -> Drawn | None:
    """TTFT over the size of the prompt; None where prompts hardly vary."""
    offers = _offers(board)
    lines = ordered_or_none(prompt_lines(offers), 1_000.0)
    if lines is None:
        return None
    return Drawn(
        name="prompts",
        title="TTFT, by the size of the prompt",
        says=prompt_words(lines),
        about="Marks are medians of requests with prompts of about one size, bands their "
        f"{_PERCENT} intervals; small dots are some of the requests.{grey_words(lines)}",
        spec=prompt_chart(lines, offers),
        head=("offer", "prompt", "median TTFT, ms (95 % interval)"),
        rows=tuple((line.full, point.x_said, point.y_said) for line in lines for point in line.points),
        numbered=True,
        names_px=names_px(lines),
    )


def throughput(board: "Board") -> Drawn | None:
    """Throughput against interactivity; None where no offer was measured at several loads."""
    numbers = {row.key: number for number, _, row in named_rows(board)}
    lines = load_lines(board.loads, numbers)
    if not lines:
        return None
    return Drawn(
        name="loads",
        title="Throughput against interactivity",
        says=load_words(lines),
        about="Each mark is a load, with its number beside it. Up and to the right is better. "
        f"{_INTERVALS}{grey_words(lines)}",
        spec=load_chart(lines),
        head=("offer", "load", "tok/s/user", "tok/s in all"),
        rows=tuple(
            (line.full, point.tag, point.x_said.split(" at ")[0], point.y_said)
            for line in lines
            for point in line.points
        ),
        numbered=True,
    )


def ordered_or_none(lines: list[Line], at: float) -> list[Line] | None:
    """The lowest first at this place; None without lines."""
    return ordered(lines, at) if lines else None


def _two_figures(
    board: "Board", name: str, title: str, figures: tuple[str, str], limits: Mapping[str, float]
) -> Drawn | None:
    x, y = figures
    points = points_of(board, x, y)
    gaps = (f"no {PHRASES[x].noun} known", f"no {PHRASES[y].noun} known")
    drawn = scatter(points, x, y, limits=limits, gaps=gaps)
    if drawn is None:
        return None
    spec, crowded = drawn
    head, rows = table_of(points, x, y)
    return Drawn(
        name=name,
        title=title,
        says=two_figures_words(points, x, y),
        about="Blue: the frontier, the offers that no other beats in both. "
        f"{_shape_words(board)}{_INTERVALS}{' Shaded: what is asked for.' if {x, y} & set(limits) else ''}"
        f"{_without_words(points)}{_CROWDED if crowded else ''}",
        spec=spec,
        head=head,
        rows=rows,
        numbered=True,
    )


def _without_words(points: Sequence[Point]) -> str:
    """How many offers cannot be drawn, for want of both figures."""
    n = sum(point.x.value is None and point.y.value is None for point in points)
    if not n:
        return ""
    return f" {n:,} {'offer has' if n == 1 else 'offers have'} neither figure: the table says why."


def _shape_words(board: "Board") -> str:
    tiers = [tier for tier in SHAPES if any(row.key.tier == tier for row in board.rows)]
    if tiers in ([], ["standard"]):
        return ""
    return f"{', '.join(f'{_SHAPE_NAMES[SHAPES[tier]]}: {tier} tier' for tier in tiers).capitalize()}. "


def _offers(board: "Board") -> list[Named]:
    return [Named(number, name, full_name(row.key), row.evidence) for number, name, row in named_rows(board)]


def _table(lines: Sequence[Line], places: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Lines as text: an offer a row, some places as columns."""
    rows = []
    for line in lines:
        said = {point.x_said: point.y_said for point in line.points}
        rows.append((line.full, *(said.get(place, "-") for place in places)))
    return tuple(rows)


def _head(name: str) -> str:
    info = FIGURES[name]
    return info.label if info.unit in info.label else f"{info.label}, {info.unit}"

"""Curves of a board's offers from their pooled requests: over the answer, the prompt, the percentiles."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np
import numpy.typing as npt

from paceline.report.chart_axes import Axis, axis_of, ticks
from paceline.report.charts import Spec, nines_axis
from paceline.report.line_chart import MOST_NAMED, Line, LinePoint, line_chart
from paceline.stats.quantiles import Estimate, quantile_estimate, quantile_estimates
from paceline.units import format_number

if TYPE_CHECKING:
    from paceline.advisor.evidence import OfferEvidence

Floats = npt.NDArray[np.float64]
SIZES = (1, 2, 5, 10, 20, 50, 100, 200, 300, 500, 700, 1_000, 1_400, 2_000)
"""Answers, in tokens, that times are drawn for."""
LADDER = (
    0.01,
    0.05,
    0.1,
    0.2,
    0.3,
    0.4,
    0.5,
    0.6,
    0.7,
    0.8,
    0.85,
    0.9,
    0.93,
    0.95,
    0.97,
    0.98,
    0.99,
    0.995,
    0.999,
)
_TIMEOUT, _WELL = 1.0, 0.0
# A bin of prompts of about one size has at least so many requests, and there are at most so many of them.
_FEWEST_IN_BIN, _MOST_BINS = 25, 8
# Prompts vary when the 90th percentile of their sizes is so many times the 10th.
_VARIES = 1.5
_MOST_DOTS = 80


@dataclass(frozen=True)
class Named:
    """An offer of a chart: the number of its row, its name here, its whole name, what was measured."""

    number: int
    name: str
    full: str
    evidence: "OfferEvidence"


def answer_lines(offers: Sequence[Named]) -> list[Line]:
    """Median time until an answer of so many tokens is whole: its first, then the others at its own rate.

    E2E(n) = TTFT of the answer + (n - 1) / rate, of each request, as the board's figure for 500 tokens;
    requests that were cut count as longer than what was seen. Without offers that had no streamed answers.
    """
    found = []
    for offer in offers:
        columns = offer.evidence.columns
        first_ms, rate = columns["ttfat_ms"], columns["output_tok_s"]
        known = offer.evidence.well & ~np.isnan(first_ms) & ~np.isnan(rate) & (rate > 0.0)
        if not known.any():
            continue
        cut_ms = columns["elapsed_ms"][(columns["outcome"] == _TIMEOUT) & np.isnan(first_ms)]
        points = []
        for size in SIZES:
            ms = first_ms[known] + 1e3 * (size - 1) / rate[known]
            points += _point(
                float(size),
                f"{size:,} {'token' if size == 1 else 'tokens'}",
                quantile_estimate(ms, 0.5, censored=cut_ms),
            )
        found.append(_line(offer, points))
    return [line for line in found if line.points]


def prompt_lines(offers: Sequence[Named]) -> list[Line]:
    """Median TTFT of requests with prompts of about one size; offers whose prompts hardly vary have none."""
    found = []
    for offer in offers:
        tokens, ttft_ms = _prompts(offer)
        edges = _bins(tokens)
        points = []
        for low, high in pairwise(edges.tolist()):
            mine = (tokens >= low) & (tokens < high)
            # An edge may lie between two sizes that many prompts have.
            if not mine.any():
                continue
            middle = float(np.median(tokens[mine]))
            points += _point(middle, f"about {middle:,.0f} tokens", quantile_estimate(ttft_ms[mine], 0.5))
        if len(points) > 1:
            found.append(_line(offer, points))
    return found


def ladder_lines(offers: Sequence[Named], column: str) -> list[Line]:
    """The percentiles of a column as far as each sample reaches; cut requests count as longer than seen."""
    found = []
    for offer in offers:
        columns = offer.evidence.columns
        values = offer.evidence.values(column)
        if not len(values):
            continue
        cut = columns["elapsed_ms"][(columns["outcome"] == _TIMEOUT) & np.isnan(columns[column])]
        points = []
        wanted = [p for p in LADDER if len(values) * (1.0 - p) >= 1.0]
        for p, estimate in zip(wanted, quantile_estimates(values, wanted, censored=cut), strict=True):
            points += _point(-math.log10(1.0 - p), f"p{100 * p:.4g}", estimate)
        found.append(_line(offer, points))
    return [line for line in found if line.points]


def answer_chart(lines: Sequence[Line]) -> Spec:
    """Time to an answer over its size."""
    title = "tokens of the answer"
    x = _log_x(title, 1.0, float(SIZES[-1]))
    return line_chart(
        lines,
        x,
        _times_axis("median time to the whole answer, ms", lines),
        titles=(title, "E2E, ms"),
        dots=False,
    )


def prompt_chart(lines: Sequence[Line], offers: Sequence[Named]) -> Spec:
    """TTFT over the size of the prompt: medians with bands, and some of the requests themselves."""
    title = "tokens of the prompt"
    values = [point.x for line in lines for point in line.points]
    axis = axis_of(title, values)
    x = alt.X("x:Q", title=title, scale=axis.scale(), axis=axis.marks())
    y = _times_axis("TTFT, ms", lines)
    return line_chart(lines, x, y, titles=(title, "median TTFT, ms"), cloud=_cloud(lines, offers, axis, y))


def ladder_chart(lines: Sequence[Line], title: str) -> Spec:
    """Percentiles of several offers over each other. title: of the y axis, with its unit."""
    x = nines_axis()
    x.shorthand = "x:Q"
    return line_chart(lines, x, _times_axis(title, lines), titles=("percentile", title), dots=False)


def _times_axis(title: str, lines: Sequence[Line]) -> Axis:
    ends = [end for line in lines for point in line.points for end in (point.y, point.lo, point.hi)]
    return axis_of(title, [end for end in ends if end is not None], zero=True)


def _log_x(title: str, lo: float, hi: float) -> alt.X:
    scale = alt.Scale(type="log", domain=[lo, hi], nice=False)
    marks = alt.Axis(values=list(ticks(lo, hi, log=True)), format=",.4~r", labelOverlap="greedy")
    return alt.X("x:Q", title=title, scale=scale, axis=marks)


def _line(offer: Named, points: Sequence[LinePoint]) -> Line:
    return Line(offer.number, offer.name, offer.full, tuple(points))


def _point(x: float, x_said: str, estimate: Estimate) -> list[LinePoint]:
    """A quantile as a point; none where it lies among what was cut."""
    if not estimate.n or not estimate.known:
        return []
    lo, hi = estimate.lo, estimate.hi
    span = f" ({format_number(lo)} to {format_number(hi)})" if lo is not None and hi is not None else ""
    return [LinePoint(x, estimate.value, lo, hi, x_said, f"{format_number(estimate.value)}{span}")]


def _prompts(offer: Named) -> tuple[Floats, Floats]:
    """Sizes of prompts and their TTFT, of requests that ended well: float64[n] each."""
    columns = offer.evidence.columns
    tokens, ttft_ms = columns["prompt_tokens"], columns["ttft_ms"]
    known = offer.evidence.well & (tokens > 0.0) & ~np.isnan(ttft_ms)
    return tokens[known], ttft_ms[known]


def _bins(tokens: Floats) -> Floats:
    """Edges of bins of about equal counts, the last above all; one edge where prompts are few or alike."""
    if len(tokens) < 2 * _FEWEST_IN_BIN:
        return np.empty(1)
    low, high = np.quantile(tokens, [0.1, 0.9])
    if high < _VARIES * low:
        return np.empty(1)
    bins = min(_MOST_BINS, len(tokens) // _FEWEST_IN_BIN)
    edges = np.unique(np.quantile(tokens, np.linspace(0.0, 1.0, bins + 1)))
    edges[-1] = np.nextafter(edges[-1], np.inf)
    return edges


def _cloud(
    lines: Sequence[Line], offers: Sequence[Named], x: Axis, y: Axis
) -> list[tuple[int, float, float]]:
    by_number: dict[int | None, Named] = {offer.number: offer for offer in offers}
    found = []
    for place, line in enumerate(lines[:MOST_NAMED]):
        tokens, ttft_ms = _prompts(by_number[line.number])
        inside = (tokens >= x.lo) & (tokens <= x.hi) & (ttft_ms >= y.lo) & (ttft_ms <= y.hi)
        chosen = np.flatnonzero(inside)
        chosen = chosen[
            np.linspace(0, len(chosen) - 1, min(len(chosen), _MOST_DOTS)).round().astype(np.int64)
        ]
        found += [(place, float(tokens[one]), float(ttft_ms[one])) for one in chosen]
    return found


def ordered(lines: Sequence[Line], at: float, *, lowest_first: bool = True) -> list[Line]:
    """Lines by their value at the point nearest to `at`: the first ones are named."""

    def value(line: Line) -> float:
        nearest: Any = min(line.points, key=lambda point: abs(point.x - at))
        return float(nearest.y)

    return sorted(lines, key=value, reverse=not lowest_first)

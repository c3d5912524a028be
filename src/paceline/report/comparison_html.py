"""A comparison as one HTML file."""

import math
from typing import Any

import altair as alt

from paceline import __version__
from paceline.report.charts import ACCENT, FAILED, QUIET, SECOND, TEXT, WIDTH, Spec, inline, nines_axis, plain
from paceline.report.comparison import ComparisonReport
from paceline.report.comparison_text import (
    legend,
    nothing_words,
    result_cells,
    saving_words,
    side_words,
    verdict_words,
)
from paceline.report.html import definition, distribution_names, trust_context
from paceline.report.job_sides import PARTS_HEAD, side_rows
from paceline.report.page import Page
from paceline.report.sentences import outcome_words, short_label, speed_words
from paceline.report.series import ladder
from paceline.report.words import label, load_words, unit
from paceline.stats.compare import Comparison

_COLOURS = {
    "faster": SECOND,
    "slower": FAILED,
    "better": SECOND,
    "worse": FAILED,
    "no difference": ACCENT,
    "not enough data": QUIET,
}
_ROW_PX = 26
_TICKS = 6
# From this ratio of its ends on an axis is marked by powers.
_WIDE = 4.0


def render_html(comparison: ComparisonReport) -> str:
    """One self-contained file: trust of both sides, every ratio with its interval, and both distributions."""
    return page_of(comparison).as_file()


def page_of(comparison: ComparisonReport) -> Page:
    """What its page holds."""
    a, b = comparison.a, comparison.b
    names = [name for name in distribution_names(comparison.basis) if a.knows(name) and b.knows(name)]
    charts = {f"{name}_both": _both(comparison, name) for name in names}
    drawn = [result for result in comparison.results if result.ratio.lo is not None]
    if drawn:
        charts["ratios"] = _ratios(drawn, comparison.smallest_difference)
    context = {
        "title": f"{side_words(a)} against {side_words(b)}",
        "version": __version__,
        "sides": [_side(letter, report) for letter, report in (("A", a), ("B", b))],
        "notes": comparison.notes,
        "legend": legend(comparison) if comparison.results else nothing_words(comparison),
        "saving": saving_words(comparison),
        "parts_head": PARTS_HEAD,
        "parts": comparison.jobs.parts_rows() if comparison.jobs is not None else [],
        "has_ratios": bool(drawn),
        "rows": [
            {"cells": result_cells(result)[:-1], "verdict": verdict_words(result), "kind": _kind(result)}
            for result in comparison.results
        ],
        "distributions": [
            {"name": name, "label": short_label(name), "definition": definition(name)} for name in names
        ],
        "file_name": "comparison.json",
    }
    return Page("comparison.html", context, charts, comparison.to_json())


def _side(letter: str, report: Any) -> dict[str, Any]:
    rows = [
        ("run", f"{report.manifest.id}"),
        ("load", load_words(report.manifest.load)),
        ("requests", outcome_words(report)),
        *((name.lower(), text) for name, text in side_rows(report)),
        ("speed", speed_words(report)),
    ]
    return {"letter": letter, "name": side_words(report), "trust": trust_context(report.trust), "facts": rows}


def _kind(result: Comparison) -> str:
    return result.verdict.outcome.replace(" ", "-")


def _ratios(results: list[Comparison], smallest: float) -> Spec:
    """Each ratio as a point with its interval; the band is what counts as no difference."""
    rows: list[dict[str, Any]] = [
        {
            "what": f"{short_label(result.metric)} {result.statistic}",
            "ratio": result.ratio.value,
            "lo": result.ratio.lo,
            "hi": result.ratio.hi,
            "verdict": verdict_words(result),
            "kind": result.verdict.outcome,
        }
        for result in results
        if math.isfinite(result.ratio.value)
    ]
    order = [str(row["what"]) for row in rows]
    kinds = list(dict.fromkeys(row["kind"] for row in rows))
    y = alt.Y("what:N", sort=order, title=None, axis=alt.Axis(labelLimit=150, minExtent=120))
    ends = [end for row in rows for end in (row["lo"], row["hi"], row["ratio"]) if end]
    ticks = ratio_ticks(min([*ends, 1.0 - smallest]), max([*ends, 1.0 + smallest]))
    x = alt.X(
        "ratio:Q",
        title="B / A",
        scale=alt.Scale(type="log", nice=False, padding=12),
        axis=alt.Axis(values=ticks, format="~r", labelOverlap="greedy", labelSeparation=4),
    )
    colour = alt.Color(
        "kind:N",
        title=None,
        scale=alt.Scale(domain=kinds, range=[_COLOURS[str(kind)] for kind in kinds]),
        legend=alt.Legend(orient="top", direction="horizontal", columns=2),
    )
    tooltip = [
        alt.Tooltip("what:N", title="metric"),
        alt.Tooltip("ratio:Q", title="B / A", format=".3f"),
        alt.Tooltip("lo:Q", title="from", format=".3f"),
        alt.Tooltip("hi:Q", title="to", format=".3f"),
        alt.Tooltip("verdict:N"),
    ]
    band = (
        alt.Chart(inline([{"lo": 1.0 - smallest, "hi": 1.0 + smallest}]))
        .mark_rect(color=TEXT, opacity=0.07)
        .encode(x="lo:Q", x2="hi:Q")
    )
    one = alt.Chart(inline([{"ratio": 1.0}])).mark_rule(color=TEXT, strokeDash=[3, 3]).encode(x="ratio:Q")
    base = alt.Chart(inline(rows))
    spans = base.mark_rule(strokeWidth=3).encode(y=y, x=alt.X("lo:Q", title="B / A"), x2="hi:Q", color=colour)
    dots = base.mark_point(filled=True, size=70, opacity=1).encode(y=y, x=x, color=colour, tooltip=tooltip)
    return plain((band + one + spans + dots).properties(width=WIDTH, height=_ROW_PX * len(rows)))


def ratio_ticks(low: float, high: float) -> list[float]:
    """About six marks between two ratios, each with few digits: evenly apart where the ends are near each
    other, else by 1, 2 and 5 times powers of ten."""
    if high / low < _WIDE:
        rough = (high - low) / _TICKS
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(size * power for size in (1.0, 2.0, 5.0, 10.0) if size * power >= rough)
        first = math.ceil(low / step - 1e-9)
        count = math.floor(high / step + 1e-9) - first + 1
        return [float(f"{(first + place) * step:.10g}") for place in range(count)]
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    marks = [float(f"{size}e{power}") for power in powers for size in (1, 2, 5)]
    inside = [mark for mark in marks if low <= mark <= high]
    return inside if len(inside) <= 2 * _TICKS else [mark for mark in inside if f"{mark:e}".startswith("1")]


def _both(comparison: ComparisonReport, name: str) -> Spec:
    """The quantiles of both sides over each other."""
    rows = []
    for side, report in (("A", comparison.a), ("B", comparison.b)):
        steps = ladder(report.samples(name).values)
        rows += [
            {"nines": -math.log10(1.0 - p), "value": float(value), "side": side, "share": f"p{100 * p:.4g}"}
            for p, value in zip(steps.p, steps.value, strict=True)
        ]
    base = alt.Chart(inline(rows)).encode(
        x=nines_axis(),
        y=alt.Y("value:Q", title=f"{label(name)}, {unit(name)}", scale=alt.Scale(zero=False)),
        color=alt.Color(
            "side:N",
            title=None,
            scale=alt.Scale(domain=["A", "B"], range=[ACCENT, SECOND]),
            legend=alt.Legend(orient="top", direction="horizontal"),
        ),
    )
    tooltip = [
        alt.Tooltip("side:N"),
        alt.Tooltip("share:N", title="percentile"),
        alt.Tooltip("value:Q", title=f"{label(name)}, {unit(name)}", format=",.4~r"),
    ]
    hover = base.mark_point(opacity=0, size=120, filled=True).encode(tooltip=tooltip)
    return plain((base.mark_line(strokeWidth=2) + hover).properties(width=WIDTH, height=190))

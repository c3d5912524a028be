"""Distributions as Vega-Lite, by Altair.

Colours are names of the page's CSS variables, so that charts follow its theme.
"""

import math
from typing import Any

import altair as alt

from paceline.report.figures import QUANTILES
from paceline.report.series import histogram, ladder
from paceline.report.words import figure, label, samples_word, unit
from paceline.stats.summary import Summary

# `report.js` puts the variable's value, and the width of the page, in the place of these.
ACCENT, SECOND, GOOD, FAILED, QUIET, TEXT = (
    f"var(--{name})" for name in ("accent", "second", "good", "bad", "quiet", "text")
)
WIDTH = 640
_Q = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}
_MARKED = ("p50", "p90", "p99")
# How much of the width of a histogram the name of a quantile takes.
_NAME_SHARE = 0.1
Spec = dict[str, Any]


def inline(rows: list[dict[str, Any]]) -> Any:
    """Rows as a chart's data."""
    make: Any = alt.Data
    return make(values=rows)


def plain(chart: alt.Chart | alt.LayerChart | alt.VConcatChart) -> Spec:
    """A chart as a Vega-Lite specification, without what the page decides."""
    spec: Spec = chart.to_dict()
    spec.pop("config", None)
    spec.pop("$schema", None)
    return spec


def histogram_chart(name: str, values: Any, summary: Summary) -> Spec:
    """How often each value of a metric came, with p50, p90 and p99 marked."""
    bars = histogram(values)
    total = len(values)
    rows = [
        {
            "from": float(low),
            "to": float(high),
            "n": int(n),
            "range": f"{figure(name, low)} to {figure(name, high)} {unit(name)}",
            "share": int(n) / total,
        }
        for low, high, n in zip(bars.edges[:-1], bars.edges[1:], bars.counts, strict=True)
        if n
    ]
    what = samples_word(name)
    base = alt.Chart(inline(rows))
    bar = base.mark_bar(color=ACCENT, binSpacing=0).encode(
        x=alt.X("from:Q", title=f"{label(name)}, {unit(name)}", scale=alt.Scale(zero=False, nice=False)),
        x2="to:Q",
        y=alt.Y("n:Q", title=what),
        y2=alt.datum(0),
        tooltip=[
            alt.Tooltip("range:N", title=label(name)),
            alt.Tooltip("n:Q", title=what, format=","),
            alt.Tooltip("share:Q", title="share", format=".2%"),
        ],
    )
    rules = alt.Chart(inline(_marks(summary, float(bars.edges[0]), float(bars.edges[-1]))))
    rule = rules.mark_rule(color=TEXT, strokeDash=[3, 3]).encode(x="value:Q")
    # The name of one that lies at the right edge is written to its left.
    names = [
        rules.transform_filter(f"datum.left == {'true' if left else 'false'}")
        .mark_text(
            color=TEXT, align="right" if left else "left", dx=-3 if left else 3, dy=-4, baseline="bottom"
        )
        .encode(x="value:Q", y=alt.value(0), text="q:N")
        for left in (False, True)
    ]
    return plain((bar + rule + names[0] + names[1]).properties(width=WIDTH, height=170))


def _marks(summary: Summary, first: float, last: float) -> list[dict[str, Any]]:
    """The main quantiles on an axis; of some that lie near each other, the first has the names of all."""
    marks: list[dict[str, Any]] = []
    named: dict[str, Any] | None = None
    for quantile in _MARKED:
        value = getattr(summary, quantile).value
        if not math.isfinite(value) or value > last:
            continue
        if named is not None and value - named["value"] < _NAME_SHARE * (last - first):
            named["q"] += f", {quantile}"
            named["left"] = last - named["value"] < _NAME_SHARE * (last - first) * (named["q"].count(",") + 1)
            marks.append({"q": "", "value": value, "left": False})
        else:
            named = {"q": quantile, "value": value, "left": last - value < _NAME_SHARE * (last - first)}
            marks.append(named)
    return marks


def beyond_words(name: str, values: Any) -> str:
    """What a histogram leaves out, or nothing."""
    bars = histogram(values)
    if not bars.beyond:
        return ""
    largest = figure(name, float(values.max()))
    if bars.beyond == 1:
        return f"1 slower one, of {largest} {unit(name)}, is not drawn."
    return f"{bars.beyond:,} slower ones, up to {largest} {unit(name)}, are not drawn."


def nines_axis() -> alt.X:
    """Percentiles by their number of nines, so that p99 and p99.9 are as far apart as p90 and p99."""
    return alt.X(
        "nines:Q",
        title="percentile",
        scale=alt.Scale(nice=False),
        axis=alt.Axis(
            values=[-math.log10(1.0 - p) for p in (0.0, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999)],
            labelExpr="format(100 * (1 - pow(10, -datum.value)), '.5~r')",
        ),
    )


def ladder_chart(name: str, values: Any, summary: Summary) -> Spec:
    """The quantiles of a metric as far as the sample reaches, with the intervals of the main ones."""
    steps = ladder(values)
    rows = [
        {"nines": -math.log10(1.0 - p), "value": float(value), "share": f"p{100 * p:.4g}"}
        for p, value in zip(steps.p, steps.value, strict=True)
    ]
    base = alt.Chart(inline(rows))
    nines = nines_axis()
    value = alt.Y("value:Q", title=f"{label(name)}, {unit(name)}", scale=alt.Scale(zero=False))
    tooltip = [
        alt.Tooltip("share:N", title="percentile"),
        alt.Tooltip("value:Q", title=f"{label(name)}, {unit(name)}", format=",.4~r"),
    ]
    line = base.mark_line(color=ACCENT, strokeWidth=2).encode(x=nines, y=value)
    # Wide, unseen points: something to hover over.
    hover = base.mark_point(opacity=0, size=120, filled=True, color=ACCENT).encode(
        x=nines, y=value, tooltip=tooltip
    )
    spans = alt.Chart(inline(_spans(name, summary)))
    bar = spans.mark_rule(color=SECOND, strokeWidth=6, opacity=0.55).encode(
        x="nines:Q",
        y="lo:Q",
        y2="hi:Q",
        tooltip=[alt.Tooltip("q:N", title="quantile"), alt.Tooltip("text:N", title="95 % interval")],
    )
    return plain((bar + line + hover).properties(width=WIDTH, height=170))


def _spans(name: str, summary: Summary) -> list[dict[str, Any]]:
    found = []
    for quantile in QUANTILES:
        estimate = getattr(summary, quantile)
        if estimate.lo is None or estimate.hi is None:
            continue
        text = f"{figure(name, estimate.lo)} to {figure(name, estimate.hi)} {unit(name)}"
        nines = -math.log10(1.0 - _Q[quantile])
        found.append({"q": quantile, "nines": nines, "lo": estimate.lo, "hi": estimate.hi, "text": text})
    return found

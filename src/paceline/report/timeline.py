"""A run over time as Vega-Lite: in flight, rates, tokens, and each request's wait."""

from typing import Any

import altair as alt

from paceline.report.charts import ACCENT, FAILED, QUIET, SECOND, TEXT, WIDTH, Spec, inline, plain
from paceline.report.evidence import Evidence
from paceline.report.series import Points, TimeLine, points, timeline

Rows = list[dict[str, Any]]


def timeline_chart(evidence: Evidence) -> Spec | None:
    """In flight, requests and tokens a second, and each request's wait, over the time of the run."""
    line = timeline(evidence)
    if line is None:
        return None
    zoom = alt.selection_interval(encodings=["x"], bind="scales")
    end = float(line.start_s[-1] + line.width_s)
    scale = alt.Scale(domain=[0, end], nice=False)
    x = alt.X("t:Q", title=None, scale=scale, axis=alt.Axis(labels=False))
    last = alt.X("t:Q", title="seconds from the start", scale=scale)
    waits = points(evidence)
    rows = _bins(line)
    requests = ["due", "sent", "ended"] if evidence.open_loop else ["sent", "ended"]
    panels = [
        _panel(rows, line, x, "in_flight", "in flight"),
        _rates(rows, line, x, requests),
        _panel(rows, line, x, "tokens_s", "tokens/s"),
        _waits(waits, line, last, "from due" if evidence.open_loop else ""),
    ]
    panels = [panel.add_params(zoom) if index == 0 else panel for index, panel in enumerate(panels)]
    return plain(alt.vconcat(*panels, spacing=14).resolve_scale(x="shared", color="independent"))


def _bins(line: TimeLine) -> Rows:
    return [
        {
            "t": round(float(line.start_s[k]), 4),
            "until": round(float(line.start_s[k]) + line.width_s, 4),
            "in_flight": round(float(line.in_flight[k]), 3),
            "due": round(float(line.due_s[k]), 3),
            "sent": round(float(line.sent_s[k]), 3),
            "ended": round(float(line.ended_s[k]), 3),
            "tokens_s": round(float(line.tokens_s[k]), 2),
        }
        for k in range(len(line.start_s))
    ]


def _bands(line: TimeLine) -> alt.Chart:
    """The steady windows, behind a panel."""
    bands = [{"t": start, "until": end} for start, end in line.steady]
    chart: alt.Chart = (
        alt.Chart(inline(bands)).mark_rect(color=SECOND, opacity=0.10).encode(x="t:Q", x2="until:Q")
    )
    return chart


def _hover(rows: Rows, x: alt.X, tooltips: list[alt.Tooltip]) -> alt.Chart:
    """Unseen columns over a whole panel: the figures of the bin under the pointer."""
    between = [
        alt.Tooltip("t:Q", title="from, s", format=",.2f"),
        alt.Tooltip("until:Q", title="to, s", format=",.2f"),
    ]
    chart: alt.Chart = (
        alt.Chart(inline(rows))
        .mark_rect(opacity=0.0001, color=TEXT)
        .encode(x=x, x2="until:Q", tooltip=[*between, *tooltips])
    )
    return chart


def _panel(rows: Rows, line: TimeLine, x: alt.X, field: str, title: str) -> alt.LayerChart:
    edge = {"color": ACCENT, "strokeWidth": 1.5}
    area = (
        alt.Chart(inline(rows))
        .mark_area(color=ACCENT, opacity=0.35, line=edge, interpolate="step-after")
        .encode(x=x, y=alt.Y(f"{field}:Q", title=title, axis=alt.Axis(tickCount=3)))
    )
    hover = _hover(rows, x, [alt.Tooltip(f"{field}:Q", title=title, format=",.4~r")])
    chart: alt.LayerChart = (_bands(line) + area + hover).properties(width=WIDTH, height=90)
    return chart


def _rates(rows: Rows, line: TimeLine, x: alt.X, names: list[str]) -> alt.LayerChart:
    colours = {"due": TEXT, "sent": ACCENT, "ended": SECOND}
    lines = (
        alt.Chart(inline(rows))
        .transform_fold([*names], as_=["what", "rate"])
        .mark_line(strokeWidth=1.5, interpolate="step-after")
        .encode(
            x=x,
            y=alt.Y("rate:Q", title="requests/s", axis=alt.Axis(tickCount=3)),
            color=alt.Color(
                "what:N",
                title=None,
                scale=alt.Scale(domain=names, range=[colours[name] for name in names]),
                legend=alt.Legend(orient="top", direction="horizontal", offset=2),
            ),
        )
    )
    hover = _hover(rows, x, [alt.Tooltip(f"{name}:Q", title=f"{name}/s", format=",.4~r") for name in names])
    chart: alt.LayerChart = (_bands(line) + lines + hover).properties(width=WIDTH, height=90)
    return chart


def _waits(waits: Points, line: TimeLine, x: alt.X, counted: str) -> alt.LayerChart:
    rows = [
        {"t": round(float(t), 4), "wait": round(float(wait), 3), "outcome": outcome, "index": int(index)}
        for t, wait, outcome, index in zip(waits.at_s, waits.wait_ms, waits.outcome, waits.index, strict=True)
    ]
    kinds = sorted(set(waits.outcome), key=lambda name: (name != "ok", name))
    title = f"TTFT {counted}, ms".replace(" ,", ",")
    dots = (
        alt.Chart(inline(rows))
        .mark_point(filled=True, size=14, opacity=0.6, clip=True)
        .encode(
            x=x,
            y=alt.Y("wait:Q", title=title, scale=alt.Scale(zero=True)),
            color=alt.Color(
                "outcome:N",
                title=None,
                scale=alt.Scale(domain=kinds, range=[_outcome_colour(kind) for kind in kinds]),
                legend=alt.Legend(orient="top", direction="horizontal", offset=2, columns=4)
                if len(kinds) > 1
                else None,
            ),
            shape=alt.Shape(
                "outcome:N",
                scale=alt.Scale(
                    domain=kinds, range=["circle" if kind in ("ok", "hung_up") else "cross" for kind in kinds]
                ),
                legend=None,
            ),
            tooltip=[
                alt.Tooltip("index:Q", title="request"),
                alt.Tooltip("outcome:N"),
                alt.Tooltip("t:Q", title="sent, s", format=",.3f"),
                alt.Tooltip("wait:Q", title="waited, ms", format=",.4~r"),
            ],
        )
    )
    chart: alt.LayerChart = (_bands(line) + dots).properties(width=WIDTH, height=150)
    return chart


def _outcome_colour(outcome: str) -> str:
    return {"ok": ACCENT, "hung_up": SECOND, "cancelled": QUIET}.get(outcome, FAILED)


def points_words(evidence: Evidence) -> str:
    """How many requests the timeline draws, when not all."""
    drawn = points(evidence)
    if len(drawn.at_s) == drawn.total:
        return ""
    return (
        f"{len(drawn.at_s):,} of {drawn.total:,} requests are drawn: failures, the slowest, and a random "
        "sample of the others."
    )

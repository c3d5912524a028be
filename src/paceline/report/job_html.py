"""Jobs in the HTML report: the bar of a job's time, what jobs did, and TTFT by turn and by cached share."""

import math
from typing import Any

import altair as alt

from paceline.report.charts import ACCENT, SECOND, WIDTH, Spec, inline, plain
from paceline.report.job_figures import JobFigures
from paceline.report.job_words import (
    asked_rows,
    calls_table,
    groups_head,
    hangup_rows,
    job_rows,
    part_meaning,
    part_name,
    parts_shares,
    parts_title,
    turn_tables,
    whole_percent,
)
from paceline.report.model import Report
from paceline.report.words import figure
from paceline.stats.turns import TtftGroup
from paceline.units import format_ms

_MOST_ROWS = 200


def job_context(report: Report) -> dict[str, Any] | None:
    """For `jobs.html`; None where a run has neither jobs nor anything else that the section shows."""
    jobs, facts = report.evidence.jobs, [*hangup_rows(report), *asked_rows(report)]
    if jobs is None:
        if not facts:
            return None
        title = "Hang-ups" if report.evidence.hangups is not None else "As asked"
        return {"title": title, "parts": [], "facts": facts, "charts": [], "tables": []}
    shares = parts_shares(jobs)
    return {
        "title": "Jobs",
        "parts_title": parts_title(jobs),
        "parts_label": ", ".join(f"{part_name(jobs, part)} {whole_percent(of)}" for part, _, of in shares),
        "parts": [
            {
                "key": part.name.lower(),
                "name": part_name(jobs, part),
                "meaning": part_meaning(jobs, part),
                "time": format_ms(ms),
                "share": whole_percent(share),
                "width": round(100.0 * share, 2),
            }
            for part, ms, share in shares
        ],
        "facts": [*job_rows(jobs), *facts],
        "charts": [{"name": name, "label": _label(name, jobs)} for name in job_charts(report)],
        "charts_title": _charts_title(list(job_charts(report))),
        "tables": [
            *_calls(jobs),
            *(
                {"title": f"TTFT by {what}", "head": groups_head(what), "rows": rows, "open": what == "call"}
                for what, rows in turn_tables(jobs, _MOST_ROWS)
            ),
        ],
    }


def _calls(jobs: JobFigures) -> list[dict[str, Any]]:
    table = calls_table(jobs, _MOST_ROWS)
    if table is None:
        return []
    return [{"title": "How calls ended", "head": table[0], "rows": table[1], "open": True}]


def job_charts(report: Report) -> dict[str, Spec]:
    """`ttft_by_turn` and `ttft_by_cached`, as far as the run has them."""
    jobs = report.evidence.jobs
    if jobs is None or jobs.turns is None:
        return {}
    charts = {}
    if len(jobs.turns.by_turn) > 1:
        charts["ttft_by_turn"] = _turns_chart(jobs.turns.by_turn)
    if len(jobs.turns.by_cached_share) > 1:
        charts["ttft_by_cached"] = _cached_chart(jobs.turns.by_cached_share)
    return charts


def _charts_title(names: list[str]) -> str:
    parts = {"ttft_by_turn": "turn", "ttft_by_cached": "what was cached"}
    return f"TTFT by {' and by '.join(parts[name] for name in names)}"


def _label(name: str, jobs: JobFigures) -> str:
    if jobs.turns is None:
        return ""
    by_turn = name == "ttft_by_turn"
    groups = jobs.turns.by_turn if by_turn else jobs.turns.by_cached_share
    first, last = groups[0], groups[-1]
    ends = [f"{figure('ttft_ms', one.ttft_ms.value)} ms" for one in (first, last)]
    if by_turn:
        return f"Median TTFT of each turn: {ends[0]} at the first, {ends[1]} at the last of {len(groups)}"
    return (
        f"Median TTFT by the share of the prompt that was cached: {ends[0]} ({first.name}), "
        f"{ends[1]} ({last.name})"
    )


def _rows(groups: list[TtftGroup]) -> list[dict[str, Any]]:
    return [
        {
            "name": group.name,
            "value": group.ttft_ms.value,
            "lo": group.ttft_ms.value if group.ttft_ms.lo is None else group.ttft_ms.lo,
            "hi": group.ttft_ms.value if group.ttft_ms.hi is None else group.ttft_ms.hi,
            "n": group.n,
            "prompt": group.prompt_tokens,
            "cached": group.cached_share,
        }
        for group in groups
        if math.isfinite(group.ttft_ms.value)
    ]


def _tooltip(what: str, field: str) -> list[alt.Tooltip]:
    return [
        alt.Tooltip(field, title=what),
        alt.Tooltip("value:Q", title="median TTFT, ms", format=",.4~r"),
        alt.Tooltip("lo:Q", title="from", format=",.4~r"),
        alt.Tooltip("hi:Q", title="to", format=",.4~r"),
        alt.Tooltip("n:Q", title="calls", format=","),
        alt.Tooltip("prompt:Q", title="prompt tokens", format=",.0f"),
        alt.Tooltip("cached:Q", title="cached", format=".0%"),
    ]


def _turns_chart(groups: list[TtftGroup]) -> Spec:
    rows = [{**row, "turn": int(row["name"]) + 1} for row in _rows(groups)]
    x = alt.X(
        "turn:Q",
        title="turn",
        scale=alt.Scale(nice=False, padding=8, zero=False),
        axis=alt.Axis(format="d", tickMinStep=1),
    )
    y = alt.Y("value:Q", title="median TTFT, ms", scale=alt.Scale(zero=True))
    base = alt.Chart(inline(rows))
    band = base.mark_area(color=ACCENT, opacity=0.2).encode(x=x, y="lo:Q", y2="hi:Q")
    line = base.mark_line(color=ACCENT, strokeWidth=2).encode(x=x, y=y)
    dots = base.mark_point(color=ACCENT, filled=True, size=40, opacity=1).encode(
        x=x, y=y, tooltip=_tooltip("turn", "turn:Q")
    )
    return plain((band + line + dots).properties(width=WIDTH, height=170))


def _cached_chart(groups: list[TtftGroup]) -> Spec:
    rows = _rows(groups)
    x = alt.X(
        "name:N",
        title="of the prompt cached",
        sort=[row["name"] for row in rows],
        axis=alt.Axis(labelAngle=0, labelOverlap=False),
        scale=alt.Scale(padding=0.6),
    )
    base = alt.Chart(inline(rows))
    spans = base.mark_rule(color=SECOND, strokeWidth=3).encode(x=x, y="lo:Q", y2="hi:Q")
    dots = base.mark_point(color=SECOND, filled=True, size=70, opacity=1).encode(
        x=x,
        y=alt.Y("value:Q", title="median TTFT, ms", scale=alt.Scale(zero=True)),
        tooltip=_tooltip("cached", "name:N"),
    )
    return plain((spans + dots).properties(width=WIDTH, height=170))

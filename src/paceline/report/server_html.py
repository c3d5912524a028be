"""The server's side in the HTML report: what it said over the time of the run, and a table."""

import math
from typing import Any

import altair as alt
import numpy as np

from paceline.report.charts import ACCENT, QUIET, SECOND, TEXT, WIDTH, Spec, inline, plain
from paceline.report.evidence import Evidence
from paceline.report.series import RunClock, TimeLine, timeline
from paceline.report.server import TOKENS, ServerFigures
from paceline.report.server_text import title_words
from paceline.report.server_words import HEAD, server_rows, table_rows
from paceline.stats.frame import Frame
from paceline.stats.server import Series, segment_spans

# More points than a line has pixels say nothing.
MOST_POINTS = 1_200
Rows = list[dict[str, Any]]
_SHARES = {"kv_cache_use": "KV cache", "gpu_use": "GPU"}


def server_context(evidence: Evidence) -> dict[str, Any] | None:
    """For `server.html`; None where nothing was sampled."""
    server = evidence.server
    if server is None:
        return None
    rows = table_rows(server)
    return {
        "title": title_words(server),
        "facts": server_rows(server),
        "head": ["figure", *HEAD],
        "rows": rows,
        "label": f"{title_words(server)}: " + ", ".join(f"{row[0]} {row[1]}" for row in rows[:4]),
        "has_chart": server_chart(evidence) is not None,
    }


def server_charts(evidence: Evidence) -> dict[str, Spec]:
    """`server`, where there is anything to draw."""
    chart = server_chart(evidence)
    return {} if chart is None else {"server": chart}


def server_chart(evidence: Evidence) -> Spec | None:
    """Requests, shares, tokens a second and power, on the same axis of time as the client's charts."""
    line, server = timeline(evidence), evidence.server
    if line is None or server is None:
        return None
    clock = _Clock(evidence)
    panels = [
        (_requests(server, clock, line), "requests", ",.4~r"),
        (_shares(server, clock), "share in use", ".1%"),
        (_tokens(server, clock, line), "tokens/s", ",.4~r"),
        (_power(server, clock), "GPU power, W", ",.4~r"),
    ]
    filled = [panel for panel in panels if panel[0]]
    if not filled:
        return None
    drawn = [_lines(*panel, line, last=panel is filled[-1]) for panel in filled]
    zoom = alt.selection_interval(encodings=["x"], bind="scales")
    drawn[0] = drawn[0].add_params(zoom)
    return plain(alt.vconcat(*drawn, spacing=14).resolve_scale(x="shared", color="independent"))


class _Clock:
    """Samples on the run's axis of time: those within a segment."""

    def __init__(self, evidence: Evidence) -> None:
        self._clock = RunClock(Frame(evidence.rows))
        self._origins = evidence.origins
        self._spans = segment_spans(evidence.rows, evidence.origins)

    def parts(self, series: Series) -> list[tuple[list[float], Series]]:
        """Of each segment: seconds from the start of the run, and the samples."""
        found = []
        for segment, (start, end) in sorted(self._spans.items()):
            inside = series.between(start, end)
            if len(inside.value):
                at = [self._clock.at(segment, int(t), self._origins) for t in inside.t_ns]
                found.append((at, inside))
        return found


def _rows(clock: _Clock, series: Series, what: str) -> Rows:
    """A gauge as points of a line; each segment is a line of its own."""
    rows = [
        {"t": round(t, 4), "value": round(float(value), 4), "what": what, "part": part}
        for part, (at, inside) in enumerate(clock.parts(series))
        for t, value in zip(at, inside.value, strict=True)
    ]
    return _few(rows)


def _rates(clock: _Clock, series: Series, what: str) -> Rows:
    """A counter as what came to it a second, in the middle between two samples."""
    rows: Rows = []
    for part, (at, inside) in enumerate(clock.parts(series)):
        steps, seconds = np.diff(inside.value), np.diff(inside.t_ns) / 1e9
        rows += [
            {"t": round(t + s / 2, 4), "value": round(float(step / s), 3), "what": what, "part": part}
            for t, step, s in zip(at[:-1], steps, seconds, strict=True)
            if step >= 0.0 and s > 0.0
        ]
    return _few(rows)


def _few(rows: Rows) -> Rows:
    """No more than can be drawn, and nothing for which JSON has no number: a rate may overflow."""
    rows = [row for row in rows if math.isfinite(row["value"])]
    return rows[:: max(1, -(-len(rows) // MOST_POINTS))]


def _client(line: TimeLine, values: Any, what: str) -> Rows:
    return [
        {"t": round(float(t) + line.width_s / 2, 4), "value": round(float(value), 3), "what": what, "part": 0}
        for t, value in zip(line.start_s, values, strict=True)
    ]


def _requests(server: ServerFigures, clock: _Clock, line: TimeLine) -> Rows:
    rows: Rows = []
    for series, _ in server.of_server():
        if series.name in ("running_requests", "waiting_requests"):
            rows += _rows(clock, series, series.name.partition("_")[0])
    return [*_client(line, line.in_flight, "in flight at the client"), *rows] if rows else []


def _shares(server: ServerFigures, clock: _Clock) -> Rows:
    rows: Rows = []
    for series, _ in server.pairs():
        if series.name in _SHARES:
            number = f" {series.source.removeprefix('gpu')}" if series.source.startswith("gpu") else ""
            rows += _rows(clock, series, f"{_SHARES[series.name]}{number}")
    return rows


def _tokens(server: ServerFigures, clock: _Clock, line: TimeLine) -> Rows:
    found = [series for series, _ in server.of_server() if series.name == TOKENS]
    rows = [row for series in found for row in _rates(clock, series, "by the server's count")]
    return [*_client(line, line.tokens_s, "received by the client"), *rows] if rows else []


def _power(server: ServerFigures, clock: _Clock) -> Rows:
    found = [series for series, _ in server.of_gpus() if series.name == "gpu_power_w"]
    return [
        row for series in found for row in _rows(clock, series, f"GPU {series.source.removeprefix('gpu')}")
    ]


def _lines(rows: Rows, title: str, form: str, line: TimeLine, *, last: bool) -> alt.LayerChart:
    """One panel. Only the last one names the axis of time. `form`: of a value that is pointed at."""
    end = float(line.start_s[-1] + line.width_s)
    x = alt.X(
        "t:Q",
        title="seconds from the start" if last else None,
        scale=alt.Scale(domain=[0, end], nice=False),
        axis=alt.Axis(labels=last),
    )
    names = list(dict.fromkeys(row["what"] for row in rows))
    axis = alt.Axis(tickCount=3, format=".1~%") if form.endswith("%") else alt.Axis(tickCount=3)
    lines = (
        alt.Chart(inline(rows))
        .mark_line(strokeWidth=1.5, clip=True, point=alt.OverlayMarkDef(size=12, filled=True))
        .encode(
            x=x,
            y=alt.Y("value:Q", title=title, axis=axis, scale=alt.Scale(zero=True)),
            detail="part:N",
            color=alt.Color(
                "what:N",
                title=None,
                scale=alt.Scale(domain=names, range=_colours(names)),
                legend=alt.Legend(orient="top", direction="horizontal", offset=2, columns=4),
            ),
            tooltip=[
                alt.Tooltip("what:N", title=title),
                alt.Tooltip("t:Q", title="at, s", format=",.2f"),
                alt.Tooltip("value:Q", title="value", format=form),
            ],
        )
    )
    bands = [{"t": start, "until": stop} for start, stop in line.steady]
    behind = alt.Chart(inline(bands)).mark_rect(color=SECOND, opacity=0.10).encode(x="t:Q", x2="until:Q")
    chart: alt.LayerChart = (behind + lines).properties(width=WIDTH, height=100)
    return chart


def _colours(names: list[str]) -> list[str]:
    """The client's own figures are quiet: they are there to compare."""
    of_client = {"in flight at the client", "received by the client"}
    others = iter([ACCENT, SECOND, TEXT] * len(names))
    return [QUIET if name in of_client else next(others) for name in names]

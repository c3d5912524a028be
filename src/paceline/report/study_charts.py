"""The curves of a study as Vega-Lite, by Altair."""

from typing import Any

import altair as alt

from paceline.report.charts import ACCENT, FAILED, QUIET, SECOND, TEXT, WIDTH, Spec, inline, plain
from paceline.report.study import Point, StudyReport
from paceline.report.study_words import at_words, value_words, x_words

HEIGHT = 240
# From this ratio of the ends on, loads are drawn by their logarithm.
_WIDE = 8.0
# An axis of figures that hardly differ shows at least this share of the greatest, else noise fills it.
_NARROWEST = 0.1
# More points than these have no room for their names.
_MOST_NAMED = 14
_PALETTE = [ACCENT, SECOND, "#b0722a", "#8a5cc2", "#c0506e", "#5d8a3a"]


def study_charts(report: StudyReport) -> dict[str, Spec]:
    """The curves that there are figures for, by name, in the order in which to show them."""
    makers = {
        "share": _share_chart,
        "interactivity": _interactivity_chart,
        "ttft": _ttft_chart,
        "goodput": _goodput_chart,
    }
    found = {name: make(report) for name, make in makers.items()}
    return {name: spec for name, spec in found.items() if spec is not None}


def _interactivity_chart(report: StudyReport) -> Spec | None:
    """Throughput against what one user sees, with the load at each point."""
    rows = [
        {**row, "x": point.value("user_tok_s"), "y": point.value("output_tok_s")}
        | _ends("x", point, "user_tok_s")
        | _ends("y", point, "output_tok_s")
        for row, point in _points(report)
        if point.value("user_tok_s") is not None and point.value("output_tok_s") is not None
    ]
    if len(rows) < 2:
        return None
    base = alt.Chart(inline(rows))
    x = alt.X("x:Q", title="tokens a second at the median user", scale=_figures_scale(rows))
    y = alt.Y("y:Q", title="tokens a second in all", scale=alt.Scale(zero=True))
    colour = _colour(report)
    tooltip = [
        alt.Tooltip("at:N", title="at"),
        alt.Tooltip("x:Q", title="tok/s/user", format=",.3~r"),
        alt.Tooltip("y:Q", title="tok/s", format=",.4~r"),
    ]
    line = base.mark_line(strokeWidth=1.5, opacity=0.6).encode(x=x, y=y, order="order:Q", color=colour)
    across = base.mark_rule(strokeWidth=3, opacity=0.35).encode(x="x_lo:Q", x2="x_hi:Q", y=y, color=colour)
    along = base.mark_rule(strokeWidth=3, opacity=0.35).encode(x=x, y="y_lo:Q", y2="y_hi:Q", color=colour)
    dots = base.mark_point(filled=True, size=60, opacity=1).encode(x=x, y=y, color=colour, tooltip=tooltip)
    few = alt.Chart(inline(rows if len(rows) <= _MOST_NAMED else []))
    names = few.mark_text(align="left", dx=7, dy=-7, color=TEXT).encode(x=x, y=y, text="load:N")
    ring = (
        base.transform_filter("datum.knee")
        .mark_point(size=220, strokeWidth=2, color=TEXT)
        .encode(x=x, y=y, tooltip=tooltip)
    )
    return plain((line + across + along + dots + ring + names).properties(width=WIDTH, height=HEIGHT))


def _ttft_chart(report: StudyReport) -> Spec | None:
    """How long the first token takes; the median and the 95th percentile."""
    rows = [
        {**row, "y": point.value(name), "what": f"{_prefix(row)}{what}"} | _ends("y", point, name)
        for row, point in _points(report)
        for name, what in (("ttft_p50_ms", "median"), ("ttft_p95_ms", "95th percentile"))
        if point.value(name) is not None
    ]
    if len({row["order"] for row in rows}) < 2:
        return None
    limit = next((value for name, value in report.slo.items() if name.startswith("ttft")), None)
    return _over_x(report, rows, "TTFT, ms", limit)


def _goodput_chart(report: StudyReport) -> Spec | None:
    """Requests a second that were answered, and those that met the objectives."""
    names = [("requests_s", "answered")]
    if report.slo:
        names.append(("goodput_requests_s", "met the objectives"))
    rows = [
        {**row, "y": point.value(name), "what": f"{_prefix(row)}{what}"} | _ends("y", point, name)
        for row, point in _points(report)
        for name, what in names
        if point.value(name) is not None
    ]
    return _over_x(report, rows, "requests/s", None) if len({row["order"] for row in rows}) > 1 else None


def _share_chart(report: StudyReport) -> Spec | None:
    """A search for a capacity: the share that met at each load, and where the capacity lies."""
    found = report.manifest.result
    if report.manifest.kind != "capacity" or found is None:
        return None
    least = 100.0 * float(report.manifest.asked["search"]["share"])
    rows = [
        {**row, "y": 100.0 * point.met / point.attempted, "n": point.attempted, "cut": point.overloaded > 0}
        for row, point in _points(report)
        if point.met is not None and point.attempted
    ]
    shown = [row for row in rows if found["lo"] / 2.0 <= row["x"] <= found["hi"] * 2.0] or rows
    base = alt.Chart(inline(shown))
    x = _x(report, shown)
    y = alt.Y("y:Q", title="met the objectives, %", scale=alt.Scale(domain=[0, 100]))
    ends = [float(row["x"]) for row in shown]
    span = {"lo": max(found["lo"], min(ends)), "hi": min(found["hi"], max(ends))}
    band = (
        alt.Chart(inline([span] if span["lo"] < span["hi"] else []))
        .mark_rect(color=ACCENT, opacity=0.18)
        .encode(x="lo:Q", x2="hi:Q")
    )
    layers = [band, _rule("y", least)]
    if found.get("load") is not None and found["verdict"] == "found":
        layers.append(_rule("x", found["load"], dash=[1, 0], colour=ACCENT))
    dots = base.mark_point(filled=True, opacity=0.75).encode(
        x=x,
        y=y,
        size=alt.Size("n:Q", legend=None, scale=alt.Scale(range=[30, 200])),
        color=alt.condition("datum.cut", alt.value(FAILED), alt.value(ACCENT)),
        tooltip=[
            alt.Tooltip("at:N", title="at"),
            alt.Tooltip("y:Q", title="met, %", format=".2f"),
            alt.Tooltip("n:Q", title="requests", format=","),
            alt.Tooltip("cut:N", title="cut short"),
        ],
    )
    shown_layers: Any = alt.layer(*layers, dots)
    return plain(shown_layers.properties(width=WIDTH, height=HEIGHT))


def _over_x(report: StudyReport, rows: list[dict[str, Any]], title: str, limit: float | None) -> Spec:
    """Lines with their intervals as bands over the axis of the study, the knee and a limit as rules."""
    base = alt.Chart(inline(rows))
    x, y = _x(report, rows), alt.Y("y:Q", title=title, scale=alt.Scale(zero=True))
    kinds = list(dict.fromkeys(str(row["what"]) for row in rows))
    colour = alt.Color(
        "what:N",
        title=None,
        scale=alt.Scale(domain=kinds, range=[_PALETTE[place % len(_PALETTE)] for place in range(len(kinds))]),
        legend=alt.Legend(orient="top", direction="horizontal", columns=2, labelLimit=320, symbolOpacity=1),
    )
    tooltip = [
        alt.Tooltip("at:N", title="at"),
        alt.Tooltip("what:N"),
        alt.Tooltip("y:Q", title=title, format=",.4~r"),
        alt.Tooltip("range:N", title="95 % interval"),
    ]
    spans: Any
    if report.numeric:
        spans = base.mark_area(opacity=0.18).encode(
            x=x, y=alt.Y("y_lo:Q", title=title), y2="y_hi:Q", color=colour
        )
    else:
        spans = base.mark_rule(strokeWidth=4, opacity=0.35).encode(
            x=x, y=alt.Y("y_lo:Q", title=title), y2="y_hi:Q", color=colour
        )
    line = base.mark_line(strokeWidth=2).encode(x=x, y=y, color=colour)
    dots = base.mark_point(filled=True, size=45, opacity=1).encode(x=x, y=y, color=colour, tooltip=tooltip)
    layers: list[Any] = [spans.transform_filter("isValid(datum.y_lo)"), line, dots]
    if limit is not None:
        layers.append(_rule("y", limit))
    layers += [_rule("x", row["x"], text="knee") for row in rows if row["knee"] and report.numeric][:1]
    shown: Any = alt.layer(*layers)
    return plain(shown.properties(width=WIDTH, height=HEIGHT))


def _rule(
    channel: str, value: float, *, text: str = "", dash: list[int] | None = None, colour: str = TEXT
) -> Any:
    base = alt.Chart(inline([{"at": value, "text": text}]))
    place = {channel: "at:Q"}
    rule = base.mark_rule(color=colour, strokeDash=dash or [4, 3], opacity=0.8).encode(**place)
    if not text:
        return rule
    name = base.mark_text(color=QUIET, align="left", dx=4, baseline="top").encode(
        **place, y=alt.value(2), text="text:N"
    )
    return rule + name


def _x(report: StudyReport, rows: list[dict[str, Any]]) -> alt.X:
    if not report.numeric:
        return alt.X("load:N", title=x_words(report), sort=None)
    values = [float(row["x"]) for row in rows]
    wide = min(values) > 0.0 and max(values) / min(values) >= _WIDE
    scale = alt.Scale(type="log", nice=False, padding=8) if wide else alt.Scale(zero=False, padding=8)
    # Half a request in flight is no load.
    whole = all(value == int(value) for value in values)
    axis = (
        alt.Axis(format="~r", values=_ticks(values))
        if wide
        else alt.Axis(format="~r", tickMinStep=1 if whole else alt.Undefined)
    )
    return alt.X("x:Q", title=x_words(report), scale=scale, axis=axis)


def _figures_scale(rows: list[dict[str, Any]]) -> alt.Scale:
    """Of figures that need not begin at zero, and their intervals, where they are told."""
    values = [float(row[key]) for row in rows for key in ("x", "x_lo", "x_hi") if row.get(key) is not None]
    least, most = min(values), max(values)
    if most - least >= _NARROWEST * most:
        return alt.Scale(zero=False)
    middle, half = (least + most) / 2.0, _NARROWEST * most / 2.0
    return alt.Scale(domain=[middle - half, middle + half], zero=False)


def _ticks(values: list[float]) -> list[float]:
    """The loads themselves, as far as there is room for them."""
    distinct = sorted(set(values))
    return distinct[:: max(1, -(-len(distinct) // 10))]


def _colour(report: StudyReport) -> Any:
    labels = [series.label or "study" for series in report.series]
    legend = (
        alt.Legend(orient="top", direction="horizontal", columns=2, labelLimit=320)
        if len(labels) > 1
        else None
    )
    colours = [_PALETTE[place % len(_PALETTE)] for place in range(len(labels))]
    return alt.Color("series:N", title=None, scale=alt.Scale(domain=labels, range=colours), legend=legend)


def _points(report: StudyReport) -> list[tuple[dict[str, Any], Point]]:
    """Each point with what all curves need of it."""
    found = []
    for series in report.series:
        for place, point in enumerate(series.points):
            value = point.at.get(report.x)
            row = {
                "x": value,
                "load": value_words(value),
                "series": series.label or "study",
                "label": series.label,
                "order": place,
                "knee": place == series.knee.index and series.knee.edge is None,
                "at": at_words(point.at),
            }
            found.append((row, point))
    return found


def _prefix(row: dict[str, Any]) -> str:
    return f"{row['label']}: " if row["label"] else ""


def _ends(channel: str, point: Point, name: str) -> dict[str, Any]:
    band = point.figures.get(name)
    if band is None or band.lo is None or band.hi is None:
        return {f"{channel}_lo": None, f"{channel}_hi": None, "range": "-"}
    return {
        f"{channel}_lo": band.lo,
        f"{channel}_hi": band.hi,
        "range": f"{band.lo:.4g} to {band.hi:.4g}",
    }

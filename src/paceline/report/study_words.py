"""What a study's report says in words, the same in every format."""

import math
from collections.abc import Mapping
from typing import Any

from paceline.report.study import Band, Point, Series, StudyReport, given_word
from paceline.report.words import arrival_words, load_words, share, workload_words
from paceline.units import format_duration_ns, format_number, format_percentage

_UNITS = {"concurrency": "in flight", "rate": "requests/s"}
COLUMNS = {
    "ttft_p50_ms": "TTFT p50",
    "ttft_p95_ms": "p95",
    "itl_p50_ms": "ITL p50",
    "user_tok_s": "tok/s/user",
    "output_tok_s": "tok/s",
    "requests_s": "req/s",
    "met_share": "met",
}
KNEE_NOTE = (
    "* the knee: the greatest power, requests a second over the mean time of one (Kleinrock 1979). To its "
    "left more load costs little time, to its right it costs more than it brings."
)


def title_words(report: StudyReport) -> str:
    """What the study is."""
    what = "Capacity" if report.manifest.kind == "capacity" else "Sweep"
    name = f" {report.manifest.name}" if report.manifest.name else ""
    return f"{what}{name}: {report.manifest.model}"


def x_words(report: StudyReport) -> str:
    """The name of the axis for people."""
    unit = _UNITS.get(report.x)
    return f"{report.x}, {unit}" if unit else report.x


def value_words(value: Any) -> str:
    """A value of an axis, as it was given."""
    return f"{value:.4g}" if isinstance(value, float) else given_word(value)


def at_words(at: Mapping[str, Any]) -> str:
    """`concurrency 4, prompt_tokens 512`."""
    return ", ".join(f"{name} {value_words(value)}" for name, value in at.items())


def verdict_words(report: StudyReport) -> list[str]:
    """What a search for a capacity has found, first of all the answer. Nothing for a sweep."""
    found = report.manifest.result
    if report.manifest.kind != "capacity":
        return []
    if found is None:
        return ["no step has ended yet"]
    unit = _UNITS[report.manifest.asked["axis"]]
    ends = dict.fromkeys((_load(found["lo"]), _load(found["hi"])))
    thought = f"{' to '.join(ends)} {unit}"
    sure = format_percentage(float(report.manifest.asked["search"]["confidence"]))
    verdict = found["verdict"]
    if verdict == "found":
        lines = [
            f"highest load that meets: {_load(found['load'])} {unit}",
            f"{_load(found['load'])} is not above the capacity, with {sure} confidence",
        ]
        if len(ends) > 1:
            lines.append(f"the capacity is thought to be {thought}; its upper end carries no such promise")
    elif verdict == "above the range":
        lines = [f"above the range: {_load(found['load'])} {unit} still meets, with {sure} confidence"]
    elif verdict == "below the range":
        lowest = report.manifest.asked["search"]["lowest"]
        lines = [f"below the range: already {_load(lowest)} {unit} does not meet, with {sure} confidence"]
    else:
        more = format_duration_ns((found.get("needs_s") or 60.0) * 1e9)
        lines = [
            f"not enough data: needs about {more} more",
            f"so far the capacity is thought to be {thought}",
        ]
        if found.get("load") is not None:
            lines.append(f"{_load(found['load'])} {unit} meets, with {sure} confidence")
    if found.get("left_out"):
        lines.append(f"{found['left_out']} steps are left out, since the client failed in them")
    return [*lines, criterion_words(report)]


def criterion_words(report: StudyReport) -> str:
    """What it means to meet the objectives."""
    asked = report.manifest.asked
    least = format_percentage(float(asked["search"]["share"]))
    limits = ", ".join(f"{name}={limit:g}" for name, limit in report.slo.items())
    if len(report.slo) == 1:
        return f"meets: at least {least} of attempted requests have {limits}"
    if asked["criteria"] == ["all"]:
        return f"meets: at least {least} of attempted requests have {limits}, all of them at once"
    return f"meets: at least {least} of attempted requests have each of {limits}, each by itself"


def asked_rows(report: StudyReport) -> list[tuple[str, str]]:
    """What was asked, by name."""
    asked = report.manifest.asked
    rows = [
        ("Endpoint", f"{report.manifest.endpoint}  {report.manifest.protocol}"),
        ("Model", report.manifest.model),
        ("Each step", _step_words(report)),
        ("Workload", workload_words(asked.get("workload") or {})),
        ("Steps", steps_words(report)),
        ("Study", f"{report.manifest.id}{f'  {report.manifest.name}' if report.manifest.name else ''}"),
    ]
    return [(name, text) for name, text in rows if text]


def _step_words(report: StudyReport) -> str:
    """The load without what is varied."""
    load = dict(report.manifest.asked.get("load") or {})
    words = load_words(load)
    arrival = load.get("arrival") or {}
    closed = arrival.get("kind") == "closed"
    varied = {name for point in report.points for name in point.at} | {report.x}
    if "rate" in varied or ("concurrency" in varied and closed):
        first = arrival_words(arrival, "jobs" if load.get("jobs") else "requests")
        # How many, or how often, is the second of its parts: `open loop, 5 requests/s, Poisson`.
        kind, *more = first.split(", ")
        words = ", ".join([kind, *more[1:]]) + words[len(first) :]
    settle = format_duration_ns(float(report.manifest.asked.get("settle_ns") or 0))
    return f"{words}; {settle} to settle before it"


def steps_words(report: StudyReport) -> str:
    """How many steps there are, and in which order they were measured."""
    manifest = report.manifest
    steps = len(manifest.steps)
    took = format_duration_ns(sum(step.seconds for step in manifest.steps) * 1e9)
    cut = sum(step.overload is not None for step in manifest.steps)
    parts = [f"{steps}"]
    if manifest.kind == "sweep":
        all_of_them = len(manifest.asked["points"]) * int(manifest.asked["repeats"])
        order = {"random": "random order", "up": "ascending order", "down": "descending order"}
        repeats = int(manifest.asked["repeats"])
        each = "each point once" if repeats == 1 else f"each point {repeats} times"
        parts = [f"{steps} of {all_of_them}, {each}, in {order[manifest.asked['order']]}"]
    parts.append(f"{took} in all")
    if cut:
        parts.append(f"{cut} cut short, as the endpoint was overloaded")
    if report.state != "complete":
        parts.append(report.state)
    return ", ".join(parts)


def trust_lines(report: StudyReport) -> list[str]:
    """Why the figures may be doubted: each reason with the number of steps it was found in."""
    steps = len(report.manifest.steps)
    return [
        f"in {doubt.steps} of {steps} steps{', as in' if doubt.steps > 1 else ''}: {doubt.text}"
        if steps
        else doubt.text
        for doubt in report.reasons
    ]


def knee_words(report: StudyReport, series: Series) -> str:
    """Where the knee is, or why there is none; empty for an axis that is no load."""
    if report.x not in _UNITS or not series.points:
        return ""
    where = f"{series.label}: " if series.label else ""
    knee = series.knee
    if knee.index is None:
        return f"{where}no knee: it takes three loads that were not cut short"
    at = f"{report.x} {value_words(series.points[knee.index].at[report.x])}"
    beyond = {"lowest": ", the lowest measured: it may lie below", None: ""}
    beyond["highest"] = ", the highest measured: it may lie above"
    return f"{where}knee at {at}{beyond[knee.edge]}"


def cell(name: str, point: Point, *, with_interval: bool = False) -> str:
    """A figure of a point."""
    band = point.figures.get(name)
    if name == "met_share":
        return "" if point.met is None else share(point.met, point.attempted)
    if band is None:
        return "-"
    return f"{format_number(band.value)}{f' ({interval(band)})' if with_interval and interval(band) else ''}"


def interval(band: Band) -> str:
    """`11.9 to 12.8`, or nothing."""
    if band.lo is None or band.hi is None:
        return ""
    return f"{format_number(band.lo)} to {format_number(band.hi)}"


def columns(report: StudyReport) -> dict[str, str]:
    """The columns of the table that hold anything."""
    return {
        name: head for name, head in COLUMNS.items() if any(name in point.figures for point in report.points)
    }


def _load(value: float) -> str:
    """A load with as many digits as it takes to tell one per cent apart; never rounded up."""
    if value >= 100 or value == int(value):
        return f"{math.floor(value):,}"
    digits = 2 if value < 10 else 1
    return f"{math.floor(value * 10**digits) / 10**digits:g}"

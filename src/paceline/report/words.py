"""How reports say things: the load, the workload, figures with their intervals."""

import math
from collections.abc import Mapping
from typing import Any

from paceline.stats.metrics import JOB_METRICS, METRICS
from paceline.stats.quantiles import Estimate
from paceline.units import format_number

LABELS = {
    "ttft_ms": "TTFT",
    "ttfat_ms": "TTFT, answer",
    "e2e_ms": "E2E",
    "ttft_from_intended_ms": "TTFT from due",
    "ttfat_from_intended_ms": "TTFT, answer, from due",
    "e2e_from_intended_ms": "E2E from due",
    "tpot_ms": "Time per token",
    "output_tok_s": "Decode rate",
    "chunk_gap_ms": "Gap of chunks",
    "itl_ms": "ITL",
    "longest_stall_ms": "Longest stall",
    "fluidity": "Fluidity",
    "stop_ms": "Stop after hang-up",
    "job_ms": "Job time",
    "job_from_intended_ms": "Job time from due",
    "failed_jobs": "Failed jobs",
    "connect_ms": "Connect",
    "tls_ms": "TLS",
}
_SHORT_UNIT = {"ms/token": "ms", "share": "%"}


def printable(text: str) -> str:
    """Text without control characters: what a server sends must not steer a terminal."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def shorten(text: str, most: int) -> str:
    """Text of at most so many characters, with an ellipsis where it was cut."""
    return text if len(text) <= most else f"{text[: most - 3].rstrip()}..."


def label(name: str) -> str:
    """The name of a metric for people."""
    return LABELS.get(name, name)


def unit(name: str) -> str:
    """The unit in which `figure` prints a metric."""
    own = (METRICS | JOB_METRICS)[name].unit if name in METRICS or name in JOB_METRICS else ""
    return _SHORT_UNIT.get(own, own)


def figure(name: str, value: float) -> str:
    """A value of a metric in `unit(name)`: `12.3`, or `-` when there is none."""
    if not math.isfinite(value):
        return "-"
    return format_number(value * 100.0 if unit(name) == "%" else value)


def bound(name: str, estimate: Estimate) -> str:
    """In short: `12.3`; `>=11.9` where the sample does not bound it from above, `~12.3` where on no side."""
    if estimate.n == 0:
        return "-"
    if estimate.hi is not None and estimate.lo is not None:
        return figure(name, estimate.value)
    if estimate.hi is None and estimate.lo is not None:
        return f">={figure(name, estimate.lo)}"
    return f"~{figure(name, estimate.value)}"


def tail(name: str, quantile: Estimate, p50: Estimate) -> str:
    """A quantile above the median in short, as `bound`: it is no less than the median either."""
    if quantile.n and quantile.hi is None and quantile.lo is not None and p50.known:
        return f">={figure(name, max(quantile.lo, p50.value))}"
    return bound(name, quantile)


def median(name: str, estimate: Estimate) -> str:
    """A median in short: also where its interval is open, unless it lies among what timed out."""
    return figure(name, estimate.value) if estimate.n and estimate.known else bound(name, estimate)


def median_interval(name: str, estimate: Estimate) -> str:
    """`11.9 to 12.8`, with `?` for an end that the sample does not bound; nothing without a known median."""
    if not (estimate.n and estimate.known):
        return ""
    lo, hi = ("?" if end is None else figure(name, end) for end in (estimate.lo, estimate.hi))
    return f"{lo} to {hi}"


def interval(name: str, estimate: Estimate) -> str:
    """`11.9 to 12.8`, or nothing where there is none."""
    if estimate.lo is None or estimate.hi is None:
        return ""
    return f"{figure(name, estimate.lo)} to {figure(name, estimate.hi)}"


def samples_word(name: str) -> str:
    """What the samples of a metric are."""
    if name == "itl_ms":
        return "tokens"
    if name in JOB_METRICS:
        return "jobs"
    return "gaps" if METRICS[name].pooled else "requests"


def load_words(load: dict[str, Any]) -> str:
    """The load of a run in one line: how requests arrive, for how long, within which limits."""
    arrival = load.get("arrival") or {}
    unit = "jobs" if load.get("jobs") else "requests"
    parts = [arrival_words(arrival, unit)]
    if load.get("concurrency_cap"):
        going_on = "jobs at a time" if unit == "jobs" else "in flight"
        parts.append(f"at most {load['concurrency_cap']} {going_on}")
    length = _length_words(load)
    if length:
        parts.append(length)
    warmup = _warmup_words(load)
    if warmup:
        parts.append(warmup)
    return ", ".join(parts)


def arrival_words(arrival: dict[str, Any], unit: str = "requests") -> str:
    """How requests, or jobs, arrive."""
    kind = arrival.get("kind")
    rate = f"{arrival.get('rate_requests_s', 0):g} {unit}/s"
    if kind == "closed":
        going_on = "jobs at a time" if unit == "jobs" else "in flight"
        if unit == "jobs" and arrival.get("concurrency") == 1:
            return "closed loop, one job at a time"
        return f"closed loop, {arrival.get('concurrency', '?')} {going_on}"
    if kind == "live":
        return "live, as clients sent them"
    if kind == "replay":
        return f"replay, {unit} at the instants of the trace"
    if kind == "constant":
        return f"open loop, {rate}, evenly spaced"
    if kind == "poisson":
        return f"open loop, {rate}, Poisson"
    if kind == "gamma":
        return f"open loop, {rate}, gamma gaps of shape {arrival.get('burstiness', 1):g}"
    if kind == "ramp":
        return (
            f"open loop, ramp from {arrival.get('from_requests_s', 0):g} to "
            f"{arrival.get('to_requests_s', 0):g} {unit}/s"
        )
    return "load unknown"


def _length_words(load: dict[str, Any]) -> str:
    parts = []
    unit = "jobs" if load.get("jobs") else "requests"
    if load.get("requests"):
        parts.append(f"{load['requests']:,} {unit}")
    if load.get("duration_ns"):
        parts.append(f"{load['duration_ns'] / 1e9:g} s")
    return " or ".join(parts)


def _warmup_words(load: dict[str, Any]) -> str:
    if load.get("warmup_requests"):
        return f"after {load['warmup_requests']:,} warm-up {'jobs' if load.get('jobs') else 'requests'}"
    if load.get("warmup_ns"):
        return f"after {load['warmup_ns'] / 1e9:g} s of warm-up"
    return ""


def is_open_loop(load: Mapping[str, Any]) -> bool:
    """Whether requests arrive by a schedule, whatever the endpoint does."""
    return (load.get("arrival") or {}).get("kind", "closed") not in ("closed", "live")


def is_live(load: Mapping[str, Any]) -> bool:
    """Whether the requests are a gateway's own traffic, and nobody's load."""
    return (load.get("arrival") or {}).get("kind") == "live"


_ROWS = {"conversation": "conversations", "log": "logged requests"}


def offer_name(workload: Mapping[str, Any]) -> str | None:
    """The offer that a gateway's own traffic went to; None of any other run."""
    live = workload.get("live")
    name = live.get("offer") if isinstance(live, dict) else None
    return name if isinstance(name, str) and name else None


def offer_words(workload: Mapping[str, Any]) -> str:
    """Whose offer it is: `provider local, tier standard`."""
    return ", ".join(f"{name} {workload[name]}" for name in ("provider", "tier") if workload.get(name))


def offer_rows(workload: Mapping[str, Any], label: str) -> list[tuple[str, str]]:
    """The line that names a live run's offer, under `label`; none of any other run."""
    offer = offer_name(workload)
    return [(label, f"{offer}, {offer_words(workload)}")] if offer else []


def workload_words(workload: dict[str, Any], protocol: str = "") -> str:
    """What the requests, or jobs, look like, in one line; embeddings have no answers to speak of."""
    parts = [str(workload["name"])] if workload.get("name") else []
    if workload.get("call"):
        return ", ".join([*parts, *_calls_words(workload)])
    if probe := workload.get("probe"):
        return ", ".join([*parts, *_probe_words(probe, workload)])
    for origin in ("data", "trace"):
        if file := workload.get(origin):
            what = _ROWS.get(file.get("rows") or "", "prompts")
            return ", ".join([*parts, f"{what} of the {origin} in {file.get('path', '?')}"])
    # Without a tokenizer the length of a text is an estimate; an answer's is the server's own count.
    about = "about " if workload.get("tokenizer") in (None, "approximate") else ""
    if workload.get("prompt_tokens"):
        parts.append(f"prompts of {about}{workload['prompt_tokens']} tokens")
    if protocol == "openai-embeddings":
        pass
    elif workload.get("output_tokens"):
        parts.append(f"answers of {workload['output_tokens']} tokens")
    elif workload.get("max_tokens"):
        parts.append(f"answers of at most {workload['max_tokens']} tokens")
    return ", ".join([*parts, *_beginning_words(workload)])


def _probe_words(probe: dict[str, Any], workload: dict[str, Any]) -> list[str]:
    families = [str(name) for name in probe.get("families") or ()]
    kinds = families[0] if len(families) == 1 else f"{len(families)} families"
    limit = f"answers of at most {workload['max_tokens']} tokens" if workload.get("max_tokens") else ""
    return [part for part in (f"{probe.get('items')} problems of {kinds}", limit) if part]


def _beginning_words(workload: dict[str, Any]) -> list[str]:
    """What prompts have in common, and whether answers are streamed."""
    about = "about " if workload.get("tokenizer") in (None, "approximate") else ""
    shared, common = workload.get("shared_prefix_tokens"), workload.get("cached_share")
    parts = []
    if shared:
        parts.append(f"{about}{shared} shared tokens before each prompt")
    elif common:
        parts.append(f"{100 * common:g}% of each prompt common to all")
    elif workload.get("unique_prefix"):
        parts.append("no common beginning")
    if workload.get("streaming") is False:
        parts.append("not streaming")
    return parts


def _calls_words(workload: dict[str, Any]) -> list[str]:
    """`jobs of plan, 30 x step and answer`."""
    calls = []
    for call in workload["call"]:
        repeat = str(call.get("repeat", "1"))
        calls.append(str(call.get("name", "call")) if repeat == "1" else f"{repeat} x {call.get('name')}")
    return [f"jobs of {sentence_list(calls)}", *_beginning_words(workload)]


def share(n: int, of: int) -> str:
    """`96%`, `99.7%`; never `100%` or `0%` of what is not all or nothing."""
    percent = 100.0 * n / of if of else 0.0
    if n in (0, of):
        return f"{percent:.0f}%"
    for digits in (0, 1, 2, 3, 4):
        text = f"{percent:.{digits}f}"
        if 0.0 < float(text) < 100.0 and (digits > 0 or 1.0 <= percent < 99.0):
            break
    return f"{text}%"


def sentence_list(parts: list[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} and {parts[-1]}"

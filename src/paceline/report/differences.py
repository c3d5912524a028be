"""What else than the endpoint differs between two runs, in words."""

from typing import Any

from paceline.report.imported import imported_from
from paceline.report.model import Report
from paceline.report.words import arrival_words
from paceline.units import format_duration_ns

# Of what must be alike for a comparison to say something of the endpoints alone.
_LOAD = {
    "concurrency_cap": "cap of requests in flight",
    "new_connections": "new connections",
    "requests": "requests",
    "duration_ns": "duration",
}
_WORKLOAD = (
    "prompt_tokens",
    "output_tokens",
    "max_tokens",
    "shared_prefix_tokens",
    "unique_prefix",
    "cached_share",
    "exact_output",
    "call",
    "data",
    "trace",
    "system",
    "temperature",
    "streaming",
    "extra",
)
_LONGEST = 40
FROM_SENT = (
    "one run is an open loop and the other a closed one, in which no request is due at an instant: "
    "TTFT and E2E count from when a request was sent in both, without what it waited to be sent"
)


def interleaved(a: Report, b: Report) -> bool:
    """Whether the two were measured in turn, with each other."""
    of_a, of_b = (report.manifest.load.get("interleaved") or {} for report in (a, b))
    return bool(of_a and of_b and of_a.get("with") == b.manifest.id and of_b.get("with") == a.manifest.id)


def differences(a: Report, b: Report) -> list[str]:
    """One sentence for each kind of difference."""
    found = []
    unlike = {"load": _load(a.manifest.load, b.manifest.load)}
    unlike["workload"] = _unlike(
        {key: key.replace("_", " ") for key in _WORKLOAD}, a.manifest.workload, b.manifest.workload
    )
    for what, parts in unlike.items():
        if parts:
            found.append(
                f"the {what} is not the same ({', '.join(parts)}): part of any difference may be its doing"
            )
    if a.evidence.open_loop != b.evidence.open_loop:
        found.append(FROM_SENT)
    tools = [imported_from(report.manifest) for report in (a, b)]
    if tools[0] != tools[1]:
        named = [tool or "Paceline" for tool in tools]
        found.append(
            f"measured by different tools, {named[0]} and {named[1]}: part of any difference may be their "
            "definitions and their lateness (`paceline show RUN --as TOOL`)"
        )
    if a.manifest.host != b.manifest.host:
        found.append("the two were not measured on the same machine with the same cores")
    if a.manifest.version != b.manifest.version:
        found.append(f"measured by different versions, {a.manifest.version} and {b.manifest.version}")
    if not interleaved(a, b):
        found.append("not measured in turn: what changed between the two runs counts as a difference")
    return found


def _load(a: dict[str, Any], b: dict[str, Any]) -> list[str]:
    unit = "jobs" if a.get("jobs") and b.get("jobs") else "requests"
    return _arrival(a.get("arrival") or {}, b.get("arrival") or {}, unit) + _unlike(_LOAD, a, b)


def _arrival(a: dict[str, Any], b: dict[str, Any], unit: str) -> list[str]:
    if a == b:
        return []
    if a.get("kind") == b.get("kind") == "closed":
        return [f"concurrency {a.get('concurrency')} against {b.get('concurrency')}"]
    return [f"{arrival_words(a, unit)} against {arrival_words(b, unit)}"]


def _given(document: dict[str, Any], key: str) -> Any:
    """A setting that says nothing is none: runs from before it was there are like those that leave it out."""
    return document.get(key) or None


def _unlike(names: dict[str, str], a: dict[str, Any], b: dict[str, Any]) -> list[str]:
    return [
        f"{words} {_value(key, a.get(key))} against {_value(key, b.get(key))}"
        if _short(a.get(key)) and _short(b.get(key))
        else words
        for key, words in names.items()
        if _given(a, key) != _given(b, key)
    ]


def _short(value: object) -> bool:
    return not isinstance(value, dict | list) and len(str(value)) <= _LONGEST


def _value(key: str, value: object) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "on" if value else "off"
    if key == "duration_ns" and isinstance(value, int):
        return format_duration_ns(value)
    return f"{value:,}" if isinstance(value, int) else str(value)

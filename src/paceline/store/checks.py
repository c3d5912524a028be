"""What the free-form parts of a manifest must hold, since reports calculate with them.

Each check raises ValueError that names the field. Keys that are not known are let be: a later version may
have added them.
"""

import math
from collections.abc import Sequence
from typing import Any

_MOST = 2**63 - 1
_NEEDED = ("segment", "origin_ns", "elapsed_ns")
_COUNTS = (
    *("planned", "started", "finished", "in_flight", "dropped", "starved", "resent", "token_events"),
    *("reads", "bytes_received", "cpu_ns", "runqueue_wait_ns", "stalled_ns", "threads"),
)
_ARRIVAL = ("concurrency", "rate_requests_s", "from_requests_s", "to_requests_s")
_LOAD_COUNTS = ("requests", "duration_ns", "warmup_requests", "warmup_ns", "timeout_ns")
_LAGS = ("schedule_lag_ns", "read_lag_ns")
_ERRORS = ("instrument_error_us", "itl_error_us", "e2e_error_us")


def check_segments(segments: Sequence[dict[str, Any]]) -> None:
    """Each is the last progress object of one start of the load generator."""
    for place, segment in enumerate(segments):
        for name in _NEEDED:
            _whole(segment.get(name), f"segments[{place}].{name}")
        for name in _COUNTS:
            if segment.get(name) is not None:
                _whole(segment[name], f"segments[{place}].{name}")
        for name in _LAGS:
            if segment.get(name) is not None:
                _quantiles(segment[name], f"segments[{place}].{name}")


def check_load(load: dict[str, Any]) -> None:
    """How requests arrive, and how many."""
    arrival = _object(load.get("arrival"), "arrival")
    if not isinstance(arrival.get("kind", ""), str):
        raise ValueError(f"arrival.kind is {_shown(arrival['kind'])}, not a text")
    for name in _ARRIVAL:
        if arrival.get(name) is not None:
            _number(arrival[name], f"arrival.{name}")
    for name in _LOAD_COUNTS:
        if load.get(name) is not None:
            _whole(load[name], name)


def check_workload(workload: dict[str, Any]) -> None:
    """The parts of it that tell what a run is evidence of."""
    for name in ("extra", "probe", "live"):
        _object(workload.get(name), name)


def check_slo(slo: dict[str, Any]) -> None:
    """Metric -> limit."""
    if not slo:
        return
    from paceline.stats.metrics import METRICS

    for name, limit in slo.items():
        if name not in METRICS:
            raise ValueError(f"{name!r} is no metric")
        _number(limit, name)
        if limit <= 0:
            raise ValueError(f"{name} is {limit}, not more than 0")


def check_calibration(calibration: dict[str, Any]) -> None:
    """The instrument's error, as p50 and p99, in microseconds."""
    for name in _ERRORS:
        if calibration.get(name) is not None:
            _quantiles(calibration[name], name)


def check_imported(imported: dict[str, Any]) -> None:
    """Which tool measured, what its file lacks (`lacks`, `hidden`), and its own figures."""
    if not isinstance(imported.get("tool"), str):
        raise ValueError("tool is no text")
    for name in ("lacks", "hidden"):
        found = imported.get(name, [])
        if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
            raise ValueError(f"{name} is no list of texts")
    figures = imported.get("figures", {})
    if not isinstance(figures, dict):
        raise ValueError("figures is no object")
    for metric, figure in figures.items():
        if not isinstance(figure, dict):
            raise ValueError(f"figures.{metric} is no object")
        for key, value in figure.items():
            if value is not None:
                _number(value, f"figures.{metric}.{key}")


def _object(value: Any, where: str) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ValueError(f"{where} is {_shown(value)}, not an object")
    return value


def _quantiles(value: Any, where: str) -> None:
    if not isinstance(value, dict):
        raise ValueError(f"{where} holds no p50 and p99")
    for name in ("p50", "p99"):
        _number(value.get(name), f"{where}.{name}")


def _whole(value: Any, where: str) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _MOST:
        raise ValueError(f"{where} is {_shown(value)}, not a whole number from 0 to 2^63 - 1")


def _number(value: Any, where: str) -> None:
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        raise ValueError(f"{where} is {_shown(value)}, not a number")


def _shown(value: Any) -> str:
    return "missing" if value is None else repr(value)[:40]

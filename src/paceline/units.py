"""Parse what people type (`30s`, `5%`, `20`) and write what people read (`1.25 ms`, `3.4 MiB`)."""

import math
import re
from dataclasses import dataclass

from paceline.errors import UsageError

_NS_PER_UNIT = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "μs": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "min": 60_000_000_000,
    "h": 3_600_000_000_000,
}
_NUMBER = r"(?:\d+(?:\.\d*)?|\.\d+)"
_PART = re.compile(rf"({_NUMBER})\s*(ns|us|µs|μs|ms|min|s|m|h)", re.ASCII)
_DURATION_HINT = "write a number and a unit: 500ms, 30s, 2m, 1h or 1h30m"
# A longer run is a mistake in the unit, and i64 nanoseconds must hold it.
_MAX_DURATION_NS = 366 * 24 * 3_600_000_000_000


@dataclass(frozen=True)
class Count:
    """So many of something; positive."""

    n: int


@dataclass(frozen=True)
class Duration:
    """A stretch of time in nanoseconds; positive."""

    ns: int


def parse_duration_ns(text: str, what: str = "duration") -> int:
    """`500ms`, `30s`, `2m`, `1h30m` -> nanoseconds, positive; `what` names the option in an error.

    Raises UsageError for anything else, a bare number included: its unit would be a guess.
    """
    wanted = text.strip()
    position = 0
    total_ns = 0.0
    while position < len(wanted):
        part = _PART.match(wanted, position)
        if part is None:
            raise UsageError(f"{what}: {text!r} is not a duration", _unit_hint(wanted))
        total_ns += float(part.group(1)) * _NS_PER_UNIT[part.group(2)]
        position = part.end()
    if not wanted:
        raise UsageError(f"{what}: a duration is missing", _DURATION_HINT)
    if total_ns > _MAX_DURATION_NS:
        raise UsageError(f"{what}: {text!r} is longer than a year", _DURATION_HINT)
    whole_ns = round(total_ns)
    if whole_ns < 1:
        raise UsageError(f"{what}: {text!r} is not positive", _DURATION_HINT)
    return whole_ns


def _unit_hint(wanted: str) -> str:
    """For a bare number what was probably meant."""
    if re.fullmatch(_NUMBER, wanted, re.ASCII):
        return f"write {wanted}s for seconds; units are ms, s, m and h, as in 500ms or 1h30m"
    return _DURATION_HINT


def parse_percentage(text: str, what: str = "percentage") -> float:
    """`5%` -> 0.05. Between 0% and 100%; the sign is required, since 0.05 and 5 are easily confused."""
    hint = "write a percentage between 0% and 100%, with its sign: 5%"
    match = re.fullmatch(rf"({_NUMBER})\s*%", text.strip(), re.ASCII)
    if match is None:
        raise UsageError(f"{what}: {text!r} is not a percentage", hint)
    fraction = float(match.group(1)) / 100
    if fraction > 1:
        raise UsageError(f"{what}: {text!r} is more than 100%", hint)
    return fraction


def parse_count(text: str, what: str = "count") -> int:
    """`20`, `1_000`, `2k`, `1M` -> a positive integer."""
    hint = "write a whole number above 0: 20, 1000 or 2k"
    match = re.fullmatch(r"(\d[\d_]*)([kKM]?)", text.strip(), re.ASCII)
    if match is None:
        raise UsageError(f"{what}: {text!r} is not a count", hint)
    factor = {"": 1, "k": 1_000, "K": 1_000, "M": 1_000_000}[match.group(2)]
    n = int(match.group(1).replace("_", "")) * factor
    if n < 1:
        raise UsageError(f"{what}: {text!r} is not positive", hint)
    return n


def parse_count_or_duration(text: str, what: str = "amount") -> Count | Duration:
    """`20` -> Count(20), `10s` -> Duration(10_000_000_000). `2m` is two minutes, never two million."""
    wanted = text.strip()
    if re.fullmatch(r"\d[\d_]*", wanted, re.ASCII):
        return Count(parse_count(wanted, what))
    try:
        return Duration(parse_duration_ns(wanted, what))
    except UsageError as error:
        if _PART.match(wanted):
            raise
        raise UsageError(
            f"{what}: {text!r} is neither a count nor a duration",
            "write a number of requests (20) or a duration with its unit (10s)",
        ) from error


def format_duration_ns(ns: float) -> str:
    """Nanoseconds for people: `850 ns`, `12.3 us`, `1.25 ms`, `3.40 s`, `2 min 5 s`, `1 h 2 min`."""
    if not math.isfinite(ns):
        return "-"
    if ns < 0:
        return "-" + format_duration_ns(-ns)
    if ns < 999.5:
        return f"{ns:.0f} ns"
    for limit_ns, unit_ns, unit in ((999.5e3, 1e3, "us"), (999.5e6, 1e6, "ms"), (60e9, 1e9, "s")):
        if ns < limit_ns:
            return f"{_three_digits(ns / unit_ns)} {unit}"
    seconds = round(ns / 1e9)
    if seconds < 3600:
        return _pair(seconds // 60, "min", seconds % 60, "s")
    return _pair(seconds // 3600, "h", seconds % 3600 // 60, "min")


def format_ms(value_ms: float) -> str:
    """Milliseconds for people, in the unit that fits."""
    return format_duration_ns(value_ms * 1e6)


def format_rate(per_second: float, unit: str = "tok/s") -> str:
    """`0.52 tok/s`, `64.1 tok/s`, `12,345 tok/s`."""
    if not math.isfinite(per_second):
        return "-"
    return f"{format_number(per_second)} {unit}"


def format_bytes(n_bytes: float) -> str:
    """`512 B`, `1.50 KiB`, `3.40 GiB`."""
    if not math.isfinite(n_bytes):
        return "-"
    if abs(n_bytes) < 1024:
        return f"{n_bytes:.0f} B"
    value = float(n_bytes)
    for unit in ("KiB", "MiB", "GiB"):
        value /= 1024
        if abs(value) < 1023.5:
            return f"{_three_digits(value)} {unit}"
    return f"{_three_digits(value / 1024)} TiB"


def format_percentage(fraction: float) -> str:
    """0.0512 -> `5.1%`."""
    if not math.isfinite(fraction):
        return "-"
    percent = fraction * 100
    return f"{percent:.0f}%" if abs(percent) >= 99.5 or percent == 0 else f"{percent:.2g}%"


def format_number(value: float) -> str:
    """Three significant digits below 1000, thousands separators from there."""
    if not math.isfinite(value):
        return "-"
    return f"{value:,.0f}" if abs(value) >= 999.5 else _three_digits(value)


def _three_digits(value: float) -> str:
    size = abs(value)
    if size >= 99.95:
        return f"{value:.0f}"
    return f"{value:.1f}" if size >= 9.995 else f"{value:.2f}"


def _pair(major: int, major_unit: str, minor: int, minor_unit: str) -> str:
    return f"{major} {major_unit} {minor} {minor_unit}" if minor else f"{major} {major_unit}"

"""The last level of cache that cores share, as the kernel tells of it."""

import os
from contextlib import suppress
from pathlib import Path

_CPUS = Path("/sys/devices/system/cpu")
_UNITS = {"K": 1024, "M": 1024**2, "G": 1024**3}


def last_level_bytes(cpus: Path = _CPUS, allowed: frozenset[int] | None = None) -> int:
    """Bytes of all last-level caches of the cores that this process may run on; 0 where it is not told.

    A cache that several of them share counts once. `allowed`: their numbers, by the process's affinity.
    """
    found: dict[str, int] = {}
    for number in os.sched_getaffinity(0) if allowed is None else allowed:
        last = _last_level(cpus / f"cpu{number}" / "cache")
        if last is not None:
            shared = _read(last / "shared_cpu_list") or str(number)
            found[f"{_read(last / 'level')} of {shared}"] = _bytes(_read(last / "size"))
    return sum(found.values())


def _last_level(caches: Path) -> Path | None:
    """The folder of a core's cache that is nearest to memory."""
    of_data = [one for one in caches.glob("index*") if _read(one / "type") in ("Unified", "Data")]
    told = [one for one in of_data if _read(one / "level").isdecimal()]
    return max(told, key=lambda one: int(_read(one / "level")), default=None)


def _bytes(size: str) -> int:
    digits, unit = size[:-1], size[-1:]
    if size.isdecimal():
        return int(size)
    return int(digits) * _UNITS[unit] if digits.isdecimal() and unit in _UNITS else 0


def _read(path: Path) -> str:
    with suppress(OSError):
        return path.read_text(errors="replace").strip()
    return ""

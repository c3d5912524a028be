"""Cores and memory that this process may use: the machine's, within its control groups (version 1 and 2)."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_PROC = Path("/proc")
_GROUPS = Path("/sys/fs/cgroup")


def cores(proc: Path = _PROC, groups: Path = _GROUPS, allowed: int | None = None) -> int:
    """Cores that this process may run on at once, at least 1; `allowed`: by its affinity.

    A quota of processor time counts in whole cores, rounded down: threads that wait for each other at every
    step, as an engine's do, are stopped together when the quota is used up.
    """
    most = len(os.sched_getaffinity(0)) if allowed is None else allowed
    quotas = [quota for folder in _folders(proc, groups, "cpu") if (quota := _quota(folder)) is not None]
    return max(1, min([most, *(int(quota) for quota in quotas)]))


def memory(proc: Path = _PROC, groups: Path = _GROUPS) -> tuple[int, int]:
    """Bytes in all, and bytes that are free or can be freed at once (file cache counts as free)."""
    total, free = _machine_memory(proc)
    for folder in _folders(proc, groups, "memory"):
        limit, left = _memory_limit(folder)
        total, free = min(total, limit), min(free, left)
    return total, max(0, free)


def _machine_memory(proc: Path) -> tuple[int, int]:
    lines = _read(proc / "meminfo").splitlines()
    kib = {
        name: _whole(value.split()[0]) for name, _, value in (one.partition(":") for one in lines) if value
    }
    total, free = kib.get("MemTotal"), kib.get("MemAvailable", kib.get("MemFree"))
    if total is None or free is None:
        page_bytes = os.sysconf("SC_PAGE_SIZE")
        return page_bytes * os.sysconf("SC_PHYS_PAGES"), page_bytes * os.sysconf("SC_AVPHYS_PAGES")
    return total * 1024, free * 1024


def _memory_limit(folder: Path) -> tuple[int, int]:
    """The limit of one group and what is left of it; a group without a limit has no end."""
    for names, used_name, cache_name in (
        (("memory.max", "memory.high"), "memory.current", "inactive_file"),
        (("memory.limit_in_bytes",), "memory.usage_in_bytes", "total_inactive_file"),
    ):
        limits = [limit for name in names if (limit := _whole(_read(folder / name))) is not None]
        if limits:
            used = _whole(_read(folder / used_name)) or 0
            return min(limits), min(limits) - used + _cache_bytes(folder, cache_name)
    return _NO_LIMIT, _NO_LIMIT


# Beyond any memory; version 1 says about this much where there is no limit.
_NO_LIMIT = 1 << 63


def _cache_bytes(folder: Path, name: str) -> int:
    """File cache that the group counts as used, and gives up when it needs room."""
    for line in _read(folder / "memory.stat").splitlines():
        key, _, value = line.partition(" ")
        if key == name:
            return _whole(value) or 0
    return 0


def _quota(folder: Path) -> float | None:
    """Processors' worth of time; None without a limit."""
    quota, _, period = _read(folder / "cpu.max").partition(" ")
    if not quota:
        quota, period = _read(folder / "cpu.cfs_quota_us"), _read(folder / "cpu.cfs_period_us")
    share, span = _whole(quota), _whole(period)
    return share / span if share is not None and span and share > 0 else None


def _folders(proc: Path, groups: Path, controller: str) -> Iterator[Path]:
    """Every folder that limits this process: its group and the groups above it.

    Inside a container the path that the kernel names may lie outside of what is mounted: the root of the
    mount is then the container's own group.
    """
    for line in _read(proc / "self" / "cgroup").splitlines():
        _, _, rest = line.partition(":")
        names, _, path = rest.partition(":")
        if names and controller not in names.split(","):
            continue
        roots = (groups / controller,) if names else (groups, groups / "unified")
        for root in roots:
            group = Path(path.lstrip("/"))
            yield root / group
            yield from (root / above for above in group.parents)


def _read(path: Path) -> str:
    with suppress(OSError):
        return path.read_text(errors="replace").strip()
    return ""


def _whole(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        return None

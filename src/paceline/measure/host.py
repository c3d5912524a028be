"""The machine that measures: what a stored run says of it, and how a calibration knows it again."""

import hashlib
import os
import platform
import sys
from pathlib import Path
from typing import Any

from paceline import __version__


def describe_host() -> dict[str, Any]:
    """CPU, cores that this process may use, kernel, Python and platform."""
    return {
        "cpu": _cpu_model(),
        "cores": len(os.sched_getaffinity(0)),
        "kernel": platform.release(),
        "python": ".".join(str(part) for part in sys.version_info[:3]),
        "platform": f"{platform.system()}-{platform.machine()}",
    }


def fingerprint() -> str:
    """Sixteen hex digits that stay the same on one machine, and tell nothing about it."""
    machine = _read("/etc/machine-id") or platform.node()
    return hashlib.sha256(f"paceline\0{machine}\0{_cpu_model()}".encode()).hexdigest()[:16]


def instrument() -> dict[str, Any]:
    """What a calibration depends on: it is stale when any of these has changed."""
    host = describe_host()
    return {"version": __version__, "kernel": host["kernel"], "cpu": host["cpu"], "cores": host["cores"]}


def _cpu_model() -> str:
    for line in _read("/proc/cpuinfo").splitlines():
        name, _, value = line.partition(":")
        if name.strip() in ("model name", "Model", "cpu model"):
            return value.strip()
    return platform.processor() or platform.machine()


def _read(path: str) -> str:
    try:
        return Path(path).read_text(errors="replace").strip()
    except OSError:
        return ""

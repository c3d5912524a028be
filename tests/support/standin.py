"""Plans that start the stand-in engine, and what its tests have to see."""

import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import cast

from paceline.engines.engine import Adapter, Address, Command, Failure, Installed
from paceline.engines.plan import LaunchPlan
from paceline.engines.processes import MARK, PROC, process

STANDIN = Path(__file__).parent / "standins" / "engine.py"
BEGIN = [sys.executable, "-I", "-S", str(STANDIN)]
# Long enough for a machine under load, and only ever waited for by a test that fails.
PATIENCE_S = 60.0


class StandIn:
    """The part of an adapter that a start needs. Two failures are known by the log."""

    name = "llama.cpp"
    base_path = ""
    health_path = "/health"
    ready_timeout_s = PATIENCE_S

    def failure(self, log_tail: str, exit_code: int | None) -> Failure | None:
        if "no such model" in log_tail:
            return Failure("the model\x1b[31m is not there", "give another", lasting=True)
        if "memory is short" in log_tail:
            return Failure("memory is short", "wait", lasting=False)
        return None


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def plan(*options: str, port: int | None = None, environment: dict[str, str] | None = None) -> LaunchPlan:
    """A start of the stand-in with these options."""
    address = Address("127.0.0.1", port or free_port())
    argv = (*BEGIN, "--port", str(address.port), *options)
    return LaunchPlan(
        adapter=cast(Adapter, StandIn()),
        installed=Installed("llama.cpp", tuple(BEGIN), "given"),
        model="stand-in",
        served_name="stand-in",
        tier="standard",
        address=address,
        settings={},
        why={},
        command=Command(argv, environment or {}),
        facts=None,
        needs_bytes=None,
    )


def marked(mark: str | None = None, *, under: int | None = None) -> list[int]:
    """Living processes that inherited an engine's mark: this one, or any that was given below a process."""
    wanted = f"{MARK}={mark}" if mark else f"{MARK}="
    found = []
    for name in os.listdir(PROC):  # noqa: PTH208
        if not name.isdecimal() or int(name) == os.getpid():
            continue
        try:
            environment = (PROC / name / "environ").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        now = process(int(name))
        if now and not now.ended and any(one.startswith(wanted) for one in environment):
            found.append(int(name))
    return found


def living(pids: Iterable[int]) -> list[int]:
    """Which of them have not ended."""
    return [pid for pid in pids if (now := process(pid)) is not None and not now.ended]


def until(what: Callable[[], bool], why: str) -> None:
    """Wait until something is so."""
    end = time.monotonic() + PATIENCE_S
    while not what():
        assert time.monotonic() < end, why
        time.sleep(0.02)


def is_free(port: int) -> bool:
    """Whether a server may listen on a port."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
            probe.listen(1)
        except OSError:
            return False
    return True


def said_pids(log: Path, name: str) -> list[int]:
    """Processes that the stand-in's children said they are."""
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    return [int(line.rpartition(" ")[2]) for line in lines if line.startswith(f"{name} ")]


def kill(pid: int, number: int = signal.SIGKILL) -> None:
    os.kill(pid, number)

"""Processes of this machine, as /proc tells of them: who descends from whom, and who bears a mark.

The guardian runs this too: nothing but the standard library is imported.
"""

import os
import signal
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
# In the environment of an engine and of all that it starts: an id of its own.
MARK = "PACELINE_ENGINE"
_PAUSE_S = 0.02


@dataclass(frozen=True, slots=True)
class Process:
    """One process. started: clock ticks since boot, so that an id that is used again is another process."""

    pid: int
    parent: int
    group: int
    session: int
    started: int
    state: str
    threads: int = 1

    @property
    def ended(self) -> bool:
        """It has ended, and only its parent has not looked yet.

        The first thread may have ended before the others, which hold ports and memory still.
        """
        return self.state in "ZX" and self.threads <= 1


def process(pid: int) -> Process | None:
    """What /proc says of a process; None where there is none."""
    try:
        text = (PROC / str(pid) / "stat").read_text(errors="replace")
    except OSError:
        return None
    # The name, in brackets, may hold anything.
    fields = text.rpartition(")")[2].split()
    try:
        parent, group, session = (int(field) for field in fields[1:4])
        return Process(pid, parent, group, session, int(fields[19]), fields[0], int(fields[17]))
    except (IndexError, ValueError):
        return None


def processes() -> list[Process]:
    """All that there are now; none where /proc does not tell."""
    try:
        names = os.listdir(PROC)  # noqa: PTH208
    except OSError:
        return []
    found = (process(int(name)) for name in names if name.isdecimal())
    return [one for one in found if one is not None]


def command_name(pid: int) -> str:
    """What it was started as, without arguments, which may hold secrets; empty where /proc does not tell."""
    with suppress(OSError):
        first = (PROC / str(pid) / "cmdline").read_bytes().split(b"\0")[0]
        if first:
            return Path(first.decode(errors="replace")).name
    with suppress(OSError):
        return (PROC / str(pid) / "comm").read_text(errors="replace").strip()
    return ""


def descendants(roots: Iterable[int], among: Iterable[Process]) -> list[Process]:
    """Children of the roots, their children, and so on; without the roots."""
    children: dict[int, list[Process]] = {}
    for one in among:
        children.setdefault(one.parent, []).append(one)
    found: dict[int, Process] = {}
    waiting = list(roots)
    while waiting:
        for child in children.get(waiting.pop(), ()):
            if child.pid not in found:
                found[child.pid] = child
                waiting.append(child.pid)
    return list(found.values())


def bears(pid: int, mark: str) -> bool:
    """Whether a process inherited this id of an engine. One that rewrote its environment shows nothing."""
    wanted = f"{MARK}={mark}".encode()
    try:
        return wanted in (PROC / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:
        return False


def belonging(mark: str, roots: Iterable[int], known: Iterable[Process] = ()) -> list[Process]:
    """All that belong to an engine, and have not ended: by mark, session or descent.

    roots: engine and guardian, whose sessions count, though they may be gone. known: processes that were seen
    to belong to it, which count where they are the same still.
    """
    among = processes()
    sessions = set(roots)
    seen = {(one.pid, one.started) for one in known}
    heads = [
        one
        for one in among
        if one.session in sessions or (one.pid, one.started) in seen or bears(one.pid, mark)
    ]
    found = {one.pid: one for one in heads}
    found |= {one.pid: one for one in descendants(found, among)}
    return [one for one in found.values() if not one.ended and one.pid != os.getpid()]


def kill(target: Process) -> None:
    """Kill a process and its group, unless it has ended: never another one that has its id since.

    A group is killed at a stroke, so that one that starts others without end cannot run ahead; it is never
    the group of this process.
    """
    now = process(target.pid)
    if now is None or now.started != target.started:
        return
    with suppress(OSError):
        os.kill(now.pid, signal.SIGKILL)
    if now.group != os.getpgrp():
        with suppress(OSError):
            os.killpg(now.group, signal.SIGKILL)


def end_all(
    list_them: Callable[[], list[Process]], wait_s: float, none_left: Callable[[], bool] | None = None
) -> list[Process]:
    """Kill until none is left, those too that they start meanwhile. Returns what withstands for so long.

    none_left: what knows better than an empty list, which one that starts others without end may escape.
    """
    until = time.monotonic() + wait_s
    while True:
        left = list_them()
        for one in left:
            kill(one)
        if none_left() if none_left is not None else not left:
            return []
        if time.monotonic() > until:
            return left
        time.sleep(_PAUSE_S)

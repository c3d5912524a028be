"""A thread that looks at something again and again while a run goes on, and keeps what it saw, bounded."""

import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import pyarrow as pa

from paceline.stats.server_quantities import Kind
from paceline.store.schema import SERVER_SCHEMA

# A run's own thread takes what was kept about once a second.
MOST_KEPT = 20_000
# After so many failures in a row it is asked more and more rarely.
PATIENCE = 3
RAREST_NS = 30_000_000_000


@dataclass(frozen=True, slots=True)
class Reading:
    """One value, as it was between `t_ns - span_ns / 2` and `t_ns + span_ns / 2` on CLOCK_MONOTONIC."""

    t_ns: int
    span_ns: int
    source: str
    name: str
    kind: Kind
    value: float


class LookError(Exception):
    """Nothing could be seen this time; the message says why."""


@dataclass
class Looks:
    """How the looking went. `longest_ns`: the longest one. `lost`: readings for which there was no room."""

    n: int = 0
    failed: int = 0
    lost: int = 0
    longest_ns: int = 0
    cpu_ns: int = 0
    last_failure: str | None = None

    def add(self, other: "Looks") -> None:
        """Take another segment's looks in."""
        self.n, self.failed, self.lost = self.n + other.n, self.failed + other.failed, self.lost + other.lost
        self.longest_ns = max(self.longest_ns, other.longest_ns)
        self.cpu_ns += other.cpu_ns
        self.last_failure = other.last_failure or self.last_failure


class Sampler:
    """As a context manager: looks at once, then every `every_ns`, and once more at the end.

    `look` gives readings or raises LookError; whatever else it raises counts as that. Leaving takes as
    long as the look that goes on, at most `leave_s`; a thread that is stuck is left behind.
    """

    def __init__(self, look: Callable[[], list[Reading]], every_ns: int, *, leave_s: float = 10.0) -> None:
        self._look = look
        self._every_ns = every_ns
        self._leave_s = leave_s
        self._kept: deque[Reading] = deque(maxlen=MOST_KEPT)
        self._ended = threading.Event()
        self._failures = 0
        self.looks = Looks()
        self._thread = threading.Thread(target=self._run, name="paceline-sampler", daemon=True)

    def __enter__(self) -> "Sampler":
        self._once()
        try:
            self._thread.start()
        except RuntimeError as error:
            # No more threads are to be had; the run does without.
            self.looks.failed += 1
            self.looks.last_failure = str(error)
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """Look once more, and no more."""
        self._ended.set()
        if self._thread.ident is not None:
            self._thread.join(self._leave_s)

    def take(self) -> pa.Table:
        """What was seen since the last call, in `SERVER_SCHEMA`."""
        found: list[Reading] = []
        with suppress(IndexError):
            while True:
                found.append(self._kept.popleft())
        columns = {name: [getattr(one, name) for one in found] for name in SERVER_SCHEMA.names}
        return pa.table(columns, schema=SERVER_SCHEMA)

    def _run(self) -> None:
        due_ns = time.monotonic_ns()
        while True:
            wait_ns = min(self._every_ns << max(self._failures - PATIENCE, 0), RAREST_NS)
            # What is missed is left out: looks are never made up for in a bunch.
            due_ns = max(due_ns + max(wait_ns, self._every_ns), time.monotonic_ns())
            if self._ended.wait((due_ns - time.monotonic_ns()) / 1e9):
                break
            self._once()
        if not self._failures:
            self._once()

    def _once(self) -> None:
        before_ns, cpu_ns = time.monotonic_ns(), time.thread_time_ns()
        looks = self.looks
        try:
            found = self._look()
        except Exception as error:
            self._failures += 1
            looks.failed += 1
            looks.last_failure = str(error) if isinstance(error, LookError) else type(error).__name__
        else:
            self._failures = 0
            looks.lost += max(len(self._kept) + len(found) - MOST_KEPT, 0)
            self._kept.extend(found)
        looks.n += 1
        looks.longest_ns = max(looks.longest_ns, time.monotonic_ns() - before_ns)
        looks.cpu_ns += time.thread_time_ns() - cpu_ns

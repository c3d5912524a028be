"""From the gateway's ledger to the store: requests as traffic, attempts as rows of runs, each exactly once.

What was followed is what the traffic's parts cover (`store.traffic_parts`). The runs' rows are on the disk
before the part that covers them, and know their place in the ledger: what a crash makes come again is known.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self

import pyarrow as pa

from paceline.control.live_runs import LiveRuns
from paceline.errors import PacelineError
from paceline.store.ledger import Place, read_stretch, segment_path, segments
from paceline.store.paths import home, ledger_folder
from paceline.store.traffic import TrafficWriter, decode
from paceline.store.traffic_parts import UnreadLines
from paceline.store.traffic_schema import TRAFFIC_SCHEMA

PART_EVERY_S = 5.0
PART_ROWS = 20_000
KEEP_S = 24 * 3600.0
# Of the ledger, taken in at one step: of more, Python's collector of garbage walks over all that was read
# again and again (a fifth of the time at 16 MiB). And rows that may wait while nothing can be written.
_STEP_BYTES = 2 * 1024 * 1024
_MOST_PENDING = 100_000
# A reader that listed the parts before a segment was covered still reads that segment.
_READERS_S = 300.0
_TIDY_EVERY_S = 60.0


@dataclass(frozen=True)
class Followed:
    """What one step took in.

    `unread`: lines, or attempts, that could not be read, also of steps before that failed. `more`: there is
    more, so come again at once.
    """

    lines: int = 0
    bytes: int = 0
    unread: UnreadLines = field(default_factory=UnreadLines)
    more: bool = False


@dataclass
class _Pending:
    """What was read and is not in a part yet."""

    end: Place
    tables: list[pa.Table] = field(default_factory=list)
    rows: int = 0
    unread: UnreadLines = field(default_factory=UnreadLines)

    @property
    def empty(self) -> bool:
        return not self.rows and not self.unread.n


class Follower:
    """The one follower of a home's ledger. Raises StoreError when another process is.

    `part_every_s`, `part_rows`: a part is written when so long has passed, or so many requests have come.
    `keep_s`: a segment that was followed to its end, is not the newest, and was not written to for so long,
    is deleted; one that holds lines that could not be read is kept.
    """

    def __init__(
        self,
        at: Path | None = None,
        *,
        part_every_s: float = PART_EVERY_S,
        part_rows: int = PART_ROWS,
        keep_s: float = KEEP_S,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        where = at or home()
        self._ledger = ledger_folder(where)
        self._part_every_s, self._part_rows, self._keep_s = part_every_s, part_rows, keep_s
        self._clock, self._now = clock, now
        self._traffic = TrafficWriter(where)
        self._runs = LiveRuns(where, clock)
        self._pending = _Pending(self._traffic.end)
        self._written_at_s = self._tidied_at_s = clock()
        # Of steps that failed.
        self._untold = UnreadLines()
        # When each segment was covered whole.
        self._covered_at_s: dict[int, float] = {}

    def step(self) -> Followed:
        """Take in what is new, and write what is due: about once a second.

        Raises StoreError when it cannot be written; nothing is lost, and the next step tries again.
        """
        found = self._take() if self._pending.rows < _MOST_PENDING else Followed()
        waited_s = self._clock() - self._written_at_s
        if self._pending.rows >= self._part_rows or waited_s >= self._part_every_s:
            self.flush()
        if not found.more and self._clock() - self._tidied_at_s >= _TIDY_EVERY_S:
            self._tidied_at_s = self._clock()
            self._runs.tidy(self._now().astimezone(UTC).date().isoformat())
            self._forget_old()
        return replace(found, unread=self._tell())

    def flush(self) -> None:
        """Write all that was taken in. Raises StoreError."""
        self._written_at_s = self._clock()
        if self._pending.empty:
            return
        self._runs.flush()
        table = pa.concat_tables([TRAFFIC_SCHEMA.empty_table(), *self._pending.tables])
        self._traffic.add(table, self._pending.end, self._pending.unread)
        self._pending = _Pending(self._traffic.end)

    def close(self) -> Followed:
        """Take in the rest, write it, and end the runs. Raises StoreError, and lets go all the same."""
        lines = n_bytes = 0
        try:
            while (found := self._take()).lines:
                lines, n_bytes = lines + found.lines, n_bytes + found.bytes
                self.flush()
            self.flush()
        finally:
            try:
                self._runs.close()
            finally:
                self._traffic.close()
        return Followed(lines, n_bytes, self._tell())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.close()
        except PacelineError:
            # The error that ended the block says more.
            if error is None:
                raise

    def _take(self) -> Followed:
        pending = self._pending
        stretch = read_stretch(self._ledger, pending.end, _STEP_BYTES)
        decoded = decode(stretch.lines)
        unread = UnreadLines.of([*decoded.unread, *self._runs.append(decoded.entries, decoded.places)])
        if decoded.table.num_rows:
            pending.tables.append(decoded.table)
        pending.rows += decoded.table.num_rows
        pending.unread += unread
        pending.end = stretch.end
        self._untold += unread
        return Followed(len(stretch.lines), stretch.n_bytes, more=stretch.n_bytes >= _STEP_BYTES // 2)

    def _tell(self) -> UnreadLines:
        untold, self._untold = self._untold, UnreadLines()
        return untold

    def _forget_old(self) -> None:
        """Delete segments that nobody needs any more."""
        now_s, wall_s = self._clock(), self._now().timestamp()
        covered = [number for number in segments(self._ledger)[:-1] if number < self._traffic.end.segment]
        self._covered_at_s = {number: self._covered_at_s.get(number, now_s) for number in covered}
        keep = self._traffic.unread_segments()
        for number in covered:
            path = segment_path(self._ledger, number)
            with suppress(OSError):
                old = wall_s - path.stat().st_mtime >= self._keep_s
                if old and number not in keep and now_s - self._covered_at_s[number] >= _READERS_S:
                    path.unlink()

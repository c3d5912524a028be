"""Keeps jobs ready ahead of the load generator, within bounds. A plain request is a job of one call."""

from collections import deque
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paceline.measure.border import BodySource, LoadHandle
from paceline.measure.sources import first_rows_of_jobs

# Enough that a second of hiccup in Python starves nobody, little enough that no run holds its whole
# workload.
AHEAD_S = 3.0
FIRST_JOBS = 2_000
MOST_JOBS = 65_536
MOST_BYTES = 64 * 1024 * 1024
TAKE_JOBS = 256
TAKE_BYTES = 8 * 1024 * 1024


class Feeder:
    """Pushes jobs of one source into one segment's load generator.

    `limit` is the number of jobs of the segment, None when time or the source ends it. `leftover` are rows
    that an earlier segment had been given and did not begin; they go first. `at_once`: jobs that are begun
    when the clock starts, and so have to be there by then, however long they are. `starts_ns`: when each job
    is to start, ascending, where each has its instant (int64[jobs]).
    """

    def __init__(
        self,
        source: BodySource,
        handle: LoadHandle,
        *,
        limit: int | None = None,
        peak_jobs_s: float | None = None,
        streams: int | None = None,
        leftover: list[pa.RecordBatch] | None = None,
        at_once: int = 1,
        starts_ns: npt.NDArray[np.int64] | None = None,
    ) -> None:
        self._source = source
        self._handle = handle
        self._limit = limit
        self._rate_jobs_s = peak_jobs_s or 0.0
        self._streams = streams or 1
        self._leftover = deque(leftover or [])
        self._at_once = at_once
        self._starts_ns = starts_ns
        self._sent_ahead: deque[tuple[pa.RecordBatch, int]] = deque()
        self._dropped_jobs = 0
        self._pushed = 0
        # Until one was seen, a job is taken to be long: it may be of a million tokens.
        self._bytes_per_job = 2.0 * 1024 * 1024
        self._seen = (0, 0)
        self._closed = False

    @property
    def pushed(self) -> int:
        """Jobs given to the load generator so far."""
        return self._pushed

    @property
    def complete(self) -> bool:
        """All jobs that the segment can need have been pushed."""
        return self._closed

    def fill(self, jobs: int = FIRST_JOBS) -> list[pa.Table]:
        """Before the clock starts: the first jobs. Returns the plan rows that belong to what was made."""
        first = self._push_up_to(1)
        while self._pushed < self._at_once and not self._closed:
            first += self._push_up_to(self._at_once - self._pushed)
        wanted = max(jobs, self._wanted(), 1 + self.due_unpushed(int(AHEAD_S * 1e9)))
        return first + self._push_up_to(min(wanted, MOST_JOBS) - self._pushed)

    def top_up(self, progress: dict[str, Any]) -> list[pa.Table]:
        """While the segment runs: replace what has been taken. Returns the plan rows of what was made."""
        started, elapsed_ns = int(progress["jobs_started"]), int(progress["elapsed_ns"])
        last_started, last_ns = self._seen
        if elapsed_ns > last_ns:
            now_jobs_s = (started - last_started) * 1e9 / (elapsed_ns - last_ns)
            # Falls slowly: a pause of the endpoint must not empty the queue just before its return.
            self._rate_jobs_s = max(now_jobs_s, 0.8 * self._rate_jobs_s)
            self._seen = (started, elapsed_ns)
        self._forget(started)
        queued = self._pushed - started
        # A trace's rate so far says nothing of the burst that comes next.
        soon = min(self.due_unpushed(elapsed_ns + int(AHEAD_S * 1e9)), self._most_jobs() - queued)
        return self._push_up_to(max(self._wanted() - queued, soon))

    def due_unpushed(self, until_ns: int) -> int:
        """Jobs due before `until_ns` after the origin that were not given to the load generator."""
        if self._starts_ns is None:
            return 0
        due = int(np.searchsorted(self._starts_ns, until_ns))
        return max((due if self._limit is None else min(due, self._limit)) - self._pushed, 0)

    def seconds_ahead(self, progress: dict[str, Any]) -> float:
        """How long what is queued lasts at the rate seen so far."""
        if self._closed or self._rate_jobs_s <= 0:
            return float("inf")
        return (self._pushed - int(progress["jobs_started"])) / self._rate_jobs_s

    def unused(self, started: int) -> list[pa.RecordBatch]:
        """What was pushed and not begun when the segment had begun `started` jobs."""
        self._forget(started)
        batches = [batch for batch, _ in self._sent_ahead]
        begun = started - self._dropped_jobs
        if batches and begun > 0:
            batches[0] = batches[0].slice(int(first_rows_of_jobs(batches[0])[begun]))
        return [batch for batch in batches if batch.num_rows] + list(self._leftover)

    def _jobs_at_once(self) -> int:
        return max(1, min(TAKE_JOBS, int(TAKE_BYTES / self._bytes_per_job)))

    def _wanted(self) -> int:
        by_rate = self._rate_jobs_s * AHEAD_S
        return min(int(max(by_rate, 2 * self._streams, TAKE_JOBS)), self._most_jobs())

    def _most_jobs(self) -> int:
        return min(MOST_JOBS, max(1, int(MOST_BYTES / self._bytes_per_job)))

    def _forget(self, started: int) -> None:
        while self._sent_ahead and started - self._dropped_jobs >= self._sent_ahead[0][1]:
            self._dropped_jobs += self._sent_ahead.popleft()[1]

    def _push_up_to(self, jobs: int) -> list[pa.Table]:
        plans = []
        budget = MOST_BYTES
        while jobs > 0 and budget > 0 and not self._closed:
            left = jobs if self._limit is None else min(jobs, self._limit - self._pushed)
            if left > 0:
                batch, plan = self._next(min(left, self._jobs_at_once()))
                if plan is not None:
                    plans.append(plan)
                if batch.num_rows:
                    jobs -= self._push(batch)
                else:
                    self._close()
                budget -= batch.nbytes
            if self._limit is not None and self._pushed >= self._limit:
                self._close()
        return plans

    def _next(self, jobs: int) -> tuple[pa.RecordBatch, pa.Table | None]:
        if not self._leftover:
            return self._source.take(jobs)
        batch = self._leftover.popleft()
        first_rows = first_rows_of_jobs(batch)
        if len(first_rows) > jobs:
            rows = int(first_rows[jobs])
            self._leftover.appendleft(batch.slice(rows))
            batch = batch.slice(0, rows)
        return batch, None

    def _push(self, batch: pa.RecordBatch) -> int:
        """Hands a batch over, and says how many jobs are in it."""
        self._handle.push(batch)
        jobs = len(first_rows_of_jobs(batch))
        self._sent_ahead.append((batch, jobs))
        self._pushed += jobs
        self._bytes_per_job = max(batch.nbytes / jobs, 1.0)
        return jobs

    def _close(self) -> None:
        if not self._closed:
            self._closed = True
            self._handle.close_input()

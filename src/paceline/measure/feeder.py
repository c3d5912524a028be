"""Keeps request bodies ready ahead of the load generator, within bounds."""

from collections import deque
from typing import Any

import pyarrow as pa

from paceline.measure.border import BodySource, LoadHandle

# Enough that a second of hiccup in Python starves nobody, little enough that no run holds its whole
# workload.
AHEAD_S = 3.0
FIRST_ROWS = 2_000
MOST_ROWS = 65_536
MOST_BYTES = 64 * 1024 * 1024
TAKE_ROWS = 256
TAKE_BYTES = 8 * 1024 * 1024


class Feeder:
    """Pushes bodies of one source into one segment's load generator.

    `limit` is the number of requests of the segment, None when time ends it. `leftover` are bodies that an
    earlier segment had been given and did not send; they go first.
    """

    def __init__(
        self,
        source: BodySource,
        handle: LoadHandle,
        *,
        limit: int | None = None,
        peak_requests_s: float | None = None,
        streams: int | None = None,
        leftover: list[pa.RecordBatch] | None = None,
    ) -> None:
        self._source = source
        self._handle = handle
        self._limit = limit
        self._rate_requests_s = peak_requests_s or 0.0
        self._streams = streams or 1
        self._leftover = deque(leftover or [])
        self._sent_ahead: deque[pa.RecordBatch] = deque()
        self._dropped_rows = 0
        self._pushed = 0
        # Until one was seen, a body is taken to be long: it may be of a million tokens.
        self._bytes_per_row = 2.0 * 1024 * 1024
        self._seen = (0, 0)
        self._closed = False

    @property
    def pushed(self) -> int:
        """Bodies given to the load generator so far."""
        return self._pushed

    @property
    def complete(self) -> bool:
        """All bodies that the segment can need have been pushed."""
        return self._closed

    def fill(self, rows: int = FIRST_ROWS) -> list[pa.Table]:
        """Before the clock starts: the first bodies. Returns the plan rows that belong to what was made."""
        first = self._push_up_to(1)
        return first + self._push_up_to(min(max(rows, self._wanted()), MOST_ROWS) - self._pushed)

    def top_up(self, progress: dict[str, Any]) -> list[pa.Table]:
        """While the segment runs: replace what has been taken. Returns the plan rows of what was made."""
        started, elapsed_ns = int(progress["started"]), int(progress["elapsed_ns"])
        last_started, last_ns = self._seen
        if elapsed_ns > last_ns:
            now_requests_s = (started - last_started) * 1e9 / (elapsed_ns - last_ns)
            # Falls slowly: a pause of the endpoint must not empty the queue just before its return.
            self._rate_requests_s = max(now_requests_s, 0.8 * self._rate_requests_s)
            self._seen = (started, elapsed_ns)
        self._forget(started)
        return self._push_up_to(self._wanted() - (self._pushed - started))

    def seconds_ahead(self, progress: dict[str, Any]) -> float:
        """How long what is queued lasts at the rate seen so far."""
        if self._closed or self._rate_requests_s <= 0:
            return float("inf")
        return (self._pushed - int(progress["started"])) / self._rate_requests_s

    def unused(self, started: int) -> list[pa.RecordBatch]:
        """What was pushed and not begun when the segment had begun `started` requests."""
        self._forget(started)
        batches = list(self._sent_ahead)
        begun = started - self._dropped_rows
        if batches and begun > 0:
            batches[0] = batches[0].slice(begun)
        return [batch for batch in batches if batch.num_rows] + list(self._leftover)

    def _rows_at_once(self) -> int:
        return max(1, min(TAKE_ROWS, int(TAKE_BYTES / self._bytes_per_row)))

    def _wanted(self) -> int:
        by_rate = self._rate_requests_s * AHEAD_S
        most = min(MOST_ROWS, max(1, int(MOST_BYTES / self._bytes_per_row)))
        return min(int(max(by_rate, 2 * self._streams, TAKE_ROWS)), most)

    def _forget(self, started: int) -> None:
        while self._sent_ahead and started - self._dropped_rows >= self._sent_ahead[0].num_rows:
            self._dropped_rows += self._sent_ahead.popleft().num_rows

    def _push_up_to(self, rows: int) -> list[pa.Table]:
        plans = []
        budget = MOST_BYTES
        while rows > 0 and budget > 0 and not self._closed:
            left = rows if self._limit is None else min(rows, self._limit - self._pushed)
            if left > 0:
                batch, plan = self._next(min(left, self._rows_at_once()))
                if plan is not None:
                    plans.append(plan)
                if batch.num_rows:
                    self._push(batch)
                rows -= batch.num_rows
                budget -= batch.nbytes
                if batch.num_rows == 0:
                    self._close()
            if self._limit is not None and self._pushed >= self._limit:
                self._close()
        return plans

    def _next(self, rows: int) -> tuple[pa.RecordBatch, pa.Table | None]:
        if not self._leftover:
            return self._source.take(rows)
        batch = self._leftover.popleft()
        if batch.num_rows > rows:
            self._leftover.appendleft(batch.slice(rows))
            batch = batch.slice(0, rows)
        return batch, None

    def _push(self, batch: pa.RecordBatch) -> None:
        self._handle.push(batch)
        self._sent_ahead.append(batch)
        self._pushed += batch.num_rows
        self._bytes_per_row = max(batch.nbytes / batch.num_rows, 1.0)

    def _close(self) -> None:
        if not self._closed:
            self._closed = True
            self._handle.close_input()

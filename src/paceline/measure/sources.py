"""Jobs with their indices: of a new run in order, of a resumed one those that are missing."""

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc


class Seekable(Protocol):
    """A source that can be set to any job, as `RequestSource` and `JobBatches` in paceline.workloads."""

    next_index: int

    def take(self, n: int, /) -> tuple[pa.RecordBatch, pa.Table]:
        """The next `n` jobs (column `body` and its company) and their plan; fewer: there are no more."""


class IndexedSource:
    """A source without the jobs that are `done` (uint64[n], sorted), each request with its `request_index`.

    elapsed_ns: how much of a replay is over; the instants of what is left count from there.
    """

    def __init__(
        self, source: Seekable, done: npt.NDArray[np.uint64] | None = None, *, elapsed_ns: int = 0
    ) -> None:
        self._elapsed_ns = elapsed_ns
        self._source = source
        self._done = done if done is not None else np.zeros(0, dtype=np.uint64)
        self._next = 0

    def take(self, n: int) -> tuple[pa.RecordBatch, pa.Table]:
        """The next `n` jobs that are not done; fewer where the source has no more."""
        bodies: list[pa.RecordBatch] = []
        plans: list[pa.Table] = []
        while n > 0:
            first, length = self._span(n)
            self._source.next_index = first
            batch, plan = self._source.take(length)
            bodies.append(self._indexed(batch, first))
            plans.append(plan)
            if len(first_rows_of_jobs(batch)) < length:
                break
            n -= length
        table = pa.Table.from_batches(bodies).combine_chunks()
        batches = table.to_batches()
        return batches[0] if batches else bodies[0].slice(0, 0), pa.concat_tables(plans)

    def _indexed(self, batch: pa.RecordBatch, first: int) -> pa.RecordBatch:
        if "request_index" not in batch.schema.names:
            index = pa.array(np.arange(first, first + batch.num_rows, dtype=np.uint64))
            return pa.record_batch({"body": batch.column("body"), "request_index": index})
        if self._elapsed_ns == 0:
            return batch
        place = batch.schema.get_field_index("start_ns")
        start_ns: Any = pc.max_element_wise(
            pc.subtract(batch.column(place), self._elapsed_ns), 0, skip_nulls=False
        )
        return batch.set_column(place, batch.schema.field(place), start_ns)

    def _span(self, n: int) -> tuple[int, int]:
        """The next stretch of at most `n` jobs that are not done, as (first, length)."""
        while True:
            place = int(np.searchsorted(self._done, np.uint64(self._next)))
            if place == len(self._done):
                length = n
                break
            gap = int(self._done[place]) - self._next
            if gap > 0:
                length = min(gap, n)
                break
            self._next += 1
        first = self._next
        self._next += length
        return first, length


def first_rows_of_jobs(batch: pa.RecordBatch) -> npt.NDArray[np.int64]:
    """The row at which each job of a batch begins, int64[jobs]; without a column `session` each is one."""
    if "session" not in batch.schema.names:
        return np.arange(batch.num_rows, dtype=np.int64)
    session = np.asarray(batch.column("session"))
    if len(session) == 0:
        return np.zeros(0, dtype=np.int64)
    return np.concatenate([[0], np.flatnonzero(session[1:] != session[:-1]) + 1]).astype(np.int64)

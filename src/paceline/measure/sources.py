"""Bodies with their indices: of a new run in order, of a resumed one those that are missing."""

from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa


class Seekable(Protocol):
    """A source that can be set to any index; `paceline.workloads.requests.RequestSource` is one."""

    next_index: int

    def take(self, n: int) -> tuple[pa.RecordBatch, pa.Table]:
        """The next `n` bodies (column `body`) and their plan."""


class IndexedSource:
    """Adds `request_index` to a source's bodies, and leaves out what is `finished` (uint64[n], sorted)."""

    def __init__(self, source: Seekable, finished: npt.NDArray[np.uint64] | None = None) -> None:
        self._source = source
        self._finished = finished if finished is not None else np.zeros(0, dtype=np.uint64)
        self._next = 0

    def take(self, n: int) -> tuple[pa.RecordBatch, pa.Table]:
        """The next `n` requests that are not finished."""
        bodies: list[pa.RecordBatch] = []
        plans: list[pa.Table] = []
        while n > 0:
            first, length = self._span(n)
            self._source.next_index = first
            batch, plan = self._source.take(length)
            index = pa.array(np.arange(first, first + length, dtype=np.uint64))
            bodies.append(pa.record_batch({"body": batch.column("body"), "request_index": index}))
            plans.append(plan)
            n -= length
        table = pa.Table.from_batches(bodies).combine_chunks()
        return table.to_batches()[0], pa.concat_tables(plans)

    def _span(self, n: int) -> tuple[int, int]:
        """The next stretch of at most `n` unfinished indices, as (first, length)."""
        while True:
            place = int(np.searchsorted(self._finished, np.uint64(self._next)))
            if place == len(self._finished):
                length = n
                break
            gap = int(self._finished[place]) - self._next
            if gap > 0:
                length = min(gap, n)
                break
            self._next += 1
        first = self._next
        self._next += length
        return first, length

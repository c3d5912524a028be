"""A table of request rows as numpy arrays: flat events with offsets, no Python object per event.

The row is described in docs/design/0001-border-and-row.md.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    # Most who need these types and constants have no table, and Arrow takes long to import.
    import pyarrow as pa

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
_Item = TypeVar("_Item", bound=np.generic)

MISSING = np.iinfo(np.int64).min
"""Stands for null in the arrays of nullable columns."""

CONTENT, REASONING, TOOL_CALL, EMBEDDING = 1, 2, 4, 8
"""Bits of `event_kind`."""


@dataclass(frozen=True)
class Frame:
    """`table`: rows in any order. Arrays named by a row column have length r, event arrays length e.

    A run may have millions of events, so event arrays are few; those of a table in one chunk are views of it.
    """

    table: "pa.Table"

    @property
    def rows(self) -> int:
        """Number of rows, r."""
        return self.table.num_rows

    def ints(self, column: str) -> Ints:
        """An integer column, int64[r], with MISSING for null and where there is no such column."""
        if column not in self.table.column_names:
            return np.full(self.rows, MISSING, np.int64)
        import pyarrow as pa
        import pyarrow.compute as pc

        known: Any = pc.cast(self.table[column], pa.int64())
        return _numpy(pc.fill_null(known, MISSING)).astype(np.int64, copy=False)

    def flags(self, column: str) -> Bools:
        """A boolean column, bool[r]."""
        return _numpy(self.table[column]).astype(np.bool_, copy=False)

    def equals(self, column: str, value: str) -> Bools:
        """Where a text column has `value`, bool[r]."""
        import pyarrow as pa
        import pyarrow.compute as pc

        texts: Any = self.table[column]
        equal: Any = pc.equal(texts, pa.scalar(value))
        return _numpy(pc.fill_null(equal, False)).astype(np.bool_, copy=False)

    def flat(self, column: str) -> npt.NDArray[Any]:
        """The items of a list column of all rows, [e]."""
        import pyarrow.compute as pc

        lists: Any = self.table[column]
        return _numpy(pc.list_flatten(lists))

    @cached_property
    def measured(self) -> Bools:
        """Rows of phase `measure`."""
        return self.equals("phase", "measure")

    @cached_property
    def ok(self) -> Bools:
        """Rows that give all latency samples: phase `measure`, outcome `ok`."""
        return self.measured & self.equals("outcome", "ok")

    @cached_property
    def hung_up(self) -> Bools:
        """Rows of phase `measure` whose caller hung up as the workload says; until then all was well."""
        return self.measured & self.equals("outcome", "hung_up")

    @cached_property
    def well(self) -> Bools:
        """Rows of phase `measure` that ended as they were meant to: `ok` or `hung_up`."""
        return self.ok | self.hung_up

    @cached_property
    def embedding(self) -> Bools:
        """Rows whose answer is an embedding."""
        return self.sum_by_row(self.flat("event_kind") & EMBEDDING > 0) > 0

    @cached_property
    def streaming(self) -> Bools:
        """Rows that were asked with `stream: true`; an embedding comes in one piece whatever was asked."""
        return self.flags("streaming") & ~self.embedding

    @cached_property
    def session(self) -> Ints:
        """The job that each row is a call of, MISSING where it is a job by itself, int64[r]."""
        return self.ints("session")

    @cached_property
    def event_counts(self) -> Ints:
        """Token-bearing events of each row, int64[r]."""
        import pyarrow.compute as pc

        lists: Any = self.table["event_ns"]
        return _numpy(pc.fill_null(pc.list_value_length(lists), 0)).astype(np.int64)

    @cached_property
    def starts(self) -> Ints:
        """Index of each row's first event in the flat arrays, and the total at the end, int64[r + 1]."""
        return np.concatenate([np.zeros(1, np.int64), np.cumsum(self.event_counts)])

    @property
    def event_row(self) -> npt.NDArray[np.int32]:
        """The row of each event, int32[e]."""
        return self.spread(np.arange(self.rows, dtype=np.int32))

    def spread(self, per_row: npt.NDArray[_Item]) -> npt.NDArray[_Item]:
        """Each row's value for all of its events, [e]."""
        return np.repeat(per_row, self.event_counts)

    @cached_property
    def event_ns(self) -> Ints:
        """Arrival of each event on its segment's clock, int64[e]."""
        return self.flat("event_ns").astype(np.int64, copy=False)

    @cached_property
    def is_first(self) -> Bools:
        """The first event of its row, bool[e]."""
        first = np.zeros(int(self.starts[-1]), np.bool_)
        first[self.starts[:-1][self.event_counts > 0]] = True
        return first

    @cached_property
    def first_ns(self) -> Ints:
        """Arrival of each row's first event, MISSING without one, int64[r]."""
        return self._at(self.starts[:-1])

    @cached_property
    def last_ns(self) -> Ints:
        """Arrival of each row's last event, MISSING without one, int64[r]."""
        return self._at(self.starts[1:] - 1)

    def _at(self, places: Ints) -> Ints:
        found = np.full(self.rows, MISSING, np.int64)
        some = self.event_counts > 0
        found[some] = self.event_ns[places[some]]
        return found

    def origin_ns(self, origins: Mapping[int, int]) -> Ints:
        """The origin of each row's segment, int64[r]. Raises ValueError when a segment has none."""
        segments = self.ints("segment")
        known, inverse = np.unique(segments, return_inverse=True)
        missing = [int(segment) for segment in known if int(segment) not in origins]
        if missing:
            raise ValueError(f"no origin for segments {missing}")
        return np.array([origins[int(s)] for s in known], np.int64)[inverse] if len(known) else segments

    def sum_by_row(self, per_event: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Sums of an event array over each row, float64[r] of floats and int64[r] of all else."""
        exact = np.float64 if np.issubdtype(per_event.dtype, np.floating) else np.int64
        sums = np.zeros(self.rows, exact)
        some = self.event_counts > 0
        if some.any():
            sums[some] = np.add.reduceat(per_event, self.starts[:-1][some], dtype=exact)
        return sums


def _numpy(array: Any) -> npt.NDArray[Any]:
    if hasattr(array, "num_chunks"):
        # Of one chunk it would make a copy too.
        array = array.chunk(0) if array.num_chunks == 1 else array.combine_chunks()
    found: npt.NDArray[Any] = array.to_numpy(zero_copy_only=False)
    return found

import numpy as np
import pyarrow as pa

from paceline.measure.sources import IndexedSource
from tests.measure.fakes import Counting, values_of


def taken(source: IndexedSource, n: int) -> list[int]:
    batch, plan = source.take(n)
    indices = values_of(batch, "request_index")
    assert [int(body) for body in values_of(batch, "body")] == indices
    assert values_of(plan, "request_index") == indices
    return indices


def test_a_new_run_takes_all_in_order() -> None:
    source = IndexedSource(Counting())
    assert taken(source, 3) == [0, 1, 2]
    assert taken(source, 2) == [3, 4]


def test_a_resumed_run_takes_what_is_missing_and_then_goes_on() -> None:
    finished = np.array([0, 1, 3, 4, 7], dtype=np.uint64)
    source = IndexedSource(Counting(), finished)
    assert taken(source, 2) == [2, 5]
    assert taken(source, 4) == [6, 8, 9, 10]


def test_the_instants_of_a_replay_go_on_where_it_was_cut_off() -> None:
    class Timed(Counting):
        def take(self, n: int) -> tuple[pa.RecordBatch, pa.Table]:
            first = self.next_index
            batch, plan = super().take(n)
            columns = {
                "body": batch.column("body"),
                "request_index": pa.array(range(first, first + n), pa.uint64()),
                "session": pa.array(range(first, first + n), pa.uint64()),
                "start_ns": pa.array(
                    [None if k % 2 else 100 * k for k in range(first, first + n)], pa.int64()
                ),
            }
            return pa.record_batch(columns), plan

    source = IndexedSource(Timed(), np.array([0, 1], dtype=np.uint64), elapsed_ns=250)
    batch, _ = source.take(4)
    assert values_of(batch, "session") == [2, 3, 4, 5]
    assert values_of(batch, "start_ns") == [0, None, 150, None]


def test_a_source_that_has_no_more_gives_what_there_is() -> None:
    class Short(Counting):
        def take(self, n: int) -> tuple[pa.RecordBatch, pa.Table]:
            return super().take(min(n, max(5 - self.next_index, 0)))

    source = IndexedSource(Short(), np.array([1], dtype=np.uint64))
    assert taken(source, 10) == [0, 2, 3, 4]
    assert taken(source, 10) == []

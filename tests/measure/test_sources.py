import numpy as np

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

import json

import numpy as np
import pyarrow as pa

from paceline.measure.feeder import FIRST_JOBS, Feeder
from tests.measure.fakes import SECOND_NS, Counting, FakeLoad, progress


def fake() -> FakeLoad:
    return FakeLoad(json.dumps({"first_index": 0, "max_requests": None, "segment": 0, "warmup_requests": 0}))


def test_a_short_run_is_wholly_prepared_and_its_input_closed() -> None:
    load = fake()
    feeder = Feeder(Counting(), load, limit=10)
    plans = feeder.fill()
    assert load.indices == list(range(10))
    assert load.calls == ["close_input"]
    assert sum(plan.num_rows for plan in plans) == 10
    assert feeder.complete
    assert feeder.seconds_ahead(progress(jobs_started=0)) == float("inf")


def test_a_long_run_is_fed_ahead_of_its_rate_and_no_further() -> None:
    load = fake()
    feeder = Feeder(Counting(), load, limit=None)
    feeder.fill()
    assert FIRST_JOBS <= feeder.pushed < 2 * FIRST_JOBS
    feeder.top_up(progress(jobs_started=2_000, elapsed_ns=SECOND_NS))
    assert 2_000 + 3 * 2_000 <= feeder.pushed <= 2_000 + 3 * 2_000 + 256
    assert 2.5 <= feeder.seconds_ahead(progress(jobs_started=2_000)) <= 3.5
    assert "close_input" not in load.calls


def test_an_open_loop_is_fed_by_its_rate_from_the_start() -> None:
    load = fake()
    feeder = Feeder(Counting(), load, peak_jobs_s=5_000)
    feeder.fill()
    assert feeder.pushed >= 15_000


def test_what_was_not_sent_can_be_sent_by_the_next_segment_first() -> None:
    load = fake()
    source = Counting()
    feeder = Feeder(source, load, limit=None)
    feeder.fill()
    unused = feeder.unused(started=300)
    rest = [body for batch in unused for body in batch.column("body").to_pylist()]
    assert rest == [str(index).encode() for index in range(300, feeder.pushed)]
    second = fake()
    again = Feeder(source, second, limit=feeder.pushed, leftover=unused)
    again.fill()
    assert [int(body) for body in second.bodies] == list(range(300, feeder.pushed + 300))
    assert again.unused(started=feeder.pushed) == []


def test_nothing_is_left_when_all_was_sent() -> None:
    feeder = Feeder(Counting(), fake(), limit=10)
    feeder.fill()
    assert feeder.unused(started=10) == []


class Long(Counting):
    """Bodies of four megabytes."""

    def __init__(self) -> None:
        super().__init__()
        self.most_at_once = 0

    def take(self, n: int) -> tuple[pa.RecordBatch, pa.Table]:
        self.most_at_once = max(self.most_at_once, n)
        _, plan = super().take(n)
        bodies = pa.array([b"x" * 4_000_000] * n, pa.binary())
        return pa.record_batch({"body": bodies}), plan


def test_long_bodies_are_held_within_bounds() -> None:
    load = fake()
    source = Long()
    feeder = Feeder(source, load, limit=1_000, streams=64)
    feeder.fill()
    assert source.most_at_once <= 2
    assert sum(len(body) for body in load.bodies) <= 80_000_000
    pushed = feeder.pushed
    feeder.top_up(progress(jobs_started=1, elapsed_ns=SECOND_NS))
    assert feeder.pushed <= pushed + 1


def test_what_begins_with_the_clock_is_there_however_long_it_is() -> None:
    load = fake()
    feeder = Feeder(Long(), load, streams=100, at_once=100)
    feeder.fill()
    assert feeder.pushed >= 100
    short = Feeder(Long(), fake(), limit=30, streams=100, at_once=100)
    short.fill()
    assert short.pushed == 30


class Jobs(Counting):
    """Jobs of three calls each."""

    def take(self, n: int) -> tuple[pa.RecordBatch, pa.Table]:
        first = self.next_index
        _, plan = super().take(n)
        numbers = [first + job for job in range(n) for _ in range(3)]
        columns = {
            "body": pa.array([str(number).encode() for number in numbers], pa.binary()),
            "request_index": pa.array(
                [job * 1024 + step for job in range(first, first + n) for step in range(3)]
            ),
            "session": pa.array(numbers, pa.uint64()),
        }
        return pa.record_batch(columns), plan


def test_jobs_of_several_calls_are_counted_as_jobs() -> None:
    load = fake()
    feeder = Feeder(Jobs(), load, limit=1_000)
    feeder.fill(4)
    assert feeder.pushed >= 256
    assert len(load.bodies) == 3 * feeder.pushed
    left = feeder.unused(started=200)
    assert left[0].column("session")[0].as_py() == 200
    assert sum(batch.num_rows for batch in left) == 3 * (feeder.pushed - 200)
    again = Feeder(Jobs(), fake(), limit=2, leftover=left)
    again.fill()
    assert again.pushed == 2
    assert [batch.num_rows for batch in again.unused(started=0)][:2] == [3, 3]


def test_a_source_that_ends_closes_the_input() -> None:
    class Short(Jobs):
        def take(self, n: int) -> tuple[pa.RecordBatch, pa.Table]:
            return super().take(min(n, 5 - self.next_index))

    load = fake()
    feeder = Feeder(Short(), load, limit=None)
    feeder.fill()
    assert (feeder.pushed, feeder.complete, load.calls) == (5, True, ["close_input"])


def test_the_burst_of_a_trace_is_there_before_it_is_due() -> None:
    load = fake()
    quiet, burst = np.arange(10) * SECOND_NS, np.full(5_000, 11 * SECOND_NS)
    feeder = Feeder(Counting(), load, starts_ns=np.concatenate([quiet, burst]))
    feeder.fill(jobs=1)
    feeder.top_up(progress(jobs_started=7, elapsed_ns=7 * SECOND_NS))
    before = feeder.pushed
    assert before < 1_000
    feeder.top_up(progress(jobs_started=9, elapsed_ns=9 * SECOND_NS))
    assert feeder.pushed >= 5_010


def test_what_was_due_and_is_not_queued_is_known() -> None:
    feeder = Feeder(Counting(), fake(), limit=6_000, starts_ns=np.arange(9_000, dtype=np.int64))
    assert [feeder.due_unpushed(until) for until in (0, 100, 7_000)] == [0, 100, 6_000]
    feeder.fill()
    left = 6_000 - feeder.pushed
    assert feeder.due_unpushed(9_000) == left
    assert feeder.due_unpushed(100) == 0
    assert Feeder(Counting(), fake()).due_unpushed(100) == 0

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from paceline.errors import RunError
from paceline.measure import segment as module
from paceline.measure.interrupts import Interrupts
from paceline.measure.load_spec import LoadOptions, plan_load
from paceline.measure.segment import Segment, SegmentResult
from tests.measure.fakes import Counting, FakeLoad, Memory
from tests.measure.test_load_spec import TARGET


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "POLL_S", 0.0)
    monkeypatch.setattr(module, "SHORTEST_POLL_S", 0.0)


def run(
    sink: Memory,
    on_poll: Callable[[FakeLoad, Interrupts], None] = lambda *_: None,
    grace_s: float = 1e9,
    **fake: Any,
) -> tuple[SegmentResult, FakeLoad]:
    plan = plan_load(LoadOptions(concurrency=2, requests=20))
    interrupts = Interrupts()
    made: list[FakeLoad] = []

    def load(spec_json: str) -> FakeLoad:
        made.append(FakeLoad(spec_json, on_poll=lambda this: on_poll(this, interrupts), **fake))
        return made[0]

    segment = Segment(
        plan.spec(TARGET), plan, Counting(), load=load, observe=lambda *_: None, grace_s=grace_s
    )
    segment.fill()
    return segment.run(sink, interrupts), made[0]


def test_all_rows_plans_and_the_last_progress_reach_the_sink() -> None:
    sink = Memory()
    result, load = run(sink)
    assert sink.rows == sink.plans == list(range(20))
    assert (result.started, result.interrupted, result.store_error) == (20, False, None)
    assert sink.progress[-1]["state"] == "done"
    assert sink.progress[-1]["segment"] == 0
    assert load.calls == ["close_input", "start"]


def test_the_first_interrupt_stops_and_the_second_cancels() -> None:
    def twice(load: FakeLoad, interrupts: Interrupts) -> None:
        if load.polls in (2, 4):
            interrupts.note()

    sink = Memory()
    result, load = run(sink, twice, hold_back=1)
    assert result.interrupted
    assert load.calls[-2:] == ["stop", "cancel"]
    assert sink.rows == list(range(10))


def test_after_the_grace_what_is_in_flight_is_cancelled() -> None:
    def once(load: FakeLoad, interrupts: Interrupts) -> None:
        if load.polls == 2:
            interrupts.note()

    result, load = run(Memory(), once, grace_s=-1, hold_back=1)
    assert result.interrupted
    assert load.calls[-2:] == ["stop", "cancel"]


def test_a_full_disk_ends_the_run_and_is_told() -> None:
    sink = Memory(full_after=10)
    result, load = run(sink)
    assert result.store_error is not None
    assert "No space" in result.store_error.message
    assert load.calls[-1] == "cancel"
    assert sink.rows == list(range(10))


def test_a_failed_load_generator_is_an_error_of_the_run() -> None:
    with pytest.raises(RunError, match="no more descriptors"):
        run(Memory(), fail_at=2)


def test_an_error_on_the_way_cancels_the_load() -> None:
    seen: list[FakeLoad] = []

    def load(spec_json: str) -> FakeLoad:
        seen.append(FakeLoad(spec_json))
        return seen[0]

    def broken(progress: dict[str, Any], batch: pa.RecordBatch | None) -> None:
        raise KeyError(json.dumps(progress["state"]))

    plan = plan_load(LoadOptions(requests=20))
    segment = Segment(plan.spec(TARGET), plan, Counting(), load=load, observe=broken)
    segment.fill()
    with pytest.raises(KeyError):
        segment.run(Memory(), Interrupts())
    assert seen[0].calls[-1] == "cancel"


def test_of_a_replay_that_fell_behind_all_that_was_due_is_dropped() -> None:
    plan = plan_load(LoadOptions(replay=True, concurrency=1, duration="1s"))
    starts = np.arange(90_000, dtype=np.int64) * 10_000
    made: list[FakeLoad] = []

    def load(spec_json: str) -> FakeLoad:
        made.append(FakeLoad(spec_json, on_poll=lambda this: this.stop() if this.polls == 3 else None))
        return made[0]

    segment = Segment(
        plan.spec(TARGET), plan, Counting(), load=load, observe=lambda *_: None, starts_ns=starts
    )
    segment.fill()
    sink = Memory()
    result = segment.run(sink, Interrupts())
    # The fake one counts none of its own, so what it had been given is not among them.
    unpushed = 90_000 - len(made[0].bodies)
    assert result.progress["dropped"] == sink.progress[-1]["dropped"] == unpushed > 0
    assert result.progress["planned"] == result.started + unpushed

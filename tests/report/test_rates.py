from typing import Any

import pytest

from paceline.report.rates import load_rates
from paceline.stats.frame import Frame
from tests.report.samples import CLOSED, OPEN, failed_row
from tests.store.samples import progress
from tests.support.rows import make_row, rows_table

S = 1_000_000_000


def row(due_ms: float, late_ms: float = 0.0, **columns: Any) -> dict[str, Any]:
    return make_row(intended_ms=due_ms, sent_ms=due_ms + late_ms, event_ms=(due_ms + 5000.0,), **columns)


def rates(
    rows: list[dict[str, Any]], segments: list[dict[str, Any]], complete: bool = True, **load: Any
) -> tuple[float, float]:
    load = {"arrival": OPEN["arrival"], **load}
    found = load_rates(Frame(rows_table(rows)), segments, load, complete=complete)
    assert found.offered_requests_s is not None
    assert found.achieved_requests_s is not None
    return found.offered_requests_s, found.achieved_requests_s


def test_by_number_of_requests_the_plan_spans_its_gaps() -> None:
    # Evenly spaced from the very start: ten gaps for eleven arrivals.
    assert rates([row(100.0 * k) for k in range(11)], [], requests=11) == pytest.approx((10.0, 10.0))
    # The first gap comes before the first arrival.
    assert rates([row(100.0 * k) for k in range(1, 11)], [], requests=10) == pytest.approx((10.0, 10.0))


def test_dropped_requests_were_due_within_the_duration() -> None:
    """Two slots took 30 of 58 arrivals in 3 s, and the last one taken was due long before the end."""
    rows = [row(1200.0 * k / 30, 1700.0 * k / 30) for k in range(30)]
    told = [progress(0, 3.2, planned=58, dropped=28)]
    assert rates(rows, told, duration_ns=3 * S) == pytest.approx((58 / 3, 30 / 3))


def test_short_blocks_have_no_edges() -> None:
    """Whatever the arrivals of a block, they were due in the whole of it."""
    rows: list[dict[str, Any]] = []
    # The last block had no arrival at all, and others were over before their time was.
    told = [progress(4, 0.001, planned=0)]
    for block in range(4):
        due = [500.0 + 100.0 * k for k in range(7)]
        rows += [row(ms, segment=block, request_index=7 * block + k) for k, ms in enumerate(due)]
        told.append(progress(block, 1.15, planned=7))
    load: dict[str, Any] = {"duration_ns": 6 * S, "interleaved": {"pairs": 5}}
    assert rates(rows, told, **load) == pytest.approx((28 / 6, 28 / 6))


def test_warmup_by_time_takes_of_the_first_block() -> None:
    rows = [row(1000.0, segment=0, phase="warmup"), row(1300.0, segment=0, request_index=1)]
    rows += [row(100.0 * k, segment=1, request_index=2 + k) for k in range(3)]
    told = [progress(0, 2.0, planned=2), progress(1, 2.0, planned=3)]
    load: dict[str, Any] = {"duration_ns": 2 * S, "warmup_ns": S, "interleaved": {"pairs": 2}}
    assert rates(rows, told, **load) == pytest.approx((2.0, 2.0))


def test_warmup_by_requests_ends_with_its_last_arrival() -> None:
    rows = [row(100.0 * k, phase="warmup" if k < 5 else "measure") for k in range(10)]
    assert rates(rows, [], requests=5, warmup_requests=5) == pytest.approx((10.0, 10.0))


def test_a_resumed_run_takes_the_rest_of_the_duration() -> None:
    rows = [row(500.0 * k, request_index=k) for k in range(1, 5)]
    rows += [row(500.0 * k, request_index=10 + k, segment=1) for k in range(15)]
    told = [progress(0, 2.5, planned=4), progress(1, 9.0, planned=15)]
    # The first part was cut off, so its plan is known to its last arrival; the second was not.
    assert rates(rows, told, duration_ns=10 * S) == pytest.approx((19 / 9.5, 19 / 9.5))


def test_what_was_cut_off_under_a_cap_went_on_to_the_last_send() -> None:
    rows = [row(100.0 * k, 100.0 * k) for k in range(1, 11)]
    told = [progress(0, 2.5, planned=20, dropped=10)]
    assert rates(rows, told, complete=False, duration_ns=60 * S) == pytest.approx((20 / 2, 10 / 2))


def test_a_plan_that_ran_out_of_requests_did_not_take_the_duration() -> None:
    rows = [row(100.0 * k) for k in range(1, 11)]
    load: dict[str, Any] = {"duration_ns": 60 * S, "requests": 10}
    assert rates(rows, [progress(0, 70.0, planned=10)], **load) == pytest.approx((10.0, 10.0))


def test_only_what_was_not_sent_in_time_is_missing() -> None:
    told = [progress(0, 2.0, planned=10)]

    def with_late(ms: float) -> tuple[float, float]:
        rows = [row(100.0 * k, ms if k >= 5 else 0.0) for k in range(10)]
        return rates(rows, told, duration_ns=S)

    assert with_late(2000.0) == pytest.approx((10.0, 5.0))
    # Late within the planned time, or by next to nothing after it.
    assert with_late(60.0) == pytest.approx((10.0, 10.0))
    last_is_late = [row(100.0 * k, 9.0 if k == 9 else 0.0) for k in range(10)]
    assert rates(last_is_late, told, duration_ns=905_000_000) == pytest.approx((10 / 0.905, 10 / 0.905))


def test_rates_of_a_closed_loop_are_alike() -> None:
    rows = [
        make_row(sent_ms=100.0 * k, event_ms=(100.0 * k + 50.0,), end_ms=100.0 * k + 100.0) for k in range(10)
    ]
    found = load_rates(Frame(rows_table(rows)), [progress(dropped=5)], CLOSED)
    assert found.offered_requests_s == found.achieved_requests_s == pytest.approx(10.0)


def test_rates_of_nothing() -> None:
    rows = rows_table([failed_row("connect_error", sent_ns=None, written_ns=None)])
    assert load_rates(Frame(rows), [], CLOSED).offered_requests_s is None
    assert load_rates(Frame(rows.slice(0, 0)), [], OPEN).offered_requests_s is None
    assert load_rates(Frame(rows.slice(0, 0)), [progress(dropped=3)], OPEN).offered_requests_s is None

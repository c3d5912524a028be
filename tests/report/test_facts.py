from pathlib import Path

import pyarrow as pa
import pytest

from paceline.report.facts import client_facts, late_share, load_rates, over_limit_share, trust_facts
from paceline.report.trust import Pair
from paceline.stats.frame import Frame
from tests.report.samples import CLOSED, OPEN, failed_row, report
from tests.store.samples import progress
from tests.support.rows import make_row, rows_table

NOBODY = client_facts([])


def test_segments_are_added_up() -> None:
    lag = {"p50": 1_000_000, "p99": 4_000_000}
    facts = client_facts(
        [
            progress(
                0,
                2.0,
                threads=2,
                cpu_ns=10**9,
                runqueue_wait_ns=10**8,
                reads=100,
                dropped=1,
                started=1,
                schedule_lag_ns=lag,
            ),
            progress(
                1,
                1.0,
                threads=1,
                cpu_ns=10**9,
                runqueue_wait_ns=10**8,
                reads=300,
                dropped=2,
                started=3,
                schedule_lag_ns={"p50": 0, "p99": 0},
            ),
        ]
    )
    assert facts.cpu_fraction == pytest.approx(2 / 5)
    assert facts.runqueue_share == pytest.approx(0.2 / 5)
    assert facts.wait_per_read_ms == pytest.approx(200 / 400)
    assert facts.dropped == 3
    assert facts.schedule_lag_ms == Pair(0.25, 1.0)
    assert facts.read_lag_ms is None


def test_without_progress_nothing_is_known() -> None:
    assert NOBODY.cpu_fraction is None
    assert NOBODY.runqueue_share is None
    assert NOBODY.schedule_lag_ms is None


def test_rates_of_an_open_loop() -> None:
    rows = rows_table(
        [make_row(intended_ms=100.0 * k, sent_ms=100.0 * k, event_ms=(5000.0,)) for k in range(11)]
    )
    rates = load_rates(Frame(rows), NOBODY, OPEN)
    assert rates.offered_requests_s == pytest.approx(10.0)
    assert rates.achieved_requests_s == pytest.approx(10.0)


def test_a_late_send_was_not_delivered_in_time() -> None:
    rows = rows_table(
        [
            make_row(
                intended_ms=100.0 * k, sent_ms=100.0 * k + (2000.0 if k >= 5 else 0.0), event_ms=(5000.0,)
            )
            for k in range(10)
        ]
    )
    rates = load_rates(Frame(rows), NOBODY, OPEN)
    assert rates.offered_requests_s == pytest.approx(10.0)
    assert rates.achieved_requests_s == pytest.approx(5.0)
    assert late_share(Frame(rows)) == 0.5


def test_dropped_requests_were_offered() -> None:
    rows = rows_table(
        [make_row(intended_ms=100.0 * k, sent_ms=100.0 * k, event_ms=(5000.0,)) for k in range(10)]
    )
    rates = load_rates(Frame(rows), client_facts([progress(dropped=10)]), OPEN)
    assert rates.offered_requests_s == pytest.approx(20.0)
    assert rates.achieved_requests_s == pytest.approx(10.0)


def test_rates_of_a_closed_loop_are_alike() -> None:
    rows = rows_table(
        [
            make_row(sent_ms=100.0 * k, event_ms=(100.0 * k + 50.0,), end_ms=100.0 * k + 100.0)
            for k in range(10)
        ]
    )
    rates = load_rates(Frame(rows), NOBODY, CLOSED)
    assert rates.offered_requests_s == rates.achieved_requests_s == pytest.approx(10.0)


def test_rates_of_nothing() -> None:
    rows = rows_table([failed_row("connect_error", sent_ns=None, written_ns=None)])
    assert load_rates(Frame(rows), NOBODY, CLOSED).offered_requests_s is None
    assert load_rates(Frame(rows.slice(0, 0)), NOBODY, OPEN).offered_requests_s is None


def test_time_to_connect_is_not_lateness() -> None:
    rows = rows_table(
        [make_row(intended_ms=0.0, sent_ms=50.0, connect_ns=49_000_000, connection_reused=False)]
    )
    assert late_share(Frame(rows)) == 0.0


def test_answers_longer_than_allowed() -> None:
    rows = rows_table(
        [
            make_row(request_index=k, completion_tokens=tokens)
            for k, tokens in ((1, 10), (2, 11), (3, 12), (4, None))
        ]
    )
    plan = pa.table(
        {"request_index": pa.array([1, 2, 3, 4, 5], pa.uint64()), "output_tokens_asked": [10, 10, 10, 10, 10]}
    )
    assert over_limit_share(Frame(rows), plan) == pytest.approx(1 / 3)
    assert over_limit_share(Frame(rows), plan.slice(0, 0)) is None
    unlimited = plan.set_column(1, "output_tokens_asked", pa.array([None] * 5, pa.int64()))
    assert over_limit_share(Frame(rows), unlimited) is None


def test_everything_together(home: Path) -> None:
    facts = trust_facts(report(home).evidence)
    assert facts.attempted == facts.ok == 400
    assert not facts.open_loop
    assert facts.cpu_fraction == pytest.approx(0.1)
    assert facts.compared_with == "the duration of a request"
    assert facts.ttft_error_us == Pair(30.0, 200.0)
    assert facts.kernel_stamped_share == 1.0
    assert facts.prompts_unique

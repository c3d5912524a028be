from pathlib import Path

import pyarrow as pa
import pytest

from paceline.report.facts import (
    client_facts,
    common_errors,
    event_spacing_ms,
    first_calls,
    late_share,
    over_limit_share,
    prompts_unique,
    trust_facts,
)
from paceline.report.model import Report
from paceline.report.trust_facts import CommonError, Pair
from paceline.stats.frame import Frame
from tests.report.samples import failed_row, report
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


def test_time_to_connect_is_not_lateness() -> None:
    rows = rows_table(
        [make_row(intended_ms=0.0, sent_ms=50.0, connect_ns=49_000_000, connection_reused=False)]
    )
    assert late_share(Frame(rows)) == 0.0


def test_lateness_in_sending() -> None:
    rows = rows_table([make_row(intended_ms=0.0, sent_ms=20.0 * (k % 2)) for k in range(10)])
    assert late_share(Frame(rows)) == 0.5


def test_the_commonest_error_of_each_outcome() -> None:
    errors = ["out of memory", "out of\nmemory", "bad gateway"]
    rows = [failed_row("http_error", k, error=error) for k, error in enumerate(errors)]
    rows += [failed_row("timeout", 3, error="no answer"), failed_row("empty", 4), make_row(request_index=5)]
    rows += [failed_row("http_error", k, error="too early", phase="warmup") for k in range(6, 12)]
    assert common_errors(rows_table(rows)) == {
        "http_error": CommonError("out of memory", False),
        "timeout": CommonError("no answer", True),
    }


def test_the_distance_of_events_does_not_depend_on_reads() -> None:
    apart = rows_table([make_row(event_ms=(100.0, 110.0, 120.0, 130.0, 140.0))])
    together = rows_table([make_row(event_ms=(100.0, 100.0, 120.0, 120.0, 140.0))])
    assert event_spacing_ms(Frame(apart)) == event_spacing_ms(Frame(together)) == 10.0
    assert event_spacing_ms(Frame(rows_table([make_row(event_ms=(100.0,))]))) is None


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


def test_with_jobs_rates_are_of_jobs_and_failures_of_calls(chat: Report) -> None:
    facts = trust_facts(chat.evidence)
    assert (facts.unit, facts.begun, facts.attempted) == ("jobs", 100, 596)
    assert (facts.jobs, facts.failed_jobs) == (100, 1)
    # 4 at a time, each about 2.3 s.
    assert facts.achieved_requests_s == pytest.approx(1.72, rel=0.02)


def test_the_cache_of_later_turns_is_no_reason_for_doubt(chat: Report) -> None:
    facts = trust_facts(chat.evidence)
    assert facts.prompts_unique
    assert facts.cached_share is None
    assert not any("cache" in str(reason) for reason in chat.trust.reasons)


def test_jobs_as_rows(chat: Report) -> None:
    assert chat.evidence.jobs is not None
    table = first_calls(chat.evidence.rows, chat.evidence.jobs.jobs)
    assert table.num_rows == 100
    assert set(table["step"].to_pylist()) == {0}
    ends = {row["session"]: row["end_ns"] for row in chat.evidence.rows.to_pylist() if row["step"] == 5}
    assert all(row["end_ns"] == ends[row["session"]] for row in table.to_pylist() if row["session"] in ends)


@pytest.mark.parametrize(
    ("workload", "unique"),
    [
        ({"unique_prefix": True}, True),
        ({"unique_prefix": False}, False),
        ({"unique_prefix": True, "shared_prefix_tokens": 0, "cached_share": 0.0, "data": None}, True),
        ({"unique_prefix": True, "cached_share": 0.3}, False),
        ({"unique_prefix": True, "trace": {"path": "x"}}, False),
    ],
)
def test_whether_prompts_begin_alike(workload: dict[str, object], unique: bool) -> None:
    assert prompts_unique(workload) is unique


def test_where_all_hang_up_the_client_is_held_against_ttft(voice: Report) -> None:
    facts = trust_facts(voice.evidence)
    assert facts.compared_with == "the TTFT"
    assert facts.well == 600
    assert facts.ok == 0

import numpy as np
import pyarrow as pa
import pytest

from paceline.stats.critical_path import Part
from paceline.stats.frame import MISSING
from paceline.stats.jobs import Jobs, JobState, jobs_of
from paceline.stats.tokens import count_tokens
from tests.support.jobs import call_row, chat_jobs, plan_row, plan_table
from tests.support.rows import lognormal_rows, rows_table

NO_PLAN = plan_table([])


def jobs(rows: pa.Table, plan: pa.Table = NO_PLAN, *, open_loop: bool = False) -> Jobs:
    found = jobs_of(rows, plan, {0: 1_000, 1: 5_000}, count_tokens(rows), open_loop=open_loop)
    assert found is not None
    return found


def test_plain_requests_have_no_jobs() -> None:
    rows = lognormal_rows(10, 1)
    assert jobs_of(rows, NO_PLAN, {0: 0}, count_tokens(rows)) is None
    old = rows.drop_columns(["session", "step"])
    assert jobs_of(old, NO_PLAN, {0: 0}, count_tokens(old)) is None


def test_a_job_from_its_first_call_to_the_last_token_of_its_last() -> None:
    rows = [
        call_row(7, 1, sent_ms=400, event_ms=(450, 500), end_ms=520),
        call_row(7, 0, intended_ms=90, sent_ms=100, event_ms=(150, 200), end_ms=210),
    ]
    plan = plan_table([plan_row(7, 0), plan_row(7, 1, wait_ms=190.0, wait_kind="tool")])
    closed, opened = jobs(rows_table(rows), plan), jobs(rows_table(rows), plan, open_loop=True)
    assert (len(closed), closed.session.tolist(), closed.calls.tolist()) == (1, [7], [2])
    assert closed.samples()["job_ms"].values.tolist() == [400.0]
    assert closed.samples()["job_from_intended_ms"].values.tolist() == [410.0]
    assert closed.parts_ms[0].tolist() == [0.0, 100.0, 110.0, 190.0, 0.0]
    assert opened.parts_ms[0].tolist() == [10.0, 100.0, 110.0, 190.0, 0.0]
    assert closed.sent_ns.tolist() == [100_000_000 + 1_000]
    assert closed.row_job.tolist() == [0, 0]
    assert closed.critical_calls.tolist() == [2]


def test_how_jobs_end() -> None:
    rows = [
        call_row(0, 0),
        call_row(0, 1, sent_ms=200, event_ms=(300,), outcome="hung_up"),
        call_row(1, 0),
        call_row(1, 1, outcome="http_error", event_ms=(), end_ms=210),
        call_row(2, 0),
        call_row(3, 0, outcome="cancelled", event_ms=(), end_ms=400),
        call_row(4, 0, phase="warmup"),
        call_row(4, 1, phase="warmup"),
        call_row(5, 0, outcome="timeout", sent_ms=None, event_ms=(), end_ms=900),
    ]
    plan = plan_table([plan_row(job, step) for job in range(7) for step in range(2)])
    found = jobs(rows_table(rows), plan)
    assert [JobState(one).name for one in found.state] == [
        *("OK", "FAILED", "INTERRUPTED", "INTERRUPTED", "OK", "FAILED"),
    ]
    assert found.measured.tolist() == [True, True, True, True, False, True]
    assert [found.count(state) for state in JobState] == [1, 2, 2]
    assert found.failed_calls.tolist() == [0, 1, 0, 0, 0, 1]
    assert found.skipped_calls.tolist() == [0, 0, 1, 1, 0, 1]
    samples = found.samples()["job_ms"]
    # The hang-up ends the job; what the end of the run cut off took at least so long.
    assert samples.values.tolist() == [301.0]
    assert sorted(samples.censored.tolist()) == [131.0, 400.0]
    assert np.isnan(found.parts_ms[1]).all()
    assert found.done_ns[1] == MISSING
    assert found.sent_ns[5] == MISSING


def test_branches_by_the_plan_s_after() -> None:
    rows = [
        call_row(0, 0, event_ms=(50, 60), end_ms=60),
        call_row(0, 1, sent_ms=60, event_ms=(70, 300), end_ms=300),
        call_row(0, 2, sent_ms=60, event_ms=(200, 250), end_ms=250),
        call_row(0, 3, sent_ms=320, event_ms=(330, 340), end_ms=340),
    ]
    plan = plan_table(
        [
            plan_row(0, 0),
            plan_row(0, 1, after=[0]),
            plan_row(0, 2, after=[0]),
            plan_row(0, 3, after=[1, 2], wait_ms=20.0, wait_kind="think"),
        ]
    )
    found = jobs(rows_table(rows), plan)
    assert found.parts_ms[0].tolist() == [0.0, 50 + 10 + 10, 10 + 230 + 10, 0.0, 20.0]
    assert found.critical_calls.tolist() == [3]


def test_parts_sum_to_the_job_s_time() -> None:
    rows, plan = chat_jobs(60, 5, think_ms=37.125)
    found = jobs(rows, plan)
    samples = found.samples()["job_ms"]
    np.testing.assert_allclose(found.parts_ms[samples.row].sum(axis=1), samples.values, rtol=1e-12)
    np.testing.assert_allclose(found.parts_ms[:, Part.THINKING], 4 * 37.125, atol=0.01)


def test_tokens_of_a_job() -> None:
    rows, plan = chat_jobs(2, 3, events=8)
    found = jobs(rows, plan)
    assert found.tokens["prompt"].tolist() == [600, 600]
    assert found.tokens["cached"].tolist() == [300, 300]
    assert found.tokens["completion"].tolist() == [24, 24]
    assert found.tokens["reasoning"].tolist() == [MISSING, MISSING]
    known = [call_row(0, 0, prompt_tokens=5), call_row(0, 1, prompt_tokens=None, cached_tokens=3)]
    some = jobs(rows_table(known))
    assert some.tokens["prompt"].tolist() == [MISSING]
    assert some.tokens["cached"].tolist() == [3]


def test_jobs_come_in_the_order_of_their_start() -> None:
    rows = [
        call_row(3, 0, sent_ms=10),
        call_row(1, 0, sent_ms=20),
        call_row(2, 0, sent_ms=5, segment=1),
    ]
    found = jobs(rows_table(rows))
    # Segment 1 began 4 us later than segment 0, and this job 5 ms earlier.
    assert found.session.tolist() == [2, 3, 1]
    assert found.segment.tolist() == [1, 0, 0]
    assert not found.several_calls


@pytest.mark.parametrize("open_loop", [False, True])
def test_a_plan_in_any_order_and_of_more_jobs(open_loop: bool) -> None:
    rows, plan = chat_jobs(5, 3)
    shuffled = plan.take(np.random.default_rng(1).permutation(plan.num_rows))
    whole, few = jobs(rows, shuffled, open_loop=open_loop), jobs(rows.slice(0, 6), plan, open_loop=open_loop)
    assert whole.skipped_calls.tolist() == [0] * 5
    assert few.session.tolist() == [0, 1]

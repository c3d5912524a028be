import numpy as np
import pytest

from paceline.stats.job_rates import job_credit, job_goodput, jobs_a_second
from paceline.stats.jobs import Jobs, jobs_of
from paceline.stats.steady import Window, steady_windows
from paceline.stats.tokens import count_tokens
from tests.support.jobs import call_row, chat_jobs
from tests.support.rows import rows_table

S = 1_000_000_000


def jobs(*spans_ms: tuple[float, float], outcome: str = "ok") -> Jobs:
    rows = [
        call_row(job, 0, sent_ms=sent, event_ms=(end,), end_ms=end, outcome=outcome)
        for job, (sent, end) in enumerate(spans_ms)
    ]
    found = jobs_of(rows_table(rows), rows_table(rows).slice(0, 0), {0: 0}, count_tokens(rows_table(rows)))
    assert found is not None
    return found


def test_a_job_counts_with_the_part_of_its_time_in_the_window() -> None:
    found = jobs((0, 1000), (500, 1500), (1500, 2500), (3000, 4000))
    window = Window(0, S, 2 * S, True)
    assert job_credit(found, [window]).tolist() == [0.0, 0.5, 0.5, 0.0]
    assert jobs_a_second(job_credit(found, [window]), [window], found.ok) == 1.0
    assert jobs_a_second(job_credit(found, []), [], found.ok) is None


def test_the_rate_of_a_full_loop_is_its_jobs_over_their_time() -> None:
    rows, plan = chat_jobs(120, 3, concurrency=6)
    found = jobs_of(rows, plan, {0: 0}, count_tokens(rows))
    assert found is not None
    mean_s = found.samples()["job_ms"].values.mean() / 1e3
    windows = steady_windows(rows, {0: 0})
    rate = jobs_a_second(job_credit(found, windows), windows, found.ok)
    assert rate == pytest.approx(6 / mean_s, rel=0.02)


def test_goodput_is_over_all_jobs_that_were_due() -> None:
    found = jobs((0, 1000), (0, 3000))
    window = [Window(0, 0, 4 * S, False)]
    made = job_goodput(found, window, {"job_ms": 2000.0}, job_credit(found, window), dropped=2)
    assert (made.attempted, made.met, made.share, made.jobs_s) == (4, 1, 0.25, 0.25)
    assert job_goodput(found, window, {"job_from_intended_ms": 3000.0}, job_credit(found, window)).met == 2
    assert job_goodput(jobs((0, 1000), outcome="http_error"), window, {"job_ms": 9e9}, np.ones(1)).met == 0
    with pytest.raises(KeyError):
        job_goodput(found, window, {"ttft_ms": 1.0}, job_credit(found, window))


def test_warm_up_counts_for_nothing() -> None:
    rows, plan = chat_jobs(10, 2, warmup=4)
    found = jobs_of(rows, plan, {0: 0}, count_tokens(rows))
    assert found is not None
    assert np.flatnonzero(job_credit(found, [Window(0, 0, 10**15, False)])).tolist() == [4, 5, 6, 7, 8, 9]

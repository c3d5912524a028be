import numpy as np

from paceline.advisor.digest import CUT, FAILED, WELL
from paceline.advisor.evidence import OfferEvidence
from paceline.advisor.job_times import job_times
from tests.advisor.samples import evidence


def of(**columns: object) -> OfferEvidence:
    n = len(np.atleast_1d(np.asarray(columns["e2e_ms"])))
    return evidence(n, sample=columns)


def test_a_request_of_its_own_takes_its_e2e() -> None:
    times = job_times(
        of(
            e2e_ms=[100.0, np.nan, np.nan, np.nan],
            elapsed_ms=[101.0, 250.0, 9_000.0, 40.0],
            outcome=[WELL, WELL, CUT, FAILED],
            job=[0.0, 1.0, 2.0, 3.0],
        )
    )
    # Hung up as asked: until then; cut: at least so long; failed: no time.
    assert times.calls_ms.tolist()[:3] == [100.0, 250.0, 9_000.0]
    assert np.isnan(times.calls_ms[3])
    assert times.well.tolist() == [True, True, False, False]


def test_of_several_calls_time_counts_once_and_waits_do_not() -> None:
    # A call of 1 s; two side by side of 2 s and 1 s after a tool of 3 s.
    times = job_times(
        of(
            at_s=[0.0, 4.0, 4.5, 100.0],
            job=[7.0, 7.0, 7.0, 8.0],
            e2e_ms=[1000.0, 2000.0, 1000.0, 500.0],
            elapsed_ms=[1000.0, 2000.0, 1000.0, 500.0],
            outcome=WELL,
        )
    )
    assert np.allclose(times.calls_ms, [3000.0, 500.0])
    assert np.allclose(times.span_ms, [6000.0, 500.0])
    assert times.block.tolist() == [0, 1]


def test_a_failed_call_leaves_the_job_without_a_time() -> None:
    times = job_times(
        of(
            at_s=[0.0, 1.0, 5.0],
            job=[1.0, 1.0, 2.0],
            e2e_ms=[500.0, np.nan, 500.0],
            elapsed_ms=[500.0, 200.0, 500.0],
            outcome=[WELL, FAILED, WELL],
        )
    )
    assert np.isnan(times.calls_ms[0])
    assert times.calls_ms[1] == 500.0
    assert times.well.tolist() == [False, True]

import numpy as np
import pytest

from paceline.stats.clusters import Clusters, job_blocks
from paceline.stats.quantiles import quantile_estimate, quantile_estimates

TRUE = {0.5: 0.0, 0.9: 1.2815515655446004}


def of_jobs(
    rng: np.random.Generator, jobs: int, calls: int, likeness: float
) -> tuple[np.ndarray, np.ndarray]:
    """Normal samples of which `likeness` of the variance is the job's, in a random order of time."""
    shared = rng.normal(0.0, np.sqrt(likeness), (jobs, 1))
    values = shared + rng.normal(0.0, np.sqrt(1.0 - likeness), (jobs, calls))
    order = rng.permutation(jobs * calls)
    return values.ravel()[order], np.repeat(np.arange(jobs), calls)[order]


@pytest.mark.parametrize(("jobs", "calls", "likeness"), [(20, 10, 0.5), (60, 8, 0.0), (40, 35, 0.3)])
def test_intervals_of_calls_cover_when_jobs_are_what_varies(jobs: int, calls: int, likeness: float) -> None:
    rng = np.random.default_rng(5)
    hits = dict.fromkeys(TRUE, 0)
    for _ in range(400):
        values, job = of_jobs(rng, jobs, calls, likeness)
        for q, found in zip(TRUE, quantile_estimates(values, list(TRUE), jobs=job), strict=True):
            assert found.lo is not None
            hits[q] += found.lo <= TRUE[q] and (found.hi is None or TRUE[q] <= found.hi)
    assert all(0.92 <= n / 400 <= 0.995 for n in hits.values()), hits


def test_calls_taken_for_independent_would_not_cover() -> None:
    rng = np.random.default_rng(5)
    hits = 0
    for _ in range(200):
        values, _ = of_jobs(rng, 20, 10, 0.5)
        found = quantile_estimate(values, 0.5, dependent=False)
        assert found.lo is not None
        assert found.hi is not None
        hits += found.lo <= 0.0 <= found.hi
    assert hits / 200 < 0.8


def test_calls_that_are_all_alike_tell_no_more_than_their_jobs() -> None:
    values = np.repeat(np.random.default_rng(1).normal(size=40), 25)
    inflation = Clusters.of(values, np.repeat(np.arange(40), 25)).inflation(0.5, float(np.median(values)))
    assert inflation >= 25.0


def test_one_job_is_one_observation() -> None:
    found = quantile_estimate(np.arange(100.0), 0.5, jobs=np.zeros(100, np.int64))
    assert (found.lo, found.hi, found.enough) == (None, None, False)


def test_an_interval_contains_its_estimate() -> None:
    """Also of a few observations that tell no more than one or two."""
    rng = np.random.default_rng(4)
    for calls in (2, 3, 4, 7, 12):
        for _ in range(50):
            jobs = int(rng.integers(2, 5))
            values = np.concatenate([rng.normal(10.0 * rng.normal(), 1.0, calls) for _ in range(jobs)])
            job = np.repeat(np.arange(jobs), calls)
            for found in quantile_estimates(values, [0.5, 0.9, 0.99], jobs=job):
                assert found.lo is None or found.lo <= found.value
                assert found.hi is None or found.value <= found.hi


def test_one_call_a_job_is_as_without_jobs() -> None:
    values = np.random.default_rng(2).normal(size=200)
    assert quantile_estimate(values, 0.9, jobs=np.arange(200)) == quantile_estimate(values, 0.9)


def test_jobs_that_drift_together_tell_less() -> None:
    """Successive jobs that share an hour of the day are not independent either."""
    rng = np.random.default_rng(3)
    drift = np.zeros(80)
    for place in range(1, 80):
        drift[place] = 0.9 * drift[place - 1] + rng.normal(0.0, 0.4)
    values = np.repeat(drift, 5) + rng.normal(0.0, 0.3, 400)
    jobs = np.repeat(np.arange(80), 5)
    middle = float(np.median(values))
    mixed = rng.permutation(80)
    apart = Clusters.of(values, mixed[jobs]).inflation(0.5, middle)
    assert Clusters.of(values, jobs).inflation(0.5, middle) > 2.0 * apart


def test_blocks_are_jobs_or_runs_of_jobs() -> None:
    assert job_blocks(np.array([5, 5, 2, 9, 2])).tolist() == [1, 1, 0, 2, 0]
    many = job_blocks(np.repeat(np.arange(100), 3), most=40)
    assert (many.min(), many.max(), len(np.unique(many))) == (0, 39, 40)
    assert (np.diff(many) >= 0).all()

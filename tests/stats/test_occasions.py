"""Runs whose levels differ: what their pooled intervals promise, against a planted truth."""

import numpy as np
import pytest

from paceline.stats.clustered_share import share_estimate
from paceline.stats.occasions import Occasions, variance_ratio
from paceline.stats.positive_mean import mean_estimate
from paceline.stats.quantiles import quantile_estimate

MEDIAN, SPREAD = 200.0, 0.4
Z90 = 1.2815516


def drawn(rng: np.random.Generator, runs: int, size: int, apart: float) -> tuple[np.ndarray, np.ndarray]:
    """Lognormal values of runs whose logarithms' levels vary by `apart`; and the run of each."""
    run = np.repeat(np.arange(runs), size)
    level = apart * rng.standard_normal(runs)
    return MEDIAN * np.exp(level[run] + SPREAD * rng.standard_normal(len(run))), run


@pytest.mark.parametrize(
    ("runs", "size", "apart", "quantile", "least"),
    [
        # Of two and three runs that differ the interval of a percentile spans what they were.
        (2, 400, 0.15, 0.40, 0.75),
        (3, 200, 0.15, 0.65, 0.85),
        (5, 200, 0.15, 0.90, 0.90),
        (20, 100, 0.15, 0.90, 0.90),
        (5, 200, 0.0, 0.90, 0.90),
    ],
)
def test_intervals_cover_what_a_further_run_is_like(
    runs: int, size: int, apart: float, quantile: float, least: float
) -> None:
    """Taken for one sample, runs that differ so cover in 35 to 75 %."""
    rng, tries = np.random.default_rng(runs), 120
    whole = np.hypot(apart, SPREAD)
    p90, mean = MEDIAN * np.exp(Z90 * whole), MEDIAN * np.exp(whole**2 / 2.0)
    held = np.zeros(3)
    for _ in range(tries):
        values, run = drawn(rng, runs, size, apart)
        middle = quantile_estimate(values, 0.5, runs=run)
        share = share_estimate(values / p90, 0.9, runs=run)
        level = mean_estimate(values, run)
        held += (
            (middle.lo is None or middle.lo <= MEDIAN) and (middle.hi is None or middle.hi >= MEDIAN),
            share.lower(0.025) <= 0.9 <= share.upper(0.025),
            level.lower(0.025) <= mean <= level.upper(0.025),
        )
    assert (held / tries >= (quantile, least, least)).all(), held / tries


def test_runs_that_are_alike_are_one_sample() -> None:
    values, _ = drawn(np.random.default_rng(3), 1, 800, 0.0)
    run = np.arange(800) // 200
    assert quantile_estimate(values, 0.5, runs=run) == quantile_estimate(values, 0.5)
    one, pooled = mean_estimate(values), mean_estimate(values, run)
    assert (one.value, one.freedom) == (pooled.value, pooled.freedom)


def test_few_runs_that_differ_span_what_they_were() -> None:
    rng = np.random.default_rng(4)
    for runs in (2, 4, 20):
        run = np.repeat(np.arange(runs), 100)
        values = 100.0 * (1.0 + 0.5 * (run % 2)) + rng.standard_normal(len(run))
        found = quantile_estimate(values, 0.5, runs=run)
        assert Occasions.of(values, run).differ
        assert found.lo is not None
        assert found.hi is not None
        # Levels of 100 and 150.
        assert found.lo < 101.0
        assert found.hi > 149.0


def test_levels_within_five_per_cent_are_one_however_sure_the_difference() -> None:
    rng = np.random.default_rng(5)
    run = np.repeat([0, 1], 100)
    values = 100.0 + 3.0 * run + 0.1 * rng.standard_normal(200)
    assert not Occasions.of(values, run).differ
    assert quantile_estimate(values, 0.95, runs=run).hi == pytest.approx(103.0, abs=0.5)
    assert mean_estimate(values, run).freedom > 100


def test_runs_that_differ_far_from_a_limit_keep_it_all_the_same() -> None:
    """120 requests at 150 ms and 27 at 180: the limit of 400 ms is not nearer for that."""
    rng = np.random.default_rng(6)
    run = np.repeat([0, 1], [120, 27])
    times = np.where(run, 180.0, 150.0) * np.exp(0.02 * rng.standard_normal(147))
    assert Occasions.of(times, run).differ
    far, near = (share_estimate(times / limit, 0.95, runs=run) for limit in (400.0, 190.0))
    assert far.lower(0.006) > 0.95
    assert near.lower(0.006) < 0.5


def test_bounds_at_a_small_error_are_students_for_so_few_runs() -> None:
    """Of 3 runs the mean is between t quantiles of 2 degrees of freedom: 6.965 at 1 %."""
    values = np.repeat([90.0, 100.0, 110.0], 40) + np.tile([-0.01, 0.01], 60)
    found = mean_estimate(values, np.repeat(np.arange(3), 40))
    reach = 6.96456 * 10.0 * np.sqrt(1.0 / 3.0) / 100.0
    assert found.freedom == 2.0
    assert found.upper(0.01) == pytest.approx(100.0 * np.exp(reach), rel=1e-6)


def test_the_variance_ratio_is_fishers() -> None:
    """By hand: means 2 and 5, squares between 13.5 with 1 degree, within 4 with 4."""
    run, sizes = np.repeat([0, 1], 3), np.array([3, 3])
    assert variance_ratio(np.array([1.0, 2, 3, 4, 5, 6]), run, sizes) == pytest.approx(13.5)
    assert variance_ratio(np.array([0.1] * 6), run, sizes) == 1.0
    assert variance_ratio(np.array([0.1] * 3 + [0.2] * 3), run, sizes) == np.inf


def test_calls_of_jobs_in_runs_that_differ() -> None:
    """Jobs of 5 calls each, 10 jobs a run: runs, not jobs, are what the interval rests on."""
    rng, held, tries = np.random.default_rng(8), 0, 60
    for _ in range(tries):
        run = np.repeat(np.arange(8), 50)
        job = np.arange(400) // 5
        level = 0.3 * rng.standard_normal(8)[run] + 0.2 * rng.standard_normal(80)[job]
        values = MEDIAN * np.exp(level + 0.2 * rng.standard_normal(400))
        found = quantile_estimate(values, 0.5, jobs=job, runs=run)
        assert found.lo is not None
        held += found.lo <= MEDIAN and (found.hi is None or found.hi >= MEDIAN)
    assert held >= 0.85 * tries

import numpy as np
import pytest
from scipy.stats import beta, binom

from paceline.stats.clustered_share import ShareEstimate, share_estimate


def test_bounds_are_clopper_and_pearsons() -> None:
    found = ShareEstimate(45, 50)
    assert found.lower(0.025) == pytest.approx(beta.ppf(0.025, 45, 6))
    assert found.upper(0.025) == pytest.approx(beta.ppf(0.975, 46, 5))
    # Of all that met, the bound is the power of Hanley and Lippman-Hand's rule.
    assert ShareEstimate(60, 60).lower(0.05) == pytest.approx(0.05 ** (1 / 60))
    assert ShareEstimate(0, 60).lower(0.05) == 0.0
    assert ShareEstimate(60, 60).upper(0.05) == 1.0


def test_dependent_requests_count_for_less() -> None:
    alone, together = ShareEstimate(190, 200), ShareEstimate(190, 200, 4.0)
    assert together.effective_n == 50.0
    assert together.lower(0.025) == pytest.approx(beta.ppf(0.025, 47.5, 3.5))
    assert together.lower(0.025) < alone.lower(0.025) < alone.upper(0.025) < together.upper(0.025)


def test_needed_is_the_fewest_at_which_a_bound_passes() -> None:
    all_met = ShareEstimate(30, 30)
    needs = all_met.more_needed(0.95, above_error=0.05, below_error=0.05)
    # 0.05^(1/n) >= 0.95 from n = 59 on.
    assert needs == 29
    failing = ShareEstimate(20, 30)
    needed = failing.more_needed(0.8, above_error=0.025, below_error=0.025)
    assert needed is not None
    n = 30 + needed
    assert (
        ShareEstimate(n * 2 / 3, n).upper(0.025) < 0.8 <= ShareEstimate((n - 1) * 2 / 3, n - 1).upper(0.025)
    )
    assert ShareEstimate(95, 100).more_needed(0.95, above_error=0.05, below_error=0.05) is None
    assert ShareEstimate(0, 0).more_needed(0.5, above_error=0.05, below_error=0.05, fewest=20) == 20


def test_independent_requests_hardly_lose_any_and_blocks_do() -> None:
    rng = np.random.default_rng(1)
    n = 400
    single = share_estimate(np.exp(rng.normal(-1.0, 0.6, n)), 0.95)
    assert 1.0 <= single.inflation < 2.5
    common = np.repeat(rng.normal(size=n // 20), 20)
    blocked = share_estimate(np.exp(-1.0 + 0.6 * (0.8 * common + 0.6 * rng.normal(size=n))), 0.95)
    assert blocked.inflation > 3.0


def test_calls_of_one_job_are_one_witness_where_they_agree() -> None:
    rng = np.random.default_rng(2)
    jobs = np.repeat(np.arange(40), 10)
    same = np.repeat(np.where(rng.random(40) < 0.8, 0.5, 2.0), 10)
    found = share_estimate(same, 0.8, jobs)
    assert found.n == 400
    assert found.effective_n < 60


def test_failed_requests_are_misses() -> None:
    closeness = np.array([0.5] * 30 + [np.inf] * 10)
    found = share_estimate(closeness, 0.9)
    assert (found.met, found.n) == (30, 40)


def test_lower_bounds_hold_for_blocks_as_often_as_they_say() -> None:
    rng = np.random.default_rng(3)
    share, error, missed, rounds = 0.9, 0.05, 0, 300
    limit = float(np.exp(1.2815515655446004 * 0.5))
    for _ in range(rounds):
        common = np.repeat(rng.normal(size=10), 20)
        values = np.exp(0.5 * (np.sqrt(0.4) * common + np.sqrt(0.6) * rng.normal(size=200)))
        missed += share_estimate(values / limit, share).lower(error) > share
    # No more than chance lets 5 % be.
    assert missed <= binom.ppf(0.999, rounds, error)


def test_what_neighbours_have_in_common_in_a_thousandth_of_the_limit_is_no_dependence() -> None:
    walk = np.cumsum(np.random.default_rng(5).normal(size=240)) / 100.0
    near = share_estimate(0.4 * (1.0 + 0.001 * walk), 0.95)
    assert near.effective_n > 200
    assert share_estimate(0.4 * np.exp(5.0 * walk), 0.95).effective_n < 60

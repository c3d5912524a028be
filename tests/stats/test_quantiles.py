import math

import numpy as np
import pytest

from paceline.stats.quantiles import percentile, quantile_estimate, quantile_estimates


def ramp(n: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """1..n in an order without trend."""
    return np.random.default_rng(1).permutation(np.arange(1.0, n + 1.0))


def test_percentile_is_numpy_s_linear_one() -> None:
    assert percentile([1.0, 2.0, 3.0, 4.0], 0.5) == 2.5
    assert percentile([10.0, 20.0], 0.9) == 19.0
    assert math.isnan(percentile([], 0.5))


@pytest.mark.parametrize("q", [-0.1, 50, 99])
def test_percentile_takes_a_fraction(q: float) -> None:
    with pytest.raises(ValueError, match="fraction"):
        percentile([1.0], q)


def test_the_interval_of_a_median_is_the_textbook_one() -> None:
    # n = 100, p = 0.5: P(B <= 39) = 0.0176 and P(B >= 61) = 0.0176; one rank further in exceeds 2.5 %.
    found = quantile_estimate(ramp(100), 0.5, dependent=False)
    assert (found.lo, found.value, found.hi) == (40.0, 50.5, 61.0)
    assert found.enough
    assert found.needs_n is None
    assert found.n == 100


def test_the_interval_widens_with_confidence() -> None:
    narrow = quantile_estimate(ramp(500), 0.9, confidence=0.5, dependent=False)
    wide = quantile_estimate(ramp(500), 0.9, confidence=0.99, dependent=False)
    assert narrow.lo is not None
    assert narrow.hi is not None
    assert wide.lo is not None
    assert wide.hi is not None
    assert wide.lo < narrow.lo < narrow.value < narrow.hi < wide.hi


@pytest.mark.parametrize(("q", "fewest"), [(0.5, 6), (0.9, 36), (0.95, 72), (0.99, 368)])
def test_the_fewest_samples_that_bound_a_quantile(q: float, fewest: int) -> None:
    # q^n <= 0.025.
    assert quantile_estimate(ramp(fewest), q, dependent=False).enough
    short = quantile_estimate(ramp(fewest - 1), q, dependent=False)
    assert not short.enough
    assert short.hi is None
    assert short.needs_n == fewest
    assert short.value == percentile(np.arange(1.0, fewest), q)


def test_no_samples() -> None:
    found = quantile_estimate([], 0.99)
    assert math.isnan(found.value)
    assert (found.lo, found.hi, found.enough, found.n, found.needs_n) == (None, None, False, 0, 368)
    assert found.to_dict()["value"] is None


def test_dependence_widens_the_interval() -> None:
    rng = np.random.default_rng(2)
    steps = np.repeat(rng.normal(0.0, 1.0, 50), 10) + rng.normal(0.0, 0.1, 500)
    shuffled = rng.permutation(steps)

    def width(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
        found = quantile_estimate(values, 0.5)
        assert found.lo is not None
        assert found.hi is not None
        return found.hi - found.lo

    assert width(steps) > 2.0 * width(shuffled)


def test_equal_values_are_no_trouble() -> None:
    found = quantile_estimate(np.full(400, 7.0), 0.99)
    assert (found.lo, found.value, found.hi) == (7.0, 7.0, 7.0)


def test_few_timeouts_leave_the_median_known_and_the_tail_not() -> None:
    timeouts = np.full(20, 120_000.0)
    p50, p99 = quantile_estimates(ramp(980), [0.5, 0.99], censored=timeouts, dependent=False)
    # The median of 1000 values of which 20 lie beyond all others.
    assert p50.value == pytest.approx(500.5)
    assert p50.enough
    assert p50.n == 1000
    assert p99.value == 120_000.0
    assert not p99.enough
    assert p99.hi is None
    assert p99.lo is not None
    assert p99.needs_n is None  # with 2 % timed out, no number of requests tells the p99


def test_a_known_quantile_whose_upper_end_is_censored() -> None:
    found = quantile_estimate(ramp(996), 0.99, censored=np.full(4, 1e5), dependent=False)
    assert found.value == pytest.approx(990.01)
    assert found.hi is None
    assert not found.enough
    assert found.needs_n is not None
    assert found.needs_n > 1000
    more = round(found.needs_n * 0.004)
    values = ramp(found.needs_n - more)
    assert quantile_estimate(values, 0.99, censored=np.full(more, 1e5), dependent=False).enough


def test_early_cuts_lie_between_the_two_extreme_readings() -> None:
    rng = np.random.default_rng(3)
    times, cuts = rng.exponential(1.0, 4000), rng.exponential(3.0, 4000)
    seen, bounds = times[times <= cuts], cuts[times > cuts]
    found = quantile_estimate(seen, 0.5, censored=bounds, dependent=False)
    # Kaplan-Meier is consistent: the true median is ln 2. Dropping the cut ones would say about 0.52.
    assert found.value == pytest.approx(math.log(2.0), rel=0.05)
    assert percentile(seen, 0.5) < 0.58
    assert found.lo is not None
    assert found.hi is not None
    assert found.lo < math.log(2.0) < found.hi


def test_everything_censored() -> None:
    found = quantile_estimate([], 0.5, censored=[10.0, 20.0, 30.0])
    assert found.value == 20.0
    assert not found.enough
    assert found.hi is None


@pytest.mark.parametrize("q", [0.0, 1.0, 99.0])
def test_the_extremes_have_no_interval(q: float) -> None:
    with pytest.raises(ValueError, match="strictly between"):
        quantile_estimates([1.0, 2.0], [q])

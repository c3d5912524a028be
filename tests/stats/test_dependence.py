import math

import numpy as np
import pytest

from paceline.stats.dependence import Dependence, block_leak
from tests.support.simulation import autocorrelated


def mean_inflation(rho: float, n: int, q: float, replications: int = 60) -> float:
    series = autocorrelated(rho)
    draws = series.draw(np.random.default_rng(5), replications, n)
    found = [Dependence.of(values).inflation(q, float(np.quantile(values, q))) for values in draws]
    return float(np.mean(found))


def exact_median_inflation(rho: float) -> float:
    """Indicators of a Gaussian series at its median correlate by 2/pi asin(rho^k) at lag k."""
    return 1.0 + 2.0 * sum(2.0 / math.pi * math.asin(rho**k) for k in range(1, 200))


@pytest.mark.parametrize("rho", [0.0, 0.3, 0.5, 0.7])
def test_inflation_of_a_known_series(rho: float) -> None:
    assert mean_inflation(rho, 2000, 0.5) == pytest.approx(exact_median_inflation(rho), rel=0.12)


def test_blocks_of_a_long_series_say_the_same() -> None:
    assert mean_inflation(0.5, 20_000, 0.5, 20) == pytest.approx(exact_median_inflation(0.5), rel=0.15)
    assert mean_inflation(0.0, 20_000, 0.99, 20) == pytest.approx(1.0, abs=0.2)


def test_the_tail_depends_less_than_the_middle() -> None:
    assert 1.0 <= mean_inflation(0.5, 4000, 0.99) < mean_inflation(0.5, 4000, 0.5)


def test_slow_values_in_clusters_are_seen() -> None:
    rng = np.random.default_rng(6)
    values = rng.lognormal(0.0, 0.3, 3000)
    for start in range(50, 3000, 300):
        values[start : start + 12] *= 20.0
    scattered = rng.permutation(values)
    q = float(np.quantile(values, 0.98))
    assert Dependence.of(values).inflation(0.98, q) > 3.0
    assert Dependence.of(scattered).inflation(0.98, q) < 1.5


@pytest.mark.parametrize("values", [np.arange(5.0), np.full(100, 3.0), np.full(20_000, 3.0), np.empty(0)])
def test_too_few_or_equal_values_show_no_dependence(
    values: np.ndarray[tuple[int], np.dtype[np.float64]],
) -> None:
    assert Dependence.of(values).inflation(0.5, 3.0) == 1.0


def test_a_trend_counts_as_strong_dependence() -> None:
    assert Dependence.of(np.arange(500.0)).inflation(0.5, 249.5) > 20.0


def test_block_leak() -> None:
    assert block_leak(np.random.default_rng(7).normal(size=3000), 10) == pytest.approx(1.0, abs=0.05)
    values = autocorrelated(0.5).draw(np.random.default_rng(8), 1, 5000)[0]
    # 1 + 2 sum rho^k = 3; blocks of 10 see 1 + 2 sum (1 - k/10) rho^k = 2.6.
    assert block_leak(values, 10) == pytest.approx(3.0 / 2.6, abs=0.06)

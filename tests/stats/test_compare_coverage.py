"""Do the intervals of ratios and differences cover what they promise? See benches/coverage.py for more."""

import math

import pytest

from paceline.stats.compare import Statistic
from tests.support.simulation import Series, autocorrelated, comparison_coverage, stalled

SERIES = [pytest.param(stalled(), id="stalled"), pytest.param(autocorrelated(0.5), id="autocorrelated")]


@pytest.mark.parametrize(
    ("statistic", "n", "replications"),
    [("p50", 100, 800), ("mean", 100, 800), ("mean", 400, 600), ("p99", 1000, 400)],
)
@pytest.mark.parametrize("series", SERIES)
def test_bootstrap_intervals_cover(series: Series, statistic: Statistic, n: int, replications: int) -> None:
    ratio, difference = comparison_coverage(series, statistic, n, replications, seed=12)
    simulation_error = 2.0 * math.sqrt(0.95 * 0.05 / replications)
    for covered in (ratio, difference):
        assert 0.93 - simulation_error <= covered <= 0.97 + simulation_error

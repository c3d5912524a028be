"""Do the intervals of quantiles cover what they promise? Fixed seeds; see benches/coverage.py for more."""

import pytest

from tests.support.simulation import Series, autocorrelated, interval_coverage, stalled

SERIES = [pytest.param(stalled(), id="stalled"), pytest.param(autocorrelated(0.5), id="autocorrelated")]

# Where only a chosen few samples are bounded, their coverage says nothing of the method.
ENOUGH_BOUNDED = 0.2


@pytest.mark.parametrize("n", [100, 400, 1000])
@pytest.mark.parametrize("series", SERIES)
def test_order_statistic_intervals_cover(series: Series, n: int) -> None:
    found = interval_coverage(series, n, replications=1200, seed=11)
    for q in (0.5, 0.9):
        assert found[q].bounded > 0.7
        assert 0.94 <= found[q].covered <= 0.99, (q, found[q])
    if n == 100:
        assert found[0.99].bounded == 0.0
    elif found[0.99].bounded > ENOUGH_BOUNDED:
        assert 0.94 <= found[0.99].covered <= 0.99, found[0.99]
    if n == 1000:
        assert found[0.99].bounded > 0.9

import math

import numpy as np
import pytest

from paceline.stats.means import mean_estimate


def test_intervals_cover_the_mean_of_blocks_that_differ() -> None:
    """Blocks of 20 with a level of their own: the truth lies within in about 95 of 100, not far fewer."""
    rng = np.random.default_rng(3)
    hits = 0
    for _ in range(400):
        levels = rng.normal(10.0, 2.0, 12)
        values = np.repeat(levels, 20) + rng.normal(0.0, 1.0, 240)
        found = mean_estimate(values, np.repeat(np.arange(12), 20), replicates=500)
        assert found.lo is not None
        assert found.hi is not None
        hits += found.lo <= 10.0 <= found.hi
    assert 0.92 <= hits / 400 <= 0.985


def test_the_value_is_the_mean_and_blocks_may_have_any_numbers() -> None:
    values = np.arange(12.0)
    found = mean_estimate(values, [90, 90, 7, 7, 8, 8, 3, 3, 4, 4, 5, 5])
    assert found.value == pytest.approx(5.5)
    assert found.lo is not None
    assert found.hi is not None
    assert found.lo < 5.5 < found.hi
    assert (found.n, found.needs_n) == (12, None)


def test_too_few_blocks_give_no_interval() -> None:
    found = mean_estimate([1.0, 2.0, 3.0, 4.0], [0, 0, 1, 1])
    assert (found.value, found.lo, found.hi, found.needs_n) == (2.5, None, None, 10)
    none = mean_estimate([], [])
    assert math.isnan(none.value)
    assert none.lo is None


def test_equal_values_have_no_spread() -> None:
    found = mean_estimate([0.1] * 30, np.repeat(np.arange(6), 5))
    assert found.lo == pytest.approx(0.1)
    assert found.hi == pytest.approx(0.1)
    assert found.lo is not None
    assert found.lo <= found.value

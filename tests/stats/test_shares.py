import math

import numpy as np
import pytest

from paceline.stats.shares import compare_failures, share_difference


def test_the_interval_is_newcombe_s() -> None:
    """Newcombe 1998, table II, method 10: 56/70 against 48/80, and 9/10 against 3/10."""
    found = share_difference((48, 80), (56, 70))
    assert found.value == pytest.approx(0.2)
    assert found.lo == pytest.approx(0.0524, abs=1e-4)
    assert found.hi == pytest.approx(0.3339, abs=1e-4)
    found = share_difference((3, 10), (9, 10))
    assert found.lo == pytest.approx(0.1705, abs=1e-4)
    assert found.hi == pytest.approx(0.8090, abs=1e-4)


def test_nothing_on_a_side_shows_nothing() -> None:
    found = share_difference((0, 0), (1, 5))
    assert math.isnan(found.value)
    assert (found.lo, found.hi) == (None, None)


def test_the_interval_covers() -> None:
    rng = np.random.default_rng(1)
    hits = 0
    for _ in range(2000):
        found = share_difference((int(rng.binomial(60, 0.03)), 60), (int(rng.binomial(60, 0.2)), 60))
        assert found.lo is not None
        assert found.hi is not None
        hits += found.lo <= 0.17 <= found.hi
    assert hits / 2000 > 0.93


@pytest.mark.parametrize(
    ("a", "b", "outcome"),
    [
        ((0, 100), (20, 100), "worse"),
        ((20, 100), (0, 100), "better"),
        ((2, 1000), (3, 1000), "no difference"),
        ((0, 10), (2, 10), "not enough data"),
    ],
)
def test_verdicts(a: tuple[int, int], b: tuple[int, int], outcome: str) -> None:
    assert compare_failures(a, b).verdict.outcome == outcome

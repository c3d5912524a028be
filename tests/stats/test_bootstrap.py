import numpy as np
import pytest

from paceline.stats.bootstrap import Blocks

NONE = np.empty(0)


def blocks(n: int, count: int, censored: np.ndarray[tuple[int], np.dtype[np.float64]] = NONE) -> Blocks:
    rng = np.random.default_rng(1)
    values = np.round(rng.lognormal(0.0, 1.0, n), 2)  # rounded, so that there are ties
    return Blocks(values, np.arange(n) * count // n, count, censored)


@pytest.mark.parametrize("q", [0.5, 0.9, 0.99])
def test_replicates_are_quantiles_of_the_drawn_blocks(q: float) -> None:
    side = blocks(300, 12)
    draws = side.draws(50, np.random.default_rng(2))
    assert draws.sum(axis=1).tolist() == [12.0] * 50
    expected = [np.quantile(np.repeat(side.values, draw[side.ids].astype(int)), q) for draw in draws]
    np.testing.assert_allclose(side.quantiles(draws, np.zeros(len(draws)), q), expected)


def test_replicates_are_means_of_the_drawn_blocks() -> None:
    side = blocks(310, 7)
    draws = side.draws(50, np.random.default_rng(2))
    expected = [np.mean(np.repeat(side.values, draw[side.ids].astype(int))) for draw in draws]
    np.testing.assert_allclose(side.means(draws, np.zeros(len(draws))), expected)


@pytest.mark.parametrize("q", [0.5, 0.99])
def test_a_large_sample_is_nearly_exact(q: float) -> None:
    side = blocks(200_000, 20)
    side = Blocks(side.values + np.linspace(0.0, 1e-3, 200_000), side.ids, 20, NONE)
    draws = side.draws(10, np.random.default_rng(3))
    expected = [np.quantile(np.repeat(side.values, draw[side.ids].astype(int)), q) for draw in draws]
    np.testing.assert_allclose(side.quantiles(draws, np.zeros(len(draws)), q), expected, rtol=2e-3)


def test_censored_values_lie_beyond_all_others() -> None:
    side = blocks(90, 6, np.full(10, 0.001))
    once, cut = np.ones((1, 6), np.float32), np.array([10.0])
    at_infinity = np.sort(np.concatenate([side.values, np.full(10, 1e9)]))
    assert side.quantiles(once, cut, 0.5)[0] == pytest.approx(np.quantile(at_infinity, 0.5))
    assert side.quantiles(once, cut, 0.95)[0] == np.inf
    assert side.means(once, cut)[0] == pytest.approx((side.values.sum() + 0.01) / 100)
    drawn = side.cuts(1000, np.random.default_rng(4))
    assert drawn.mean() == pytest.approx(10.0, rel=0.05)
    assert blocks(90, 6).cuts(5, np.random.default_rng(4)).tolist() == [0.0] * 5

"""What is lost between two sides, against hand-made cases and a truth that was planted."""

import math

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from paceline.stats.agreement import agreement, agreement_once, exact

Floats = npt.NDArray[np.float64]


def prompts(a: npt.ArrayLike, b: npt.ArrayLike) -> Floats:
    """Agreement of answers given as numbers: a, b int[n, 2]."""
    (a1, a2), (b1, b2) = np.asarray(a).T, np.asarray(b).T
    pairs = ((a1, a2), (b1, b2), (a1, b1), (a1, b2), (a2, b1), (a2, b2))
    return np.stack([one == other for one, other in pairs], axis=1).astype(np.float64)


def world(seed: int, n: int, *, differ: float = 0.0, noisy: float = 0.0, ways: int = 3) -> Floats:
    """A share `noisy` of prompts is answered in one of `ways` by chance; a share `differ` otherwise by B."""
    rng = np.random.default_rng(seed)
    a, b = np.zeros((n, 2), np.int64), np.zeros((n, 2), np.int64)
    for place in np.flatnonzero(rng.random(n) < noisy):
        chances = rng.dirichlet(np.ones(ways))
        a[place], b[place] = rng.choice(ways, 2, p=chances), rng.choice(ways, 2, p=chances)
    b[rng.random(n) < differ] += 100
    return prompts(a, b)


def test_a_hand_made_case() -> None:
    # Prompt 0: all alike. 1: A in two ways, B always as A's first. 2: each repeats itself, the two differ.
    found = agreement(prompts([[1, 1], [1, 2], [1, 1]], [[1, 1], [1, 1], [2, 2]]))
    assert found.a.value == pytest.approx(2 / 3)
    assert found.b.value == 1.0
    assert found.ab.value == pytest.approx((1 + 0.5 + 0) / 3)
    assert found.lost.value == pytest.approx(1 - 0.5 / (5 / 6))
    assert found.repeats == pytest.approx(5 / 6)
    assert found.n == 3


def test_intervals_are_the_exact_ones() -> None:
    found = exact(3, 20)
    assert (found.lo, found.hi) == pytest.approx(stats.binomtest(3, 20).proportion_ci(method="exact"))
    # All alike says nothing of prompts that were not asked: 1 - 0.025^(1/n).
    alike = agreement(world(1, 60))
    assert alike.lost.value == 0.0 == alike.lost.lo
    assert alike.lost.hi == pytest.approx(1 - 0.025 ** (1 / 60))


def test_the_chance_of_the_true_pairing_is_exact() -> None:
    """Of k prompts that differ wholly each fits the true pairing by chance in one of three cases."""
    for k in (1, 2, 3, 4):
        b = np.ones((30, 2), np.int64)
        b[:k] = 2
        assert agreement(prompts(np.ones((30, 2)), b)).p_value == pytest.approx(3.0**-k, abs=0.015)


def test_nothing_to_tell() -> None:
    none = agreement(np.zeros((0, 6)))
    assert none.n == 0
    assert none.p_value == 1.0
    assert none.seen is None
    assert math.isnan(none.lost.value)
    assert none.lost.hi is None
    never = agreement(np.zeros((50, 6)))
    assert never.repeats == 0.0
    assert never.lost.lo is None
    assert never.p_value == 1.0
    assert never.more_for_same(0.1) is None
    assert never.more_for_different() is None
    # Two that never repeat themselves are not shown to be one by never agreeing.
    assert never.lost.hi is None


@pytest.mark.parametrize("noisy", [0.0, 0.3, 1.0])
def test_one_and_the_same_is_seldom_told_apart(noisy: float) -> None:
    """Over 200 worlds: p below 2.5 % in at most that share, with room for chance (4 standard errors)."""
    found = [agreement(world(seed, 60, noisy=noisy), seed=seed) for seed in range(200)]
    low = sum(one.p_value <= 0.025 for one in found)
    assert low <= 200 * 0.025 + 4 * math.sqrt(200 * 0.025 * 0.975)
    above = sum((one.lost.lo or 0.0) > 0.0 for one in found)
    assert above <= 200 * 0.05


@pytest.mark.parametrize(("noisy", "differ"), [(0.0, 0.05), (0.3, 0.15), (0.8, 0.3)])
def test_intervals_hold_what_was_planted(noisy: float, differ: float) -> None:
    """Of 150 worlds the interval leaves out the truth in at most 5 %, and 4 standard errors."""
    # B says something else in a share of prompts that does not depend on how they repeat.
    missed = 0
    for seed in range(150):
        found = agreement(world(seed, 60, noisy=noisy, differ=differ), seed=seed).lost
        assert found.lo is not None
        assert found.hi is not None
        missed += not found.lo <= differ <= found.hi
    assert missed <= 150 * 0.05 + 4 * math.sqrt(150 * 0.05 * 0.95)


def test_what_could_have_been_seen_is_seen_four_times_in_five() -> None:
    seen = agreement(world(1, 60)).seen
    assert seen is not None
    assert 0.05 < seen < 0.15
    shown = sum(
        one.p_value <= 0.025 and (one.lost.lo or 0.0) > 0.0
        for one in (agreement(world(seed, 60, differ=seen), seed=seed) for seed in range(300))
    )
    assert 0.72 <= shown / 300 <= 0.92


def test_how_many_more_prompts_are_enough() -> None:
    few = agreement(world(3, 20))
    more = few.more_for_same(0.1)
    assert more is not None
    enough = agreement(world(3, 20 + more)).lost
    assert enough.hi is not None
    assert enough.hi <= 0.1
    barely = agreement(world(3, 20 + more - 3)).lost
    assert barely.hi is not None
    assert barely.hi > 0.1
    assert agreement(world(1, 30, differ=1.0)).more_for_same(0.1) is None


def test_asked_once_there_is_only_an_upper_end() -> None:
    alike = agreement_once(np.ones(60))
    assert alike.lost.lo is None
    assert alike.lost.hi == pytest.approx(1 - 0.025 ** (1 / 60))
    assert alike.p_value == 1.0
    half = agreement_once([1.0, 0.0] * 30)
    assert half.lost.value == 0.5
    assert half.more_for_same(0.1) is None
    assert agreement_once(np.ones(20)).more_for_same(0.1) == pytest.approx(16, abs=2)


def test_many_prompts() -> None:
    found = agreement(world(1, 5_000, differ=0.05))
    assert found.lost.lo is not None
    assert found.lost.hi is not None
    assert found.lost.lo < 0.05 < found.lost.hi < 0.06

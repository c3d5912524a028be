import numpy as np
import pytest

from paceline.stats.changes import FEWEST, Floats, changes, detectable


def noise(n: int, seed: int, sigma: float = 0.05) -> Floats:
    return 100.0 * np.exp(sigma * np.random.default_rng(seed).standard_normal(n))


def test_a_planted_change_is_found_where_it_is() -> None:
    series = noise(40, 1)
    series[25:] *= 1.2
    (found,) = changes(series)
    assert abs(found.place - 25) <= 1
    assert found.p < 0.01
    assert found.lo < 1.2 < found.hi
    assert found.ratio == pytest.approx(1.2, abs=0.05)


def test_two_changes_there_and_back() -> None:
    series = noise(60, 2)
    series[20:40] *= 1.3
    first, second = changes(series)
    assert abs(first.place - 20) <= 1
    assert abs(second.place - 40) <= 1
    assert first.ratio > 1.2
    assert second.ratio < 0.85


def test_noise_is_rarely_a_change() -> None:
    """At most 5 % of series without one: of 300, 15, and three standard deviations more."""
    wrong = sum(bool(changes(noise(30, seed), seed=seed)) for seed in range(300))
    assert wrong <= 15 + 3 * 3.8


def test_likeness_of_neighbours_is_seldom_taken_for_a_change() -> None:
    """Hours of which each is half like the one before: in random order 4 of 10 such series show a change."""
    found = 0
    for seed in range(60):
        drawn = np.random.default_rng(seed).standard_normal(80)
        series = np.zeros(80)
        for place in range(1, 80):
            series[place] = 0.5 * series[place - 1] + drawn[place]
        found += bool(changes(100.0 * np.exp(0.1 * series[20:])))
    assert found <= 12


def test_one_wild_value_is_no_change() -> None:
    series = noise(20, 3)
    series[11] *= 50
    assert changes(series) == []


def test_the_ratio_by_hand() -> None:
    # Before 1 and after 2 throughout: every difference of logarithms is log 2.
    (found,) = changes([1.0] * 6 + [2.0] * 6)
    assert (found.place, found.ratio, found.lo, found.hi) == (6, *[pytest.approx(2.0)] * 3)
    # 12 values, one split of 924 is this one and its mirror image is the other.
    assert found.p == pytest.approx(2 / 924, abs=0.0025)


def test_the_interval_covers_the_planted_ratio() -> None:
    covered = 0
    for seed in range(100):
        series = noise(40, seed)
        series[20:] *= 1.5
        found = changes(series, seed=seed)
        covered += len(found) == 1 and found[0].lo <= 1.5 <= found[0].hi
    assert covered >= 88


def test_too_few_values_show_nothing() -> None:
    assert changes([1.0] * (FEWEST // 2) + [9.0] * (FEWEST // 2 - 1)) == []
    assert detectable([1.0] * (FEWEST - 1)) == np.inf


def test_what_would_have_been_seen_is_mostly_seen() -> None:
    seen = 0
    for seed in range(60):
        series = noise(24, seed)
        series[12:] *= 1.0 + detectable(noise(24, seed))
        seen += bool(changes(series, seed=seed))
    assert seen >= 40


def test_levels_are_positive() -> None:
    with pytest.raises(ValueError, match="positive"):
        changes([0.0] * 10)

import math

import numpy as np
import pytest
from scipy.stats import binomtest, t

from paceline.stats.capacity_margin import QUANTILES, Closeness, chance_to_miss
from paceline.stats.capacity_search import Asked, Observation, finding, next_loads

# Fifty searches a test: half a minute each on two busy cores.
pytestmark = pytest.mark.timeout(900)

WHOLE = Asked(share=0.95, lowest=1.0, highest=64.0, whole=True)
NEAR = Closeness(median=-0.034, high=-0.026)


def test_the_quantile_at_the_share_or_the_next_one_that_is_kept() -> None:
    ratios = [0.5, 0.6, 0.7, 0.8, 0.9]
    assert Closeness.of(ratios, 0.95) == Closeness(math.log(0.5), math.log(0.8))
    assert Closeness.of(ratios, 0.93) == Closeness(math.log(0.5), math.log(0.8))
    assert Closeness.of(ratios, 0.999) is None
    assert Closeness.of([0.5, 0.6, 0.7, None, None], 0.95) is None
    assert Closeness.of([0.0, 0.0, 0.0, 0.8, 0.9], 0.95) is None
    assert Closeness.of(None, 0.95) is None


def test_clear_is_a_limit_far_beyond_what_requests_differ_by() -> None:
    assert Closeness(median=-0.05, high=-0.03).clear
    assert not Closeness(median=-0.05, high=-0.02).clear
    assert not Closeness(median=-0.05, high=0.01).clear


def test_the_chance_is_that_of_one_more_step_by_students_t() -> None:
    highs = [-0.02, -0.03, -0.025, -0.035]
    steps = [(100, 100, Closeness(high - 0.005, high)) for high in highs]
    mean, spread = np.mean(highs), np.std(highs, ddof=1)
    expected = t.cdf(mean / (spread * math.sqrt(1.25)), 3)
    assert chance_to_miss(steps, 0.95) == pytest.approx(expected)


def test_no_margin_is_more_certain_than_one_in_a_thousand() -> None:
    assert chance_to_miss([(100, 100, NEAR)] * 9, 0.95) == 1e-3


def test_nothing_is_said_of_few_steps_of_misses_or_where_one_is_not_clear() -> None:
    assert chance_to_miss([(100, 100, NEAR)] * 2, 0.95) is None
    assert chance_to_miss([(100, 98, NEAR)] * 3, 0.95) is None
    assert chance_to_miss([(100, 100, NEAR)] * 3 + [(100, 100, None)], 0.95) is None
    assert chance_to_miss([(100, 100, NEAR)] * 3 + [(100, 100, Closeness(-0.1, -0.01))], 0.95) is None


def test_a_clear_contrast_between_neighbours_ends_the_search() -> None:
    over = Closeness(0.02, 0.03)
    seen = [Observation(load, 40, (40,), (Closeness(-0.5, -0.49),)) for load in (1.0, 2.0, 4.0, 8.0)]
    seen += [Observation(16.0, 32, (0,), (Closeness(0.07, 0.08),))]
    seen += [Observation(12.0, 90, (90,), (Closeness(-0.2, -0.19),))] * 2
    for high in (-0.026, -0.027, -0.029):
        seen += [Observation(14.0, 70, (70,), (Closeness(-0.034, high),))] * 2
        seen += [Observation(15.0, 30, (8,), (over,))] * 2
    found = finding(seen, WHOLE)
    assert (found.verdict, found.load, found.hi) == ("found", 14.0, 14.0)
    unknown = [Observation(one.load, one.attempted, one.met) for one in seen]
    assert finding(unknown, WHOLE).verdict == "not enough data"


def test_the_wall_is_looked_for_where_the_metric_passes_its_limit() -> None:
    seen = [Observation(load, 40, (40,), (Closeness(-0.5, -0.45),)) for load in (1.0, 2.0, 4.0, 8.0)]
    seen += [Observation(16.0, 32, (0,), (Closeness(0.07, 0.08),))]
    assert {14.0, 15.0} <= set(next_loads(seen, WHOLE, 1))


def world(rng: np.random.Generator) -> tuple[float, float, float, tuple[float, float, float]]:
    """Time per token = base + part * load, its limit, and how far requests, waves and steps differ."""
    part = rng.uniform(0.03, 0.3)
    spread = np.array([0.005, 0.01, 0.003]) * np.exp(rng.normal(0.0, 0.5, 3))
    return 1.0, part, 1.0 + part * rng.uniform(6.0, 40.0), (spread[0], spread[1], spread[2])


def ratios(
    rng: np.random.Generator,
    of: tuple[float, float, float, tuple[float, float, float]],
    load: int,
    waves: int,
) -> np.ndarray:
    """Logarithms of value / limit of a step of so many waves, in each of which all in flight go together."""
    base, part, limit, (alone, wave, step) = of
    noise = alone * rng.normal(size=(waves, load)) + wave * rng.normal(size=(waves, 1)) + step * rng.normal()
    return np.asarray(math.log((base + part * load) / limit) + noise.ravel())


def capacity(of: tuple[float, float, float, tuple[float, float, float]]) -> int:
    """By the normal distribution of the sum of the three."""
    base, part, limit, spread = of
    reach = 1.6449 * math.hypot(*spread)
    return math.floor((limit * math.exp(-reach) - base) / part)


def test_walls_with_waves_and_steps_that_differ_are_not_found_above_their_capacity() -> None:
    above, found, seeds = 0, 0, 50
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        of = world(rng)
        seen: list[Observation] = []
        while len(seen) < 45 and (loads := next_loads(seen, WHOLE, seed)):
            for load in loads:
                log = ratios(rng, of, int(load), 6)
                if np.median(log) > 0.0:
                    log = log[: max(20, 2 * int(load))]
                high = np.exp(np.quantile(log, QUANTILES, method="inverted_cdf"))
                close = Closeness.of([float(value) for value in high], 0.95)
                seen.append(Observation(load, len(log), (int((log <= 0.0).sum()),), (close,)))
        one = finding(seen, WHOLE)
        found += one.verdict == "found"
        above += one.load is not None and one.load > capacity(of)
    assert binomtest(above, seeds, 0.05, alternative="greater").pvalue > 0.05
    assert found >= 0.8 * seeds

import math

import numpy as np
import pytest
from scipy.stats import binom, t

from paceline.stats.positive_mean import MeanEstimate, mean_estimate, ratio

LEVEL = {"error": 0.025, "margin": 0.05}


def test_independent_values_have_students_interval_on_the_logarithm() -> None:
    values = np.random.default_rng(1).lognormal(0.0, 0.4, 100)
    found = mean_estimate(values)
    spread = values.std(ddof=1) / 10.0 / values.mean()
    if found.freedom == 99.0:
        assert found.spread == pytest.approx(spread)
        reach = t.ppf(0.975, 99) * spread
        assert found.upper(0.025) == pytest.approx(values.mean() * math.exp(reach))
        assert found.lower(0.025) == pytest.approx(values.mean() * math.exp(-reach))
    else:
        assert found.spread > spread


def test_of_few_nothing_is_bounded_and_of_equal_ones_everything() -> None:
    few = mean_estimate(np.array([1.0, 2.0, 3.0]))
    assert (few.value, few.lower(0.05), few.upper(0.05)) == (2.0, 0.0, math.inf)
    equal = mean_estimate(np.full(5, 0.25))
    assert (equal.lower(0.01), equal.upper(0.01)) == (0.25, 0.25)
    assert math.isnan(mean_estimate(np.empty(0)).value)


def test_values_that_follow_each_other_tell_less() -> None:
    rng = np.random.default_rng(2)
    series = np.repeat(rng.lognormal(0.0, 0.5, 30), 10)
    alone = series.std(ddof=1) / math.sqrt(300) / series.mean()
    found = mean_estimate(series)
    assert found.spread > 2.0 * alone
    assert found.freedom < 60


def known(value: float, spread: float, n: int = 100) -> MeanEstimate:
    return MeanEstimate(value, spread, math.inf, n)


@pytest.mark.parametrize(
    ("a", "b", "relation"),
    [
        (known(2.0, 0.05), known(1.0, 0.05), "more"),
        (known(1.0, 0.05), known(2.0, 0.05), "less"),
        (known(1.0, 0.005), known(1.01, 0.005), "same"),
        (known(1.0, 0.2), known(1.1, 0.2), "unknown"),
        (known(0.0, 0.0), known(0.0, 0.0), "same"),
        (known(0.0, 0.0), known(1.0, 0.1), "less"),
        (known(1.0, 0.1), known(0.0, 0.0), "more"),
        (known(1.0, math.inf), known(2.0, 0.1), "unknown"),
    ],
)
def test_relations(a: MeanEstimate, b: MeanEstimate, relation: str) -> None:
    assert ratio(a, b, **LEVEL).relation == relation


def test_a_ratio_and_its_bounds() -> None:
    found = ratio(known(3.0, 0.03), known(2.0, 0.04), **LEVEL)
    assert found.value == pytest.approx(1.5)
    assert found.lo == pytest.approx(1.5 * math.exp(-1.959964 * 0.05), rel=1e-6)
    assert found.hi == pytest.approx(1.5 * math.exp(1.959964 * 0.05), rel=1e-6)


def test_needed_falls_with_the_square_of_what_is_missing() -> None:
    found = ratio(known(1.2, 0.2, 100), known(1.0, 0.2, 100), **LEVEL)
    reach = 1.959964 * math.hypot(0.2, 0.2)
    assert found.needs == math.ceil(100 * ((reach / math.log(1.2)) ** 2 - 1))
    assert known(1.2, 0.2).more_needed(1.0, 0.025) == math.ceil(
        100 * ((1.959964 * 0.2 / math.log(1.2)) ** 2 - 1)
    )
    assert known(1.0, 5.0).more_needed(1.0000001, 0.025) is None


def test_two_equal_means_are_hardly_ever_told_apart() -> None:
    rng = np.random.default_rng(4)
    rounds = 400
    wrong = 0
    for _ in range(rounds):
        a, b = (mean_estimate(rng.lognormal(0.0, 0.7, 40)) for _ in range(2))
        wrong += ratio(a, b, **LEVEL).relation in ("less", "more")
    assert wrong <= binom.ppf(0.999, rounds, 0.05)

import numpy as np
import pytest

from paceline.report.conformance.figures import NOTHING, linear, rate, rate_over_time, stepped


def test_linear_is_numpys_default() -> None:
    samples = np.random.default_rng(1).lognormal(size=97)
    found = linear(samples)
    assert found.p90 == np.percentile(samples, 90)
    assert (found.n, found.mean, found.max) == (97, samples.mean(), samples.max())
    assert linear([]) == NOTHING


def test_a_stepped_quantile_is_a_sample_and_not_between_two() -> None:
    found = stepped([4.0, 1.0, 3.0, 2.0])
    assert (found.p50, found.p90, found.p99, found.max) == (2.0, 4.0, 4.0, 4.0)
    assert stepped([]) == NOTHING


def test_weights_move_quantiles_and_mean_and_are_the_count() -> None:
    found = stepped([10.0, 20.0], [3.0, 1.0])
    assert (found.n, found.mean, found.p50, found.p90) == (4, 12.5, 10.0, 20.0)
    # Without any weight all count alike.
    assert stepped([10.0, 20.0], [0.0, 0.0]).mean == 15.0


def test_a_rate_is_so_much_over_the_time() -> None:
    assert rate(10, 4.0).mean == 2.5
    assert rate(10, 0.0) == NOTHING


def test_a_rate_over_time_gives_each_instant_the_time_around_it() -> None:
    # 0, 1 and 3 s, until 4 s: they own 0.5, 1.5, 1.5 and 0.5 s.
    found = rate_over_time([1.0, 3.0], [1.0, 2.0], 0.0, 4.0)
    assert found.n == 3
    assert found.mean == pytest.approx(3 / 4)
    assert found.p50 == pytest.approx(1 / 1.5)
    assert found.max == pytest.approx(2 / 1.5)


def test_instants_close_together_are_one_and_those_outside_are_none() -> None:
    found = rate_over_time([1.0, 1.00005, 9.0], [1.0, 1.0, 5.0], 0.0, 2.0)
    assert found.n == 2
    assert found.max == pytest.approx(2.0)
    assert rate_over_time([], [], 1.0, 1.0) == NOTHING

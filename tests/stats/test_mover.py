import numpy as np
import pytest

from paceline.stats.mover import Ends, difference, ratio


def test_symmetric_intervals_add_as_standard_errors_do() -> None:
    found = difference(Ends(10.0, 7.0, 13.0), Ends(4.0, 0.0, 8.0))
    assert (found.value, found.lo, found.hi) == (6.0, 1.0, 11.0)


def test_each_side_of_an_interval_counts_where_it_belongs() -> None:
    """The difference is low where a is low and b is high."""
    found = difference(Ends(10.0, 9.0, 18.0), Ends(4.0, 1.0, 4.0))
    assert found.lo == pytest.approx(6.0 - 1.0)
    assert found.hi == pytest.approx(6.0 + (8.0**2 + 3.0**2) ** 0.5)


def test_a_ratio_and_its_inverse_are_one() -> None:
    a, b = Ends(300.0, 280.0, 330.0), Ends(120.0, 100.0, 125.0)
    there, back = ratio(a, b), ratio(b, a)
    assert there is not None
    assert back is not None
    assert there.value == pytest.approx(2.5)
    assert there.lo == pytest.approx(1.0 / back.hi)
    assert there.hi == pytest.approx(1.0 / back.lo)


@pytest.mark.parametrize("end", [0.0, -1.0])
def test_there_is_no_ratio_where_an_end_is_not_positive(end: float) -> None:
    assert ratio(Ends(1.0, end, 2.0), Ends(1.0, 0.5, 2.0)) is None


def test_the_true_ratio_lies_inside_as_often_as_promised() -> None:
    """Means of 40 lognormal values, each with its own 95 % interval, 4,000 times: the truth is 1.5."""
    rng = np.random.default_rng(5)
    logs = [np.log(mean) + rng.normal(0.0, 0.4, (4_000, 40)) for mean in (3.0, 2.0)]
    middles = [one.mean(axis=1) for one in logs]
    halves = [2.0227 * one.std(axis=1, ddof=1) / 40**0.5 for one in logs]
    inside = 0
    for a, b, half_a, half_b in zip(*middles, *halves, strict=True):
        found = ratio(
            Ends(np.exp(a), np.exp(a - half_a), np.exp(a + half_a)),
            Ends(np.exp(b), np.exp(b - half_b), np.exp(b + half_b)),
        )
        assert found is not None
        inside += found.lo <= 1.5 <= found.hi
    assert inside / 4_000 == pytest.approx(0.95, abs=0.012)

import math

import numpy as np
import pytest

from paceline.stats.capacity import Posterior, Step, posterior


def known(*steps: tuple[float, int, int]) -> Posterior:
    return posterior([Step(*step) for step in steps], 0.95, 1.0, 64.0)


def test_one_step_that_passes_leaves_the_capacity_open_above() -> None:
    found = known((4.0, 200, 200))
    assert found.quantile(0.025) < 4.5
    assert found.quantile(0.975) > 64.0


def test_steps_on_both_sides_bracket_the_capacity() -> None:
    found = known(*[(4.0, 300, 300)] * 4, *[(8.0, 300, 60)] * 4)
    assert 3.5 < found.quantile(0.025) < found.quantile(0.975) < 8.5


def test_weights_are_a_distribution_over_ascending_loads() -> None:
    found = known((4.0, 100, 99), (8.0, 100, 80))
    assert found.weight.sum() == pytest.approx(1.0)
    assert (np.diff(found.log_load) > 0).all()
    assert found.above(1e-6) == 1.0
    assert found.above(1e9) == 0.0
    assert found.above(found.quantile(0.3)) == pytest.approx(0.7, abs=0.02)


def test_more_steps_narrow_it() -> None:
    few = known(*[(7.0, 200, 196), (8.0, 200, 186)] * 2, (16.0, 200, 20))
    many = known(*[(7.0, 200, 196), (8.0, 200, 186)] * 12, (16.0, 200, 20))
    width = [math.log(one.quantile(0.975) / one.quantile(0.025)) for one in (few, many)]
    assert width[1] < 0.7 * width[0]


def test_at_the_capacity_the_share_is_as_asked() -> None:
    # 95 % met at 8, again and again: that is where the capacity lies.
    steps = [(7.2, 400, 390), (8.0, 400, 380), (8.8, 400, 360)] * 10
    assert known(*steps).quantile(0.5) == pytest.approx(8.0, rel=0.02)


def test_steps_that_disagree_widen_it() -> None:
    alike = known(*[(7.5, 400, 388), (8.5, 400, 372)] * 6)
    unlike = known(*[(7.5, 400, 400), (7.5, 400, 376), (8.5, 400, 400), (8.5, 400, 344)] * 3)
    assert unlike.inflation > 3.0 * alike.inflation
    assert unlike.quantile(0.975) / unlike.quantile(0.025) > alike.quantile(0.975) / alike.quantile(0.025)


def test_a_bad_step_far_below_is_outvoted() -> None:
    good = [(7.2, 400, 390), (8.0, 400, 380), (8.8, 400, 360)] * 10
    assert known(*good, (3.0, 400, 20)).quantile(0.5) == pytest.approx(8.0, rel=0.05)


def test_requests_that_fail_at_any_load_do_not_move_it() -> None:
    # 2 % fail always, and the capacity is where 5 % do.
    steps = [(4.0, 1000, 980), (7.2, 1000, 968), (8.0, 1000, 950), (8.8, 1000, 915)] * 6
    assert known(*steps).quantile(0.5) == pytest.approx(8.0, rel=0.03)


def test_a_step_without_requests_says_nothing() -> None:
    steps = [(7.2, 400, 390), (8.0, 400, 380), (8.8, 400, 360)] * 3
    with_empty = known(*steps, (1.0, 0, 0))
    assert with_empty.quantile(0.5) == pytest.approx(known(*steps).quantile(0.5), rel=1e-3)

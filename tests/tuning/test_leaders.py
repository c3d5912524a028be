"""How settings stand beside the defaults, for those who look on."""

from typing import Any

import pytest

from paceline.tuning.goal import Goal, parse_goal
from paceline.tuning.journal import Block, TrialEntry
from paceline.tuning.leaders import leaders
from tests.tuning.samples import new_tuning

ITL = parse_goal("min itl_ms")
GOODPUT = parse_goal("max goodput @ ttft_ms<=500")


def entry(number: int, *blocks: dict[int, float] | str, **more: Any) -> TrialEntry:
    """A text in place of values is why the block failed."""
    made = [
        Block(prompts=0, failure=one, seconds=1.0)
        if isinstance(one, str)
        else Block(prompts=0, values=one, seconds=1.0)
        for one in blocks
    ]
    return TrialEntry(number=number, settings={"threads": number} if number else {}, blocks=made, **more)


def test_the_best_comes_first_and_what_has_no_figure_last() -> None:
    trials = [
        entry(0, {0: 20.0, 1: 45.0}, {0: 20.0, 1: 45.0}),
        entry(1, "out of memory", stopped="out of memory"),
        entry(2, {0: 10.0, 1: 22.5}),
        entry(3, {0: 40.0, 1: 90.0}),
    ]
    found = leaders(new_tuning(trials=trials), ITL)
    assert [one.number for one in found] == [2, 0, 3, 1]
    best, defaults, _, failed = found
    # The geometric mean of 10 and 22.5; twice as good as the defaults, but for a prior that pulls a little.
    assert best.value == pytest.approx(15.0)
    assert best.ratio == pytest.approx(2.0, rel=0.03)
    assert (defaults.value, defaults.ratio) == pytest.approx((30.0, 1.0))
    assert defaults.blocks == 2
    assert (failed.value, failed.ratio, failed.error, failed.stopped) == (None, None, None, "out of memory")


# Arithmetic means of a whole load, of which 0 is a value; geometric ones of requests, of which 0 ms is none.
@pytest.mark.parametrize(("goal", "values"), [(GOODPUT, (2.5, 3.0)), (ITL, (2.0, 6.0))])
def test_a_value_is_the_middle_of_those_that_count(goal: Goal, values: tuple[float, float]) -> None:
    trials = [entry(0, {0: 4.0}, {0: 1.0}), entry(1, {0: 6.0}, {0: 0.0})]
    found = {one.number: one.value for one in leaders(new_tuning(trials=trials), goal)}
    assert (found[0], found[1]) == pytest.approx(values)


def test_without_the_defaults_there_is_nothing_to_stand_beside() -> None:
    found = leaders(new_tuning(trials=[entry(0, "no"), entry(1, {0: 6.0})]), ITL)
    assert [one.ratio for one in found] == [None, None]
    assert leaders(new_tuning(), ITL) == []

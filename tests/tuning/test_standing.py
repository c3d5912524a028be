import math

import numpy as np
import pytest

from paceline.tuning.goal import parse_goal
from paceline.tuning.standing import standing
from paceline.tuning.trial import Measured, Trial
from tests.support.tuning_world import ITL, Machine, Noise, World


def blocks_of(machine: Machine, settings: dict[str, int], sets: range) -> list[Measured]:
    return [machine.block(settings, number) for number in sets]


def test_prompts_are_told_apart_from_settings() -> None:
    """Without noise the answer is exact, however unlike the prompts, and though only some are shared."""
    slow = Measured({0: 10.0, 1: 40.0, 2: 25.0}, place=0)
    fast = Measured({1: 20.0, 2: 12.5, 3: 900.0}, place=1)
    found = standing([Trial(0, {}, [slow]), Trial(1, {"a": 1}, [fast])], ITL)
    ahead, error = found.difference(1, 0)
    assert ahead == pytest.approx(math.log(2.0), rel=0.02)
    assert 0.01 < error < 0.2


def test_without_shared_prompts_nothing_is_known_between_them() -> None:
    found = standing([Trial(0, {}, [Measured({0: 10.0})]), Trial(1, {}, [Measured({1: 1.0})])], ITL)
    assert found.difference(1, 0)[1] > 1.0


def test_higher_is_better_where_it_is() -> None:
    goal = parse_goal("max output_tok_s")
    found = standing([Trial(0, {}, [Measured({0: 50.0})]), Trial(1, {}, [Measured({0: 100.0})])], goal)
    assert found.leader([0, 1]) == 1
    assert found.leader([0]) == 0
    assert found.leader([7]) is None


def test_drift_is_not_taken_for_a_gain() -> None:
    """The machine grows 2 % slower with each block, which early settings gain by; neighbours tell."""
    noise = Noise(starts=0.01, requests=0.02, drift=0.0)
    machine = Machine(World((), lambda _: 0.0, noise), 1)
    trials = [Trial(number, {"a": number}) for number in range(12)]
    for block in range(24):
        machine.pace = 0.02 * block
        trials[block // 2].blocks.append(machine.block({"a": block // 2}, block % 2))
        if block % 4 == 3:
            trials[0].blocks.append(machine.block({"a": 0}, block % 2))
    found = standing(trials, ITL)
    late = [found.difference(0, place)[0] for place in range(8, 12)]
    # Raw figures say that trial 0, half of whose blocks are early, is 10 to 25 % ahead of these.
    assert np.abs(late).max() < 0.08


def test_errors_are_as_large_as_they_say() -> None:
    """Of 150 pairs of equal settings: z = difference / error has a spread of about 1."""
    z = []
    for seed in range(150):
        machine = Machine(World((), lambda _: 0.0, Noise()), seed)
        trials = [Trial(k, {"a": k}) for k in range(5)]
        for number in range(3):
            for trial in trials:
                trial.blocks.append(machine.block({"a": trial.number}, number))
        ahead, error = standing(trials, ITL).difference(1, 3)
        z.append(ahead / error)
    assert 0.7 < np.std(z) < 1.15


def test_what_is_no_figure_is_left_out() -> None:
    broken = Trial(1, {}, [Measured({}, failure="out of memory"), Measured({0: math.nan, 1: 0.0, 2: -1.0})])
    found = standing([Trial(0, {}, [Measured({0: 1.0, 1: math.inf})]), broken, Trial(2, {})], ITL)
    assert found.numbers == (0,)
    assert list(found.blocks) == [1]
    assert standing([], ITL).numbers == ()
    assert standing([broken], ITL).leader([1]) is None


def test_a_load_that_met_nothing_is_the_worst() -> None:
    goal = parse_goal("max goodput @ ttft_ms<=500")
    values = {0: [0.4, 0.5], 1: [0.0, 0.0], 2: [0.45, 0.0]}
    trials = [
        Trial(k, {"a": k}, [Measured({0: v}, place=3 * i + k) for i, v in enumerate(vs)])
        for k, vs in values.items()
    ]
    found = standing(trials, goal)
    assert [int(k) for k in np.argsort(-found.mean)] == [0, 2, 1]
    nothing = standing([Trial(0, {}, [Measured({0: 0.0})]), Trial(1, {}, [Measured({0: 0.0})])], goal)
    assert nothing.difference(0, 1)[0] == pytest.approx(0.0)

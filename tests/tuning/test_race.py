import math

import numpy as np
import pytest

from paceline.tuning.goal import parse_goal
from paceline.tuning.race import MARGIN, Race, evidence
from paceline.tuning.search import Search
from paceline.tuning.trial import Measured, Trial
from tests.support.tuning_world import ITL, Machine, Noise, World, one_better, search_half

RACE = Race(ITL)


def trial(number: int, *figures: float, first_place: int = 0) -> Trial:
    """A trial with a block for each figure, each of three prompts."""
    blocks = [
        Measured({3 * i + j: ms * (1.0 + 0.3 * j) for j in range(3)}, place=first_place + i)
        for i, ms in enumerate(figures)
    ]
    return Trial(number, {"a": number}, blocks)


def test_first_steps() -> None:
    assert RACE.next([], 1.0).kind == "new"
    step = RACE.next([Trial(0, {})], 1.0)
    assert (step.kind, step.trial, step.prompts) == ("block", 0, 0)
    step = RACE.next([trial(0, 20.0)], 0.97)
    assert (step.kind, step.trial, step.prompts) == ("block", 0, 1)
    assert RACE.next([trial(0, 20.0, 20.1)], 0.94).kind == "new"


def test_a_new_best_is_measured_again_before_it_is_built_on() -> None:
    step = RACE.next([trial(0, 20.0, 20.1), trial(1, 10.0, first_place=2)], 0.9)
    assert (step.kind, step.trial, step.prompts) == ("block", 1, 1)
    assert RACE.next([trial(0, 20.0, 20.1), trial(1, 21.0, first_place=2)], 0.9).kind == "new"


def test_the_defaults_are_a_control_now_and_then() -> None:
    step = RACE.next([trial(0, 20.0, 20.0), trial(1, *[10.0] * 10, first_place=2)], 0.9)
    assert (step.kind, step.trial) == ("block", 0)
    assert "control" in step.why


def test_a_clear_loser_is_given_up_and_says_why() -> None:
    trials = [trial(0, 20.0, 20.0), trial(1, 10.0, 10.1, first_place=2), trial(2, 40.0, first_place=4)]
    step = RACE.next(trials, 0.9)
    assert list(step.given_up) == [2]
    assert "trial 1 is 3." in step.given_up[2]


def test_the_defaults_are_never_given_up() -> None:
    trials = [trial(0, 20.0, 20.0), trial(1, 4.0, 4.0, first_place=2)]
    assert not RACE.next(trials, 0.9).given_up


def test_what_does_not_come_up_is_given_up() -> None:
    failed = Measured({}, failure="out of memory")
    trials = [
        trial(0, 20.0, 20.0),
        Trial(1, {"a": 1}, [failed]),
        Trial(2, {"a": 2}, [Measured({0: math.nan})]),
    ]
    assert RACE.next(trials, 0.9).given_up == {1: "out of memory", 2: "no request gave a value of itl_ms"}


def test_one_failed_start_of_several_is_forgiven() -> None:
    failed = Measured({}, failure="port taken")
    good = trial(1, 10.0, 10.0, first_place=2)
    assert not RACE.next([trial(0, 20.0, 20.0), Trial(1, {}, [*good.blocks, failed])], 0.9).given_up
    assert RACE.next([trial(0, 20.0, 20.0), Trial(1, {}, [*good.blocks, failed, failed])], 0.9).given_up


def test_ends_with_its_time_and_when_nothing_is_left() -> None:
    trials = [trial(0, 20.0, 20.0), trial(1, 10.0, first_place=2)]
    assert RACE.next(trials, 0.0).kind == "done"
    trials = [trial(0, 20.0, 20.0), trial(1, 10.0, 10.1, 10.0, first_place=2)]
    assert RACE.next(trials, 0.9, exhausted=True).kind == "done"
    assert RACE.next(trials, 0.9).kind == "new"


@pytest.mark.parametrize("goal", ["min itl_ms", "max goodput @ ttft_ms<=500"])
def test_all_failed_ends(goal: str) -> None:
    race, failed = Race(parse_goal(goal)), Measured({}, failure="no such option")
    trials = [Trial(k, {"a": k}, [failed]) for k in range(3)]
    for _ in range(20):
        step = race.next(trials, 0.5, exhausted=True)
        for number in step.given_up:
            trials[number].stopped = "failed"
        if step.kind == "done":
            break
        assert step.trial == 0
        trials[0].blocks.append(failed)
    assert step.kind == "done"
    assert race.pick(trials) is None


def test_pick_is_not_one_lucky_block() -> None:
    trials = [trial(0, 20.0, 20.0), trial(1, 10.0, 10.1, first_place=2), trial(2, 9.9, first_place=4)]
    assert RACE.pick(trials) == 1
    assert RACE.pick([trials[0], trials[2]]) == 2
    assert RACE.pick([trials[0], trial(1, 30.0, 30.0, first_place=2)]) == 0
    trials[1].stopped = "given up"
    assert RACE.pick(trials) == 2


def test_one_prompt_a_block_and_loads_that_met_nothing() -> None:
    goal = parse_goal("max goodput @ ttft_ms<=500")
    trials = [
        Trial(0, {}, [Measured({0: 0.0}, place=0), Measured({0: 0.0}, place=1)]),
        Trial(1, {"a": 1}, [Measured({0: 2.0}, place=2), Measured({0: 2.1}, place=3)]),
    ]
    assert Race(goal).pick(trials) == 1
    one = [Trial(k, {"a": k}, [Measured({0: 20.0 - k}, place=k)]) for k in range(3)]
    assert RACE.next(one, 0.5).kind == "block"


def test_evidence_holds_at_any_number_of_looks() -> None:
    """2,000 series of differences that are none, looked at after each of 100 observations."""
    rng = np.random.default_rng(1)
    worst = 0
    for _ in range(2000):
        means = np.cumsum(rng.normal(0.0, 0.1, 100)) / np.arange(1, 101)
        # Only a mean that is beyond two errors can be evidence.
        errors = 0.1 / np.sqrt(np.arange(1, 101))
        looks = np.flatnonzero(means > 2.0 * errors)
        worst += any(evidence(float(means[i]), float(errors[i])) >= 20.0 for i in looks)
    assert worst / 2000 <= 0.05
    assert evidence(0.5, 0.05) > 1e6
    assert evidence(-0.5, 0.05) < 1.0
    assert evidence(0.0, 0.0) == 0.0
    assert evidence(0.1, 0.0) == math.inf


def lost(world: World, seed: int) -> tuple[bool, float]:
    """Whether the best and all that are within the margin of it were given up; and what was found."""
    search = Search(ITL, world.choices, first=[{}], seed=seed)
    found = search_half(world, search, Machine(world, seed), 28)
    gains = {t.number: world.gain(t.settings) for t in found.trials if t.blocks}
    near = [n for n, gain in gains.items() if gain >= max(gains.values()) - math.log1p(MARGIN)]
    return all(found.trials[n].stopped for n in near), found.gain


@pytest.mark.parametrize(
    "noise",
    [Noise(), Noise(tail=3.0), Noise(starts=0.1, requests=0.3, slow_starts=0.2)],
    ids=["usual", "heavy tails", "bad machine"],
)
def test_the_best_is_kept_and_found(noise: Noise) -> None:
    """One of twelve settings is 1.3 times better; `benches/tune_truth.py` has larger numbers."""
    choices, gain = one_better(math.log(1.3))
    seen = [lost(World(choices, gain, noise), seed) for seed in range(12)]
    assert sum(gone for gone, _ in seen) == 0
    if noise.starts < 0.1:
        assert all(found > 0.0 for _, found in seen)


def test_the_same_after_a_resumption() -> None:
    choices, gain = one_better(math.log(1.3))
    world = World(choices, gain)
    a, b = (search_half(world, Search(ITL, choices, first=[{}], seed=1), Machine(world, 4), 16) for _ in "ab")
    assert a == b

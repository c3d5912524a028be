import math

import numpy as np

from paceline.engines.engine import Settings
from paceline.engines.space import Choice
from paceline.tuning.search import Search
from paceline.tuning.trial import Measured, Trial
from tests.support.tuning_world import ITL, Machine, Noise, World, engine_like, search_half

CHOICES = (
    Choice("spec", (None, "simple", "mod"), ""),
    Choice("n-match", (8, 16, 24), "", ("spec", ("mod",))),
    Choice("threads", (None, 1, 2), ""),
)


def measured(trials: list[Trial]) -> list[Trial]:
    for trial in trials:
        trial.blocks = trial.blocks or [Measured({0: 20.0 - trial.number / 10}, place=trial.number)]
    return trials


def all_of(search: Search) -> list[Settings]:
    trials: list[Trial] = []
    while (settings := search.propose(measured(trials))) is not None:
        trials.append(Trial(len(trials), settings))
        assert len(trials) < 100
    return [trial.settings for trial in trials]


def test_begins_with_what_it_is_given_and_then_takes_each_setting_once() -> None:
    first: list[Settings] = [{}, {"spec": "mod", "n-match": 24}, {"threads": 2}, {"threads": 2, "n-match": 8}]
    found = all_of(Search(ITL, CHOICES, first=first, seed=1))
    assert found[:3] == first[:3]
    # No speculation, simple, and mod with three matches; each with three numbers of threads.
    assert len(found) == 15
    assert len({repr(sorted(settings.items())) for settings in found}) == 15
    assert all("n-match" in s if s.get("spec") == "mod" else "n-match" not in s for s in found)


def test_nothing_to_turn() -> None:
    assert all_of(Search(ITL, (), first=[{}], seed=1)) == [{}]


def test_options_that_are_no_choice_are_kept() -> None:
    found = all_of(Search(ITL, CHOICES, first=[{"ctx-size": 4096}], seed=1))
    assert all(settings["ctx-size"] == 4096 for settings in found)


def test_the_same_after_a_resumption() -> None:
    choices, gain = engine_like(3)
    world = World(choices, gain)
    done = search_half(world, Search(ITL, choices, first=[{}], seed=5), Machine(world, 1), 20)
    for count in (1, 6, len(done.trials)):
        trials = [Trial(t.number, dict(t.settings), list(t.blocks)) for t in done.trials[:count]]
        assert Search(ITL, choices, first=[{}], seed=5).propose(trials) == Search(
            ITL, choices, first=[{}], seed=5
        ).propose(done.trials[:count])


def test_what_fails_is_turned_away_from() -> None:
    """`fatal` ends the engine. After a few such trials hardly any of the proposals has it."""
    choices = (
        Choice("fatal", (None, True), ""),
        *(Choice(f"o{i}", tuple(range(6)), "") for i in range(5)),
    )
    search = Search(ITL, choices, first=[{f"o{i}": 0 for i in range(5)}], seed=2)
    trials: list[Trial] = []
    machine = Machine(World(choices, lambda s: math.nan if s.get("fatal") else 0.01 * len(s), Noise()), 1)
    for number in range(16):
        settings = search.propose(trials)
        assert settings is not None
        trials.append(Trial(number, settings, [machine.block(settings, 0)]))
    assert sum("fatal" in trial.settings for trial in trials[6:]) <= 2


def test_all_failed() -> None:
    trials = [Trial(k, {"threads": k}, [Measured({}, failure="no such option")]) for k in (1, 2)]
    assert Search(ITL, CHOICES, first=[], seed=1).propose(trials) is not None


def test_finds_more_than_chance_does() -> None:
    """In 5 spaces like an engine's, against the best of as many settings drawn at random."""
    ours, chance = [], []
    for seed in range(5):
        choices, gain = engine_like(seed)
        world = World(choices, gain)
        found = search_half(world, Search(ITL, choices, first=[{}], seed=seed), Machine(world, seed), 28)
        ours.append(found.gain)
        rng = np.random.default_rng(seed)
        drawn = [
            {c.option: c.values[int(rng.integers(len(c.values)))] for c in choices} for _ in found.trials
        ]
        chance.append(np.nanmax([gain(settings) for settings in drawn]))
    assert np.mean(ours) > np.mean(chance) + 0.05

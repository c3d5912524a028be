"""Engines whose best settings are known: what a tuning finds is held against the planted truth."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Protocol

import numpy as np

from paceline.engines.engine import Settings
from paceline.engines.space import Choice
from paceline.tuning.confirm import Finding, gain, round_order
from paceline.tuning.goal import Goal, parse_goal
from paceline.tuning.race import Race
from paceline.tuning.trial import Measured, Trial

ITL = parse_goal("min itl_ms")


class Proposes(Protocol):
    """A search, ours or a peer's."""

    def propose(self, trials: Sequence[Trial]) -> Settings | None: ...


@dataclass(frozen=True)
class Noise:
    """Standard deviations of logs. tail: degrees of freedom of Student's t; inf: normal.

    matching: of what a setting does to one prompt and not to another. drift: of one step of a random walk.
    slow_starts: share of starts that are 20 % slower than the others.
    """

    starts: float = 0.03
    requests: float = 0.08
    prompts: float = 0.3
    matching: float = 0.0
    drift: float = 0.005
    tail: float = math.inf
    slow_starts: float = 0.0


@dataclass(frozen=True)
class World:
    """gain(settings): log of how many times better than the defaults; nan: the engine does not come up."""

    choices: tuple[Choice, ...]
    gain: Callable[[Settings], float]
    noise: Noise = field(default_factory=Noise)
    requests: int = 3


class Machine:
    """One run of a world: what it was is drawn by the seed, and blocks are numbered as they are measured."""

    def __init__(self, world: World, seed: int) -> None:
        self.world = world
        self.rng = np.random.default_rng(seed)
        self.place = 0
        self.pace = 0.0
        self.prompt_effect = cache(lambda prompt: float(self.rng.normal(0.0, world.noise.prompts)))
        self.match = cache(lambda key: float(self.rng.normal(0.0, world.noise.matching)))

    def block(self, settings: Settings, prompts: int) -> Measured:
        """As an engine would be measured, an inter-token latency around 20 ms."""
        noise, gain = self.world.noise, self.world.gain(settings)
        self.pace += self.rng.normal(0.0, noise.drift)
        place, self.place = self.place, self.place + 1
        if math.isnan(gain):
            return Measured({}, failure="out of memory", place=place)
        start = self._draw(noise.starts) + self.pace + 0.2 * (self.rng.random() < noise.slow_starts)
        values = {}
        for prompt in range(prompts * self.world.requests, (prompts + 1) * self.world.requests):
            match = self.match((prompt, repr(sorted(settings.items())))) if settings else 0.0
            log = -gain - match + self.prompt_effect(prompt) + start + self._draw(noise.requests)
            values[prompt] = 20.0 * math.exp(log)
        return Measured(values, place=place)

    def _draw(self, spread: float) -> float:
        tail = self.world.noise.tail
        if math.isinf(tail):
            return float(self.rng.normal(0.0, spread))
        return float(self.rng.standard_t(tail) * spread / math.sqrt(tail / (tail - 2.0)))


@dataclass(frozen=True)
class Found:
    """A search half. picked: its settings; gain: their true log gain."""

    trials: list[Trial]
    picked: int
    gain: float
    blocks: int


def search_half(world: World, search: Proposes, machine: Machine, blocks: int, *, goal: Goal = ITL) -> Found:
    """As the tuner does it, each block costing the same."""
    race = Race(goal)
    trials: list[Trial] = []
    exhausted = False
    while True:
        step = race.next(trials, 1.0 - machine.place / blocks, exhausted=exhausted)
        for number, reason in step.given_up.items():
            trials[number].stopped = reason
        if step.kind == "done":
            break
        if step.kind == "new":
            settings = search.propose(trials)
            exhausted = settings is None
            if settings is not None:
                trials.append(Trial(len(trials), settings))
            continue
        assert step.trial is not None
        trials[step.trial].blocks.append(machine.block(trials[step.trial].settings, step.prompts))
    pick = race.pick(trials)
    assert pick is not None
    return Found(trials, pick, world.gain(trials[pick].settings), machine.place)


def confirm_half(machine: Machine, tuned: Settings, rounds: int, seed: int, goal: Goal = ITL) -> Finding:
    """The pick against the defaults, on prompts that the search has not seen."""
    sides: dict[str, list[Measured]] = {"default": [], "tuned": []}
    for number in range(rounds):
        for side in round_order(seed, number):
            settings = tuned if side == "tuned" else {}
            sides[side].append(machine.block(settings, 10_000 + number))
    return gain(sides["default"], sides["tuned"], goal)


def one_better(gain_log: float, settings: int = 12) -> tuple[tuple[Choice, ...], Callable[[Settings], float]]:
    """So many settings, all alike but for one that is better by this log."""
    choice = Choice("kind", (None, *(f"k{i}" for i in range(1, settings))), "")
    best = f"k{settings - 2}"
    return (choice,), lambda asked: gain_log if asked.get("kind") == best else 0.0


def engine_like(seed: int) -> tuple[tuple[Choice, ...], Callable[[Settings], float]]:
    """A space like llama.cpp's, with effects drawn: a few large, most small, some together, some fatal.

    Speculation is the large one, with settings of its own that mean nothing without it.
    """
    rng = np.random.default_rng(seed)
    kinds = (None, "ngram-simple", "ngram-mod", "ngram-map")
    choices = (
        Choice("spec-type", kinds, ""),
        Choice("spec-n-match", (4, 8, 12, 16, 24), "", ("spec-type", kinds[2:])),
        Choice("spec-n-max", (8, 16, 32, 48, 64), "", ("spec-type", kinds[1:])),
        Choice("spec-n-min", (1, 4, 8), "", ("spec-type", kinds[2:])),
        Choice("threads", (None, 1, 2, 4), ""),
        Choice("flash-attn", (None, "on", "off"), ""),
        Choice("cache-type-k", (None, "q8_0", "f32"), ""),
        Choice("batch-size", (None, 256, 512, 1024), ""),
        Choice("ubatch-size", (None, 64, 128, 256), ""),
        Choice("parallel", (None, 1, 2), ""),
        Choice("no-mmap", (None, True), ""),
        Choice("prio", (None, 2), ""),
    )
    spec = {kind: float(rng.uniform(-0.15, 0.9)) for kind in kinds[1:]}
    best_max, best_match = rng.integers(5), rng.integers(5)
    effects = {
        choice.option: {
            v: float(rng.normal(0.0, rng.choice([0.01, 0.03, 0.12], p=[0.5, 0.3, 0.2])))
            for v in choice.values
        }
        for choice in choices[4:]
    }
    pair = float(rng.normal(0.0, 0.1))
    fatal = bool(rng.random() < 0.3)

    def gain(settings: Settings) -> float:
        total = 0.0
        for option, by_value in effects.items():
            value = settings.get(option)
            total += (by_value[value] - by_value[None]) if value is not None else 0.0
        kind = settings.get("spec-type")
        if kind is not None:
            total += spec[str(kind)] - 0.06 * abs(choices[2].values.index(settings["spec-n-max"]) - best_max)
            if kind != "ngram-simple":
                total -= 0.08 * abs(choices[1].values.index(settings["spec-n-match"]) - best_match)
                total += 0.02 * choices[3].values.index(settings["spec-n-min"])
            if settings.get("flash-attn") == "on":
                total += pair
        if settings.get("threads") == 4:
            total -= 0.4
        if fatal and settings.get("cache-type-k") == "q8_0" and settings.get("flash-attn") != "on":
            return math.nan
        return total

    return choices, gain

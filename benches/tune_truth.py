"""Tunings of engines whose truth is planted: `python -m benches.tune_truth [TUNINGS]`.

Simulated blocks of three requests: 3 % between starts, 8 % between requests, 30 % between prompts, a drift
of half a percent from block to block (a random walk); then worse machines. To reach on the usual one: where
all settings are equal at most 2.5 % of tunings claim a gain; one that is 1.3 or 2.5 times better is found
and confirmed in at least 95 %; the best trial, or one within 3 % of it, is given up in at most 5 %.
"""

import math
import sys
from dataclasses import dataclass

import numpy as np
from tests.support.tuning_world import (
    ITL,
    Found,
    Machine,
    Noise,
    World,
    confirm_half,
    engine_like,
    one_better,
    search_half,
)

from paceline.tuning.confirm import Finding
from paceline.tuning.race import MARGIN
from paceline.tuning.search import Search

SEARCH_BLOCKS, ROUNDS = 28, 6
NOISES = {
    "usual": Noise(),
    "heavy tails (t, 3)": Noise(tail=3.0),
    "drift 2 % a block": Noise(drift=0.02),
    "prompts suit settings, 10 %": Noise(matching=0.1),
    "a start in five 20 % slower": Noise(slow_starts=0.2),
    "10 % starts, 30 % requests": Noise(starts=0.1, requests=0.3),
}


@dataclass(frozen=True)
class Tuned:
    """A whole tuning. finding: None where the defaults were the pick, and nothing was to be confirmed."""

    found: Found
    finding: Finding | None
    lost: bool


def tune(world: World, seed: int) -> Tuned:
    machine = Machine(world, seed)
    search = Search(ITL, world.choices, first=[{}], seed=seed)
    found = search_half(world, search, machine, SEARCH_BLOCKS)
    settings = found.trials[found.picked].settings
    finding = confirm_half(machine, settings, ROUNDS, seed) if found.picked else None
    return Tuned(found, finding, lost_the_best(world, found))


def lost_the_best(world: World, found: Found) -> bool:
    """Whether the best of the settings that were tried, and all within the margin of it, were given up."""
    gains = {trial.number: world.gain(trial.settings) for trial in found.trials if trial.blocks}
    best = max(gain for gain in gains.values() if not math.isnan(gain))
    near = [number for number, gain in gains.items() if gain >= best - math.log1p(MARGIN) - 1e-9]
    return all(found.trials[number].stopped for number in near)


def print_line(name: str, noise: str, tunings: list[Tuned]) -> None:
    n = len(tunings)
    real = sum(one.finding is not None and one.finding.real for one in tunings) / n
    lost = sum(one.lost for one in tunings) / n
    found = float(np.median([math.exp(one.found.gain) for one in tunings]))
    ends = [(one.finding.gain, math.exp(one.found.gain)) for one in tunings if one.finding]
    inside = [gain.lo <= truth <= gain.hi for gain, truth in ends if gain is not None]
    covered = f"{np.mean(inside):.1%}" if inside else "-"
    needed = [one.finding.rounds_needed for one in tunings if one.finding and one.finding.rounds_needed]
    more = f"{np.median(needed):.0f} (told by {len(needed) / n:.0%})" if needed else "-"
    print(f"{name:22}{noise:30}{real:>10.1%}{covered:>10}{lost:>11.1%}{found:>11.2f}  {more}", flush=True)


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    print(f"{count} tunings each: {SEARCH_BLOCKS} blocks of search, {ROUNDS} rounds of both sides")
    print(
        f"{'settings':22}{'noise':30}{'gain told':>10}{'covered':>10}{'best lost':>11}{'true gain':>11}"
        "  rounds needed"
    )
    for times in (1.0, 1.03, 1.3, 2.5):
        choices, gain = one_better(math.log(times))
        name = "all equal" if times == 1.0 else f"one {times:g} times better"
        for noise_name, noise in NOISES.items():
            world = World(choices, gain, noise)
            print_line(name, noise_name, [tune(world, seed) for seed in range(count)])
    for noise_name, noise in NOISES.items():
        drawn = [World(*engine_like(seed), noise) for seed in range(count)]
        print_line("as an engine's", noise_name, [tune(world, seed) for seed, world in enumerate(drawn)])


if __name__ == "__main__":
    main()

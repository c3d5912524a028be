"""What searches find in few blocks: `python -m benches.tune_search [SPACES]`; its peer is optuna, which is
no part of Paceline's environment: `pip install 'optuna>=5'`.

Spaces like llama.cpp's (twelve options, some meaning nothing without another) whose effects are drawn at
random, the same race behind each search, the same first five settings. The figure is how far the pick falls
short of the best settings that there are, a log ratio: 0.3 is 26 %.
"""

import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from tests.support.tuning_world import ITL, Machine, Noise, Proposes, World, engine_like, search_half

from paceline.engines.engine import Settings
from paceline.engines.space import Choice
from paceline.tuning.coding import Coding
from paceline.tuning.search import Search
from paceline.tuning.standing import standing
from paceline.tuning.trial import Trial

try:
    import optuna
except ModuleNotFoundError:
    sys.exit("optuna is not installed: pip install 'optuna>=5'")

FIRST: tuple[Settings, ...] = (
    {},
    {"spec-type": "ngram-simple", "spec-n-max": 16},
    {"spec-type": "ngram-mod", "spec-n-max": 16, "spec-n-match": 12, "spec-n-min": 4},
    {"flash-attn": "on"},
    {"threads": 2},
)
NOISE = Noise(matching=0.05)
Choices = tuple[Choice, ...]


class Peer:
    """Begins as ours does, and then proposes what `draw` says, until it is something new."""

    def __init__(self, choices: Choices, seed: int) -> None:
        self.choices = choices
        self.seed = seed

    def propose(self, trials: Sequence[Trial]) -> Settings | None:
        coding = Coding(self.choices, [*FIRST, *(trial.settings for trial in trials)])
        tried = set(map(bytes, coding.rows([trial.settings for trial in trials])))
        for row in coding.rows(FIRST):
            if bytes(row) not in tried:
                return coding.settings(row)
        draw = self.prepare(trials)
        for _ in range(50):
            row = coding.rows([draw()])[0]
            if bytes(row) not in tried:
                return coding.settings(row)
        return None

    def prepare(self, trials: Sequence[Trial]) -> Callable[[], Settings]:
        raise NotImplementedError

    def meaningful(self, choice: Choice, settings: Settings) -> bool:
        return choice.only_with is None or settings.get(choice.only_with[0]) in choice.only_with[1]


class Anywhere(Peer):
    def prepare(self, trials: Sequence[Trial]) -> Callable[[], Settings]:
        rng = np.random.default_rng((self.seed, len(trials)))
        return lambda: {c.option: c.values[int(rng.integers(len(c.values)))] for c in self.choices}


class OneStep(Peer):
    """One option of the best trial changed, and what that brings into play drawn."""

    def prepare(self, trials: Sequence[Trial]) -> Callable[[], Settings]:
        rng = np.random.default_rng((self.seed, len(trials)))
        known = standing(trials, ITL)
        best = trials[known.numbers[int(np.argmax(known.mean))]].settings

        def draw() -> Settings:
            changed = self.choices[int(rng.integers(len(self.choices)))]
            settings = {**best, changed.option: changed.values[int(rng.integers(len(changed.values)))]}
            for choice in self.choices:
                if settings.get(choice.option) is None and None not in choice.values:
                    settings[choice.option] = choice.values[int(rng.integers(len(choice.values)))]
            return settings

        return draw


class Optuna(Peer):
    """Tree-structured Parzen estimators, multivariate and grouped, with a random start of five trials."""

    def prepare(self, trials: Sequence[Trial]) -> Callable[[], Settings]:
        sampler = optuna.samplers.TPESampler(
            multivariate=True, group=True, seed=self.seed * 1000 + len(trials), n_startup_trials=5
        )
        study = optuna.create_study(direction="maximize", sampler=sampler)
        known = standing(trials, ITL)
        values = dict(zip(known.numbers, known.mean, strict=True))
        for trial in trials:
            told = {
                c: trial.settings.get(c.option) for c in self.choices if self.meaningful(c, trial.settings)
            }
            study.add_trial(
                optuna.trial.create_trial(
                    params={c.option: c.values.index(v) if _ordered(c) else v for c, v in told.items()},
                    distributions={c.option: _distribution(c) for c in told},
                    value=float(values.get(trial.number, known.mean.min() - 0.1)),
                )
            )

        def draw() -> Settings:
            asked = study.ask()
            settings: dict[str, Any] = {}
            for choice in self.choices:
                if self.meaningful(choice, settings):
                    found = (
                        choice.values[asked.suggest_int(choice.option, 0, len(choice.values) - 1)]
                        if _ordered(choice)
                        else asked.suggest_categorical(choice.option, choice.values)
                    )
                    settings[choice.option] = found
            study.tell(asked, state=optuna.trial.TrialState.FAIL)
            return settings

        return draw


def _ordered(choice: Choice) -> bool:
    return all(isinstance(value, int) and not isinstance(value, bool) for value in choice.values)


def _distribution(choice: Choice) -> optuna.distributions.BaseDistribution:
    if _ordered(choice):
        return optuna.distributions.IntDistribution(0, len(choice.values) - 1)
    return optuna.distributions.CategoricalDistribution(choice.values)


def ours(choices: Choices, seed: int) -> Proposes:
    return Search(ITL, choices, first=FIRST, seed=seed)


SEARCHES: dict[str, Callable[[Choices, int], Proposes]] = {
    "ours": ours,
    "optuna TPE": Optuna,
    "one step": OneStep,
    "anywhere": Anywhere,
}


def best_there_is(choices: Choices, gain: Callable[[Settings], float], seed: int) -> float:
    """By coordinate ascent on the truth, from twelve places."""
    rng = np.random.default_rng((7, seed))
    found = 0.0
    for _ in range(12):
        at: dict[str, Any] = {c.option: c.values[int(rng.integers(len(c.values)))] for c in choices}
        for _ in range(3):
            for choice in choices:
                by_value = {value: gain({**at, choice.option: value}) for value in choice.values}
                at[choice.option] = max(by_value, key=lambda v: np.nan_to_num(by_value[v], nan=-9.0))
        found = max(found, float(np.nan_to_num(gain(at), nan=-9.0)))
    return found


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
    spaces = [engine_like(seed) for seed in range(count)]
    best = np.array([best_there_is(*space, seed) for seed, space in enumerate(spaces)])
    print(f"{count} spaces; the best settings are {np.exp(np.median(best)):.2f} times the defaults (median)")
    print(f"{'search':14}{'blocks':>8}{'short by':>10}{'+-':>7}{'median':>8}{'worst tenth':>13}{'trials':>8}")
    for blocks in (20, 30, 40):
        for name, make in SEARCHES.items():
            found = [
                search_half(
                    World(*space, NOISE), make(space[0], seed), Machine(World(*space, NOISE), seed), blocks
                )
                for seed, space in enumerate(spaces)
            ]
            short = best - [one.gain for one in found]
            error = 1.96 * short.std() / np.sqrt(count)
            print(
                f"{name:14}{blocks:8}{short.mean():10.3f}{error:7.3f}{np.median(short):8.3f}"
                f"{np.quantile(short, 0.9):13.3f}{np.mean([len(one.trials) for one in found]):8.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()

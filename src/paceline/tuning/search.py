"""Proposes settings, with what earlier trials showed.

A Gaussian process over the choices (Rasmussen and Williams 2006): an effect of each option's value, alike for
values that lie near each other, and effects of their combinations. The settings proposed are those from which
most improvement is expected (Jones, Schonlau and Welch 1998), among the neighbours of the best trials and
settings drawn at random. docs/design/0005-serve.md says why not a general optimiser.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import TypeGuard

import numpy as np
import numpy.typing as npt

from paceline.engines.engine import Settings, Value
from paceline.engines.space import Choice
from paceline.tuning.goal import Goal
from paceline.tuning.standing import standing
from paceline.tuning.trial import Trial

Floats = npt.NDArray[np.float64]

# Spaces up to this size are listed whole; of larger ones candidates are drawn.
_LISTED = 2000
_DRAWN = 300
_PARENTS = 3
# Spreads of all effects together that are tried, as shares; the likeliest is taken.
_SPREADS = (0.05, 0.1, 0.2, 0.4, 0.8)
# Of their variance: of single options, the rest of combinations.
_SINGLE = 0.7
# Options that differ until combinations count as unlike (1 / e).
_UNLIKE = 2.0
# Steps of an ordered option, as a share of its range, until values count as unlike.
_APART = 0.5
# How far below the worst trial one that failed is put, and the spread of that guess.
_FAILED = 0.1
_JITTER = 1e-8


@dataclass(frozen=True, slots=True)
class _Known:
    """Trials with blocks, best first: settings, log of how good they are, float64[n], and its covariance."""

    settings: list[Settings]
    mean: Floats
    covariance: Floats


class Search:
    """choices: what may be turned. first: what to begin with, in order: the defaults, the tier's preset.

    Deterministic by seed and by what the trials hold, so that it goes on after a resumption as if there had
    been none.
    """

    def __init__(
        self, goal: Goal, choices: tuple[Choice, ...], *, first: Sequence[Settings], seed: int
    ) -> None:
        self.goal = goal
        self.choices = choices
        self.seed = seed
        self._at = {choice.option: choice for choice in choices}
        self._first = [self.meant(settings) for settings in first]

    def propose(self, trials: Sequence[Trial]) -> Settings | None:
        """Settings that no trial has; None where there are none left."""
        tried = {_key(self.meant(trial.settings)) for trial in trials}
        for settings in self._first:
            if _key(settings) not in tried:
                return settings
        rng = np.random.default_rng((self.seed, len(trials)))
        known = self._known(trials)
        candidates = [one for key, one in self._candidates(known.settings, rng).items() if key not in tried]
        if not candidates:
            return None
        if not known.settings:
            return candidates[int(rng.integers(len(candidates)))]
        return candidates[int(np.argmax(self._expected(candidates, known)))]

    def meant(self, settings: Settings) -> Settings:
        """The settings without options that mean nothing beside the others, or are left to the engine."""
        kept = {
            option: value for option, value in settings.items() if value is not None and value is not False
        }
        while True:
            idle = [c.option for c in self.choices if c.option in kept and not _means(c, kept)]
            if not idle:
                return kept
            kept = {option: value for option, value in kept.items() if option not in idle}

    def _known(self, trials: Sequence[Trial]) -> _Known:
        found = standing(trials, self.goal)
        places = {number: place for place, number in enumerate(found.numbers)}
        good = [trial for trial in trials if trial.number in places]
        failed = [trial for trial in trials if trial.blocks and trial.number not in places]
        at = [places[trial.number] for trial in good]
        covariance = np.zeros((len(good) + len(failed),) * 2)
        covariance[: len(good), : len(good)] = found.covariance[np.ix_(at, at)]
        # Only differences are known: what all means have in common is no news and no doubt.
        covariance = _centred(_centred(covariance).T)
        covariance[np.diag_indices_from(covariance)] += [0.0] * len(good) + [_FAILED**2] * len(failed)
        worst = float(found.mean.min(initial=0.0)) - _FAILED
        mean = np.concatenate([found.mean[at], np.full(len(failed), worst)])
        order = np.argsort(-mean, kind="stable")
        settings = [self.meant(trial.settings) for trial in (*good, *failed)]
        return _Known([settings[i] for i in order], _centred(mean)[order], covariance[np.ix_(order, order)])

    def _candidates(self, known: Sequence[Settings], rng: np.random.Generator) -> dict[str, Settings]:
        """By key. Options that are no choice are kept as the best trial has them."""
        kept = {
            option: value for option, value in (known[0] if known else {}).items() if option not in self._at
        }
        drawn: list[Settings]
        if math.prod(len(choice.values) for choice in self.choices) <= _LISTED:
            rows = product(*(choice.values for choice in self.choices))
            drawn = [kept | dict(zip(self._at, row, strict=True)) for row in rows]
        else:
            drawn = [self._drawn(kept, 1.0, rng) for _ in range(_DRAWN)]
            for parent in known[:_PARENTS]:
                for choice in self.choices:
                    drawn += [self._filled({**parent, choice.option: value}, rng) for value in choice.values]
                drawn += [
                    self._drawn(parent, 2.0 / len(self.choices), rng) for _ in range(_DRAWN // _PARENTS)
                ]
        return {_key(settings): settings for settings in map(self.meant, drawn)}

    def _drawn(self, parent: Settings, share: float, rng: np.random.Generator) -> Settings:
        """The parent with each choice drawn anew by a chance of `share`."""
        changed = dict(parent)
        for choice in self.choices:
            if rng.random() < share:
                changed[choice.option] = choice.values[int(rng.integers(len(choice.values)))]
        return self._filled(changed, rng)

    def _filled(self, settings: Settings, rng: np.random.Generator) -> Settings:
        """With a value for each choice that has none, and may not be left to the engine."""
        filled = dict(settings)
        for choice in self.choices:
            if filled.get(choice.option) is None and not _may_be_left(choice):
                filled[choice.option] = choice.values[int(rng.integers(len(choice.values)))]
        return filled

    def _expected(self, candidates: Sequence[Settings], known: _Known) -> Floats:
        """The expected improvement of each on the best that is known, float64[candidates]."""
        from scipy.special import ndtr

        n = len(known.settings)
        alike = self._alike([*known.settings, *candidates], known.settings)
        spread = max(_SPREADS, key=lambda spread: _likelihood(spread, alike[:n], known))
        kernel = 1.0 + spread**2 * alike
        weights = np.linalg.inv(kernel[:n] + known.covariance + _JITTER * np.eye(n))
        fitted = kernel @ (weights @ known.mean)
        mean, best = fitted[n:], float(fitted[:n].max())
        variance = 1.0 + spread**2 - np.einsum("ij,jk,ik->i", kernel[n:], weights, kernel[n:])
        error = np.sqrt(np.maximum(variance, _JITTER))
        z = (mean - best) / error
        density = np.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)
        found: Floats = error * (density + z * ndtr(z))
        return found

    def _alike(self, some: Sequence[Settings], others: Sequence[Settings]) -> Floats:
        """How alike the effects of settings are, 0 to 1, float64[some, others]."""
        options = sorted({option for settings in (*some, *others) for option in settings})
        single = np.zeros((len(some), len(others)))
        unlike = np.zeros((len(some), len(others)))
        for option in options:
            near = _near(self._at.get(option), [settings.get(option) for settings in (*some, *others)])
            near = near[: len(some), len(some) :]
            single += near / len(options)
            unlike += 1.0 - near
        return _SINGLE * (single if options else 1.0) + (1.0 - _SINGLE) * np.exp(-unlike / _UNLIKE)


def _near(choice: Choice | None, values: Sequence[Value]) -> Floats:
    """How alike values of one option are, 0 to 1, float64[n, n]: numbers by their order in the choice."""
    keys = [json.dumps(value) for value in values]
    kinds = dict(zip(keys, values, strict=True))
    order = sorted({v for v in choice.values if _is_number(v)} if choice else ())
    place = {json.dumps(value): at / max(len(order) - 1, 1) for at, value in enumerate(order)}
    table = np.eye(len(kinds))
    for i, a in enumerate(kinds):
        for j, b in enumerate(kinds):
            if i != j and a in place and b in place:
                table[i, j] = math.exp(-abs(place[a] - place[b]) / _APART)
    at = np.array([list(kinds).index(key) for key in keys])
    found: Floats = table[np.ix_(at, at)]
    return found


def _is_number(value: Value) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _likelihood(spread: float, alike: Floats, known: _Known) -> float:
    """Log likelihood of the means, up to a constant."""
    covariance = 1.0 + spread**2 * alike + known.covariance + _JITTER * np.eye(len(alike))
    fit = float(known.mean @ np.linalg.solve(covariance, known.mean))
    return -0.5 * (float(np.linalg.slogdet(covariance)[1]) + fit)


def _means(choice: Choice, settings: Settings) -> bool:
    if choice.only_with is None:
        return True
    option, values = choice.only_with
    return _plain(settings.get(option)) in {_plain(value) for value in values}


def _may_be_left(choice: Choice) -> bool:
    return any(value is None or value is False for value in choice.values)


def _plain(value: Value) -> str:
    """One text a value: True is not 1, and what is left out is left out however it is written."""
    return json.dumps(None if value is False else value)


def _key(settings: Settings) -> str:
    return json.dumps(sorted((option, value) for option, value in settings.items()), default=str)


def _centred(values: Floats) -> Floats:
    return values - values.mean(axis=0) if len(values) else values

"""Proposes settings, with what earlier trials showed.

Proposed are the settings of which the most improvement is expected (surrogate.py), among neighbours of the
best trials and settings drawn at random. docs/design/0005-serve.md says why no general optimiser.
"""

import math
from collections.abc import Sequence
from itertools import product

import numpy as np
import numpy.typing as npt

from paceline.engines.engine import Settings
from paceline.engines.space import Choice
from paceline.tuning.coding import LEFT, Coding, Ints
from paceline.tuning.goal import Goal
from paceline.tuning.standing import figures, standing
from paceline.tuning.surrogate import Known, expected_improvement
from paceline.tuning.trial import Trial

Floats = npt.NDArray[np.float64]

# Spaces up to this size are listed whole; of larger ones candidates are drawn.
_LISTED = 2000
_DRAWN = 400
_PARENTS = 3
# How far below the worst trial one that failed is put, and the spread of that guess.
_FAILED = 0.3


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
        self.first = tuple(first)
        self.seed = seed

    def propose(self, trials: Sequence[Trial]) -> Settings | None:
        """Settings that no trial has; None where there are none left.

        They are without options that mean nothing beside the others, or that are left to the engine.
        """
        coding = Coding(self.choices, [*self.first, *(trial.settings for trial in trials)])
        tried = set(map(bytes, coding.rows([trial.settings for trial in trials])))
        for row in coding.rows(self.first):
            if bytes(row) not in tried:
                return coding.settings(row)
        rng = np.random.default_rng((self.seed, len(trials)))
        known = self._known(trials, coding)
        drawn = np.unique(coding.meant(self._candidates(known.rows, coding, rng)), axis=0)
        candidates = drawn[[bytes(row) not in tried for row in drawn]]
        if not len(candidates):
            return None
        if not len(known.rows):
            return coding.settings(rng.choice(candidates))
        hope = expected_improvement(candidates, known, coding) * self._runs(candidates, trials, coding)
        return coding.settings(candidates[int(np.argmax(hope))])

    def _runs(self, candidates: Ints, trials: Sequence[Trial], coding: Coding) -> Floats:
        """The chance that each comes up, float64[candidates]: that of its value that fails most."""
        measured = [trial for trial in trials if trial.blocks]
        rows = coding.rows([trial.settings for trial in measured])
        good = np.array([any(figures(b, self.goal) for b in trial.blocks) for trial in measured], bool)
        chance = np.ones(len(candidates))
        for column, option in enumerate(coding.options):
            size = len(coding.values[option])
            tried = np.bincount(rows[:, column], minlength=size)
            came_up = np.bincount(rows[good, column], minlength=size)
            # A value not tried yet counts as one that comes up, by half a trial.
            chance = np.minimum(chance, ((came_up + 0.5) / (tried + 0.5))[candidates[:, column]])
        return chance

    def _known(self, trials: Sequence[Trial], coding: Coding) -> Known:
        found = standing(trials, self.goal)
        places = {number: place for place, number in enumerate(found.numbers)}
        good = [trial for trial in trials if trial.number in places]
        failed = [trial for trial in trials if trial.blocks and trial.number not in places]
        n = len(good) + len(failed)
        at = [places[trial.number] for trial in good]
        covariance = np.zeros((n, n))
        covariance[: len(good), : len(good)] = found.covariance[np.ix_(at, at)]
        # Only differences are known: what all means have in common is no news and no doubt.
        covariance = _centred(_centred(covariance).T)
        covariance[np.diag_indices(n)] += [0.0] * len(good) + [_FAILED**2] * len(failed)
        worst = float(found.mean.min(initial=0.0)) - _FAILED
        mean = np.concatenate([found.mean[at], np.full(len(failed), worst)])
        rows = coding.rows([trial.settings for trial in (*good, *failed)])
        order = np.argsort(-mean, kind="stable")
        return Known(rows[order], _centred(mean)[order], covariance[np.ix_(order, order)])

    def _candidates(self, known: Ints, coding: Coding, rng: np.random.Generator) -> Ints:
        """Options that are no choice are kept as the best trial has them."""
        base = known[0] if len(known) else np.full(len(coding.options), LEFT)
        columns = [coding.column(choice.option) for choice in self.choices]
        allowed = [coding.allowed(choice) for choice in self.choices]
        if math.prod(map(len, allowed)) <= _LISTED:
            listed = np.array(list(product(*allowed)), np.int64)
            rows = np.tile(base, (len(listed), 1))
            rows[:, columns] = listed
            return rows
        anew = [_redrawn(np.tile(base, (_DRAWN, 1)), 1.0, columns, allowed, rng)]
        for parent in known[:_PARENTS]:
            anew.append(
                _redrawn(np.tile(parent, (_DRAWN // 2, 1)), 2.0 / len(columns), columns, allowed, rng)
            )
            for column, places in zip(columns, allowed, strict=True):
                rows = np.tile(parent, (len(places), 1))
                rows[:, column] = places
                anew.append(rows)
        return _filled(np.concatenate(anew), columns, allowed, rng)


def _redrawn(
    rows: Ints, share: float, columns: Sequence[int], allowed: Sequence[Ints], rng: np.random.Generator
) -> Ints:
    """Each choice of each row drawn anew by a chance of `share`."""
    for column, places in zip(columns, allowed, strict=True):
        drawn = rng.random(len(rows)) < share
        rows[drawn, column] = rng.choice(places, int(drawn.sum()))
    return rows


def _filled(rows: Ints, columns: Sequence[int], allowed: Sequence[Ints], rng: np.random.Generator) -> Ints:
    """With a value drawn for each choice that has none and may not be left to the engine."""
    for column, places in zip(columns, allowed, strict=True):
        if LEFT not in places:
            empty = rows[:, column] == LEFT
            rows[empty, column] = rng.choice(places, int(empty.sum()))
    return rows


def _centred(values: Floats) -> Floats:
    return values - values.mean(axis=0) if len(values) else values

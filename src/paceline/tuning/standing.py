"""How good each trial is, by all blocks at once: prompts, starts, requests and drift told apart.

A request's log value is taken for the sum of what its prompt does to it (the same for all settings: that is
why prompts are shared), what its settings do, what its start of the engine does, where the machine's pace
stood, and chance. The settings' part comes by generalised least squares (Henderson 1975, mixed models). How
much starts and drift spread is not known beforehand and hard to tell from few blocks: the answers under
several such spreads are averaged, weighted by how well each explains the blocks and by what is usual
(Bayesian model averaging, Hoeting et al. 1999).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from paceline.tuning.goal import Goal
from paceline.tuning.trial import Measured, Trial

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# Standard deviations as shares, with the weight of each before any block is seen. Of starts: 1 to 4 % is
# usual for an engine of one's own. Of drift: from one block to the next.
_STARTS = ((0.01, 1.0), (0.02, 1.5), (0.04, 1.5), (0.08, 1.0), (0.16, 0.6), (0.35, 0.3))
_DRIFTS = ((0.002, 1.0), (0.01, 0.7), (0.03, 0.3))
# Of requests, and how many observations this guess is worth.
_REQUEST, _REQUEST_WORTH = 0.08, 4.0
# Of the settings' own effects: wide, so that it hardly pulls.
_EFFECT = 1.0


@dataclass(frozen=True, slots=True)
class Standing:
    """What is known of the trials that have a figure.

    numbers: of the trials, int[k]. mean: float64[k], log of how good each is, the higher the better, from an
    arbitrary zero: only differences mean anything. covariance: float64[k, k]. blocks: int[k], with a figure.
    """

    numbers: tuple[int, ...]
    mean: Floats
    covariance: Floats
    blocks: Ints

    def difference(self, a: int, b: int) -> tuple[float, float]:
        """Places in `numbers`: log of how many times `a` is better than `b`, and its standard error."""
        variance = self.covariance[a, a] + self.covariance[b, b] - 2.0 * self.covariance[a, b]
        return float(self.mean[a] - self.mean[b]), math.sqrt(max(float(variance), 0.0))

    def leader(self, among: Sequence[int]) -> int | None:
        """The place of the best of these trial numbers; None where none of them has a figure."""
        places = [place for place, number in enumerate(self.numbers) if number in among]
        return max(places, key=lambda place: float(self.mean[place]), default=None)


@dataclass(frozen=True, slots=True)
class _Data:
    """A value each: score, and the places of its prompt and block. A block each: its trial's place, when."""

    score: Floats
    prompt: Ints
    block: Ints
    trial: Ints
    at: Floats


def figures(block: Measured, goal: Goal) -> dict[int, float]:
    """The values of a block that count; none where it failed."""
    return {} if block.failure else {key: value for key, value in block.values.items() if goal.counts(value)}


def standing(trials: Sequence[Trial], goal: Goal) -> Standing:
    """Judge all trials. Those without any figure are left out."""
    measured = [
        (trial, [block for block in trial.blocks if figures(block, goal)])
        for trial in trials
        if any(figures(block, goal) for block in trial.blocks)
    ]
    numbers = tuple(trial.number for trial, _ in measured)
    counts = np.array([len(blocks) for _, blocks in measured], np.int64)
    if not measured:
        return Standing((), np.empty(0), np.empty((0, 0)), counts)
    mean, covariance = _averaged(_data([blocks for _, blocks in measured], goal), len(measured))
    return Standing(numbers, mean, covariance, counts)


def _data(trials: Sequence[Sequence[Measured]], goal: Goal) -> _Data:
    score: list[float] = []
    at: list[float] = []
    prompt: list[int] = []
    block: list[int] = []
    of_trial: list[int] = []
    for place, blocks in enumerate(trials):
        for one in blocks:
            for key, value in figures(one, goal).items():
                score.append(value)
                prompt.append(key)
                block.append(len(of_trial))
            of_trial.append(place)
            at.append(float(one.place))
    values = np.array(score)
    # Where no request met the limits all that is known is that it is less than any that did.
    above = values[values > 0.0]
    values = np.maximum(values, above.min() / 2.0 if len(above) else 1.0)
    scores = np.log(values) * (-1.0 if goal.direction == "min" else 1.0)
    prompts = np.unique(np.array(prompt), return_inverse=True)[1]
    when = np.array(at)
    return _Data(
        scores, prompts.astype(np.int64), np.array(block), np.array(of_trial), when - when.min(initial=0.0)
    )


def _averaged(data: _Data, trials: int) -> tuple[Floats, Floats]:
    """The trials' effects and their covariance, over all assumed spreads."""
    laplacian, pull, variance = _without_prompts(data)
    weight, pull = laplacian / variance, pull / variance
    of_trial = (data.trial[:, None] == np.arange(trials)).astype(np.float64)
    alike = _EFFECT**2 * (of_trial @ of_trial.T)
    walk = np.minimum(data.at[:, None], data.at)
    prior = np.array([a * b for _, a in _STARTS for _, b in _DRIFTS])
    spread = np.stack(
        [alike + s**2 * np.eye(len(walk)) + d**2 * walk for s, _ in _STARTS for d, _ in _DRIFTS]
    )
    system = np.eye(len(walk)) + weight @ spread
    right = np.column_stack([pull, weight @ of_trial])
    solved = np.linalg.solve(system, np.broadcast_to(right, (len(prior), *right.shape)))
    fitted = np.einsum("i,gij,gj->g", pull, spread, solved[:, :, 0])
    likelihood = 0.5 * (fitted - np.linalg.slogdet(system)[1]) + np.log(prior)
    belief = np.exp(likelihood - likelihood.max())
    belief /= belief.sum()
    effects = _EFFECT**2 * np.einsum("ik,gi->gk", of_trial, solved[:, :, 0])
    within = _EFFECT**2 * np.eye(trials) - _EFFECT**4 * (of_trial.T @ solved[:, :, 1:])
    mean = belief @ effects
    apart = effects - mean
    covariance = np.einsum("g,gij->ij", belief, within) + np.einsum("g,gi,gj->ij", belief, apart, apart)
    return mean, covariance


def _without_prompts(data: _Data) -> tuple[Floats, Floats, float]:
    """What the values say of the blocks' levels once each prompt may have any level of its own.

    Their log likelihood is pull . levels - levels . laplacian . levels / 2, over the variance of requests,
    which is returned third, from what blocks and prompts leave unexplained.
    """
    blocks, prompts = len(data.trial), int(data.prompt.max()) + 1
    met = np.zeros((blocks, prompts))
    np.add.at(met, (data.block, data.prompt), 1.0)
    shares = met / met.sum(axis=0)
    of_prompt = np.bincount(data.prompt, data.score, prompts)
    laplacian = np.diag(met.sum(axis=1)) - shares @ met.T
    pull = np.bincount(data.block, data.score, blocks) - shares @ of_prompt
    values, vectors = np.linalg.eigh(laplacian)
    free = values > 1e-9 * max(float(values[-1]), 1.0)
    explained = float(((vectors[:, free].T @ pull) ** 2 / values[free]).sum())
    total = float(data.score @ data.score) - float((of_prompt**2 / met.sum(axis=0)).sum())
    freedom = len(data.score) - prompts - int(free.sum())
    unexplained = max(total - explained, 0.0)
    return laplacian, pull, (_REQUEST_WORTH * _REQUEST**2 + unexplained) / (_REQUEST_WORTH + max(freedom, 0))

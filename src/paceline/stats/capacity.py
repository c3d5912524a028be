"""The highest load that meets the objectives, from short steps none of which is trusted alone.

The *capacity* is the load above which the share of attempted requests that meet the objectives falls under
`share`. The posterior of it comes from all steps together (docs/concepts/capacity.md): a falling logistic curve
of the logarithm of the load, whose slope, floor of failures and dependence of requests are unknown too.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

# Logits of the share that a step can have; beyond, nothing changes.
_LOGIT_STEP = 0.05
_LOGIT_MOST = 14.0
_LOGITS = np.arange(-_LOGIT_MOST, _LOGIT_MOST + _LOGIT_STEP / 2, _LOGIT_STEP)
# d logit(share) / d log(load), from sluggish to a wall.
_SLOPES = np.geomspace(2.0, 400.0, 16)
# Requests that tell as much as one independent one.
_INFLATIONS = np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0])
# Requests that fail at any load, as a part of those that may fail.
_FLOORS = np.array([0.0, 0.25, 0.5, 0.75])
_COARSE, _FINE = 97, 101
_NEGLIGIBLE = 1e-7
_NEAR = 0.12


@dataclass(frozen=True)
class Step:
    """What one step has shown: of `attempted` requests at `load`, `met` met the objectives."""

    load: float
    attempted: int
    met: int


@dataclass(frozen=True)
class Posterior:
    """What is known of the capacity. `log_load`: float64[g], ascending; `weight`: float64[g], sums to 1."""

    log_load: Floats
    weight: Floats
    slope: float
    inflation: float

    def quantile(self, p: float) -> float:
        """The load under which the capacity lies with probability `p`."""
        below = np.cumsum(self.weight) - 0.5 * self.weight
        return math.exp(float(np.interp(p, below, self.log_load)))

    def above(self, load: float) -> float:
        """The probability that the capacity is more than `load`."""
        below = np.cumsum(self.weight) - 0.5 * self.weight
        return 1.0 - float(np.interp(math.log(load), self.log_load, below, left=0.0, right=1.0))


def posterior(steps: Sequence[Step], share: float, lowest: float, highest: float) -> Posterior:
    """The posterior of the capacity.

    `share`: of attempted requests that have to meet the objectives, in (0, 1). `lowest`, `highest`: the range
    of loads of interest; the capacity may lie beyond it on both sides, by a factor of 8.
    """
    first, last = math.log(lowest / 8.0), math.log(highest * 8.0)
    loads = np.log([step.load for step in steps])
    tables = [_table(step.attempted, step.met) for step in steps]
    grid = np.linspace(first, last, _COARSE)
    weight = _marginal(tables, loads, share, grid)[0]
    for _ in range(2):
        middle = float(np.interp(0.5, np.cumsum(weight) - 0.5 * weight, grid))
        near = np.abs(loads - middle) <= _NEAR
        tables = [
            _table(step.attempted, step.met) if close else _side(step.attempted, step.met, share)
            for step, close in zip(steps, near, strict=True)
        ]
        kept = np.flatnonzero(_marginal(tables, loads, share, grid)[0] > _NEGLIGIBLE)
        grid = np.linspace(grid[max(kept[0] - 1, 0)], grid[min(kept[-1] + 1, len(grid) - 1)], _FINE)
        weight, slope, inflation = _marginal(tables, loads, share, grid)
    return Posterior(grid, weight, slope, inflation)


@lru_cache(maxsize=4096)
def _side(attempted: int, met: int, share: float) -> Floats:
    """Log likelihood of a step far from the capacity: it only tells on which side of it the step was."""
    table = _table(attempted, met)
    wall = int(np.searchsorted(_LOGITS, math.log(share / (1.0 - share))))
    side = table - table[:, wall : wall + 1]
    if met < share * attempted:
        side[:, :wall] = 0.0
    else:
        side[:, wall:] = 0.0
    return side


def _marginal(tables: list[Floats], loads: Floats, share: float, grid: Floats) -> tuple[Floats, float, float]:
    """The weight of each capacity of the grid, and the expected slope and inflation."""
    total = np.zeros((len(_INFLATIONS), len(grid), len(_SLOPES), len(_FLOORS)))
    at = share / (1.0 - _FLOORS * (1.0 - share))
    offset = np.log(at / (1.0 - at))
    for table, load in zip(tables, loads, strict=True):
        logit = offset - ((load - grid)[:, None] * _SLOPES)[:, :, None]
        if len(_FLOORS) > 1:
            rest = _FLOORS * (1.0 - share)
            p = (1.0 - rest) / (1.0 + np.exp(-np.clip(logit, -50.0, 50.0)))
            p = np.clip(p, 1e-9, 1.0 - 1e-9)
            logit = np.log(p / (1.0 - p))
        place = np.clip(np.rint((logit + _LOGIT_MOST) / _LOGIT_STEP), 0, len(_LOGITS) - 1).astype(np.int64)
        total += table[:, place]
    total -= total.max()
    weight = np.exp(total)
    weight /= weight.sum()
    slope = float(np.exp((weight.sum(axis=(0, 1, 3)) * np.log(_SLOPES)).sum()))
    inflation = float(np.exp((weight.sum(axis=(1, 2, 3)) * np.log(_INFLATIONS)).sum()))
    return weight.sum(axis=(0, 2, 3)), slope, inflation


@lru_cache(maxsize=4096)
def _table(attempted: int, met: int) -> Floats:
    """Log likelihood of a step under each inflation and share, float64[inflations, logits].

    Beta-binomial: requests of a step share their queue, so that their number that meets varies by `inflation`
    times as much as if each were independent; its intra-class correlation is (inflation - 1) / (n - 1).
    """
    from scipy.special import betaln

    p = 1.0 / (1.0 + np.exp(-_LOGITS))
    table = np.empty((len(_INFLATIONS), len(_LOGITS)))
    for row, inflation in enumerate(_INFLATIONS):
        correlation = min((inflation - 1.0) / max(attempted - 1.0, 1.0), 0.98)
        if correlation <= 0.0:
            table[row] = met * np.log(p) + (attempted - met) * np.log1p(-p)
            table[row] += _log_choose(attempted, met)
            continue
        size = 1.0 / correlation - 1.0
        table[row] = betaln(met + p * size, attempted - met + (1.0 - p) * size) - betaln(
            p * size, (1.0 - p) * size
        )
        table[row] += _log_choose(attempted, met)
    return table


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1.0) - math.lgamma(k + 1.0) - math.lgamma(n - k + 1.0)

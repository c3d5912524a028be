"""The highest load that meets the objectives, from short steps none of which is trusted alone.

The *capacity* is the load above which the share of attempted requests that meet the objectives is less than
`share`. Its posterior comes from all steps together (docs/concepts/capacity.md): near the capacity the share
falls as a logistic curve of the logarithm of the load. The slope is unknown, as are the part of requests that
fail at any load and how far requests of a step depend on each other. Steps far away, or in which too many
missed, only tell on which side of the capacity they were.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

# The capacity may lie beyond the range asked, by this factor.
BEYOND = 8.0
# Logits of the share that a step can have; beyond, nothing changes.
_LOGIT_MOST, _LOGIT_STEP = 14.0, 0.05
_LOGITS = np.arange(-_LOGIT_MOST, _LOGIT_MOST + _LOGIT_STEP / 2, _LOGIT_STEP)
# d logit(share) / d log(load), from sluggish to a wall.
_SLOPES = np.geomspace(3.0, 400.0, 14)
# Requests that tell as much as one independent one.
_INFLATIONS = np.geomspace(1.0, 256.0, 7)
# Beforehand, so much dependence is less likely the stronger it is: by its square root.
_LESS_LIKELY = 0.5
# Requests that fail at any load, as a part of those that may fail.
_FLOORS = np.array([0.0, 0.35, 0.7])
# The curve is taken for logistic within this distance of the logarithm of the load.
_NEAR = 0.15
# More than this times what may be missed is no longer on the curve.
_MANY_MISSES = 6.0
_COARSE, _FINE = 97, 101
# The fine grid leaves out so much at each end, far less than any interval does.
_NEGLIGIBLE = 5e-4
_IMPOSSIBLE = 1e-300
# Requests of a step are never more correlated than this, for some fail on their own.
_CORRELATED = 0.7


@dataclass(frozen=True)
class Step:
    """What one step has shown: of `attempted` requests at `load`, `met` met the objectives."""

    load: float
    attempted: int
    met: int


@dataclass(frozen=True)
class Posterior:
    """What is known of the capacity.

    `log_load`: float64[g], ascending. `weight`: float64[g], sums to 1. `slope`: d logit(share) / d log(load)
    at the capacity. `inflation`: requests that tell as much as one independent one. Both are expectations.
    """

    log_load: Floats
    weight: Floats
    slope: float
    inflation: float

    def quantile(self, p: float) -> float:
        """The load under which the capacity lies with probability `p`."""
        return math.exp(float(np.interp(p, self._below, self._edges)))

    def above(self, load: float) -> float:
        """The probability that the capacity is more than `load`."""
        return 1.0 - float(np.interp(math.log(load), self._edges, self._below, left=0.0, right=1.0))

    @property
    def _edges(self) -> Floats:
        """Between the capacities of the grid, and half a step beyond its ends: float64[g + 1]."""
        half = 0.5 * (self.log_load[1] - self.log_load[0])
        return np.append(self.log_load - half, self.log_load[-1] + half)

    @property
    def _below(self) -> Floats:
        return np.append(0.0, np.cumsum(self.weight))


def posterior(
    steps: Sequence[Step],
    share: float,
    lowest: float,
    highest: float,
    meets: tuple[float, float] | None = None,
) -> Posterior:
    """The posterior of the capacity; its prior is uniform in the logarithm of the load.

    `share`: of attempted requests that have to meet the objectives, in (0, 1). `lowest`, `highest`: the range
    of loads of interest; the capacity may lie beyond it by a factor of 8. `meets`: a load that meets by its
    margin, and the chance that it does not after all; its steps count for that alone.
    """
    if meets is not None:
        steps = [step for step in steps if step.load != meets[0]]
    loads = np.log([step.load for step in steps])
    grid = np.linspace(math.log(lowest / BEYOND), math.log(highest * BEYOND), _COARSE)
    tables = [_told(step, share, near=True) for step in steps]
    # Which steps are near is found out first, and then where the capacity lies, ever more finely.
    for points in (_COARSE, _FINE, _FINE):
        weight = _marginal(tables, loads, share, grid, meets)[0]
        middle = float(np.interp(0.5, np.cumsum(weight) - 0.5 * weight, grid))
        near = np.abs(loads - middle) <= _NEAR
        tables = [_told(step, share, near=bool(close)) for step, close in zip(steps, near, strict=True)]
        if points == _FINE:
            below = np.cumsum(weight)
            kept = np.flatnonzero((below > _NEGLIGIBLE) & (below - weight < 1.0 - _NEGLIGIBLE))
            grid = np.linspace(grid[max(kept[0] - 1, 0)], grid[min(kept[-1] + 1, len(grid) - 1)], _FINE)
            if meets is not None:
                # What is known changes at that load, which is to lie between two capacities of the grid.
                width = grid[1] - grid[0]
                place = (math.log(meets[0]) - grid[0]) / width - 0.5
                grid += (place - round(place)) * width
    return Posterior(grid, *_marginal(tables, loads, share, grid, meets))


def _told(step: Step, share: float, *, near: bool) -> Floats:
    """What a step tells of the share at its load, as a table like that of `_table`.

    Where too many missed, the load may be more than can be served at all, and the share then only says how
    long the step was; or something else went wrong. So all that counts is that many missed, and never for
    more than that is evidence at the share asked for.
    """
    if step.attempted - step.met > _MANY_MISSES * (1.0 - share) * step.attempted:
        return _overloaded(step.attempted, share, near)
    return (_table if near else _side)(step.attempted, step.met, share)


def _marginal(
    tables: list[Floats], loads: Floats, share: float, grid: Floats, meets: tuple[float, float] | None
) -> tuple[Floats, float, float]:
    """The weight of each capacity of the grid, and the expected slope and inflation."""
    total = np.zeros((len(_INFLATIONS), len(_FLOORS), len(grid), len(_SLOPES)))
    total -= (_LESS_LIKELY * np.log(_INFLATIONS))[:, None, None, None]
    if meets is not None:
        total += np.where(grid < math.log(meets[0]) - 1e-12, math.log(meets[1]), 0.0)[:, None]
    places, starts = _floored(share)
    for table, load in zip(tables, loads, strict=True):
        fall = (load - grid)[:, None] * _SLOPES
        for floor, (place, start) in enumerate(zip(places, starts, strict=True)):
            index = np.rint((start - fall + _LOGIT_MOST) / _LOGIT_STEP)
            own = table[:, place]
            total[:, floor] += own[:, np.clip(index, 0, len(_LOGITS) - 1).astype(np.int64)]
    weight = np.exp(total - total.max())
    weight /= weight.sum()
    slope = float(np.exp(weight.sum(axis=(0, 1, 2)) @ np.log(_SLOPES)))
    inflation = float(np.exp(weight.sum(axis=(1, 2, 3)) @ np.log(_INFLATIONS)))
    return weight.sum(axis=(0, 1, 3)), slope, inflation


@lru_cache(maxsize=64)
def _floored(share: float) -> tuple[npt.NDArray[np.int64], Floats]:
    """For each floor: where in `_LOGITS` a share lies that would be at each place without it, int64[f, l].

    And the logit without the floor at which the share with it is as asked, float64[f].
    """
    most = 1.0 - _FLOORS[:, None] * (1.0 - share)
    p = np.clip(most / (1.0 + np.exp(-_LOGITS)), 1e-9, 1.0 - 1e-9)
    place = np.rint((np.log(p / (1.0 - p)) + _LOGIT_MOST) / _LOGIT_STEP)
    at = share / most[:, 0]
    return np.clip(place, 0, len(_LOGITS) - 1).astype(np.int64), np.log(at / (1.0 - at))


@lru_cache(maxsize=4096)
def _table(attempted: int, met: int, _share: float = 0.0) -> Floats:
    """Log likelihood of a step under each inflation and share, float64[inflations, logits].

    Beta-binomial (Skellam 1948): requests of a step share their queue, so that the number that meets varies
    `inflation` times as much as if each were independent; the intra-class correlation of n requests is then
    (inflation - 1) / (n - 1).
    """
    from scipy.special import betaln

    missed = attempted - met
    p = 1.0 / (1.0 + np.exp(-_LOGITS))
    table = np.empty((len(_INFLATIONS), len(_LOGITS)))
    for row, inflation in enumerate(_INFLATIONS):
        correlation = min((inflation - 1.0) / max(attempted - 1.0, 1.0), _CORRELATED)
        if correlation <= 0.0:
            table[row] = met * np.log(p) + missed * np.log1p(-p)
        else:
            size = 1.0 / correlation - 1.0
            a, b = p * size, (1.0 - p) * size
            table[row] = betaln(met + a, missed + b) - betaln(a, b)
    return table


@lru_cache(maxsize=4096)
def _side(attempted: int, met: int, share: float) -> Floats:
    """The same of a step far from the capacity: all that it tells is on which side of the capacity it was."""
    table = _table(attempted, met)
    wall = int(np.searchsorted(_LOGITS, math.log(share / (1.0 - share))))
    side = table - table[:, wall : wall + 1]
    if met < share * attempted:
        side[:, :wall] = 0.0
    else:
        side[:, wall:] = 0.0
    return side


@lru_cache(maxsize=4096)
def _overloaded(attempted: int, share: float, near: bool) -> Floats:
    """The same of a step in which too many missed.

    Near the capacity: the chance that so many do, of as many independent requests as the step is worth (a
    binomial tail, as an incomplete beta function). It tells of the dependence: with little of it no step at
    the capacity could miss so much. Farther away the step counts as one request that missed.
    """
    from scipy.special import betainc

    q = 1.0 - np.minimum(1.0 / (1.0 + np.exp(-_LOGITS)), share)
    if not near:
        return np.tile(np.log(q), (len(_INFLATIONS), 1))
    worth = np.maximum(attempted / _INFLATIONS, 1.0)[:, None]
    least = np.maximum(min(_MANY_MISSES * (1.0 - share), 1.0) * worth, 1.0)
    tail: Floats = np.log(np.maximum(betainc(least, worth - least + 1.0, q[None, :]), _IMPOSSIBLE))
    return tail

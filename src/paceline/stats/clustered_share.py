"""A share of requests that depend on each other, with exact bounds at any error.

The bounds are Clopper and Pearson's at the effective sample size n / inflation (Korn and Graubard 1998),
where the inflation is that of the share's variance by what requests near each other, or calls of one job,
have in common (`stats.dependence`, `stats.clusters`), and by what runs have apart where they differ
(`stats.occasions`).
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from paceline.stats.clusters import Clusters
from paceline.stats.dependence import FEWEST, Dependence
from paceline.stats.frame import Ints
from paceline.stats.occasions import Inflation, Occasions

Floats = npt.NDArray[np.float64]

_USUAL_ERROR = 0.025
# Beyond this the normal score of a probability is of no use.
_HIGHEST_P = 0.999
# Of a value.
_STEP = 0.01
_SEED = 1
MOST_NEEDED = 100_000
"""A share that more observations than these would be needed for is too close to its limit to call."""


@dataclass(frozen=True)
class ShareEstimate:
    """`met` of `n`; inflation: how many observations tell no more than one independent one; at least 1.

    freedom: degrees of freedom behind the inflation, where it is the variance between few runs.
    """

    met: float
    n: int
    inflation: float = 1.0
    freedom: float = math.inf

    @property
    def value(self) -> float | None:
        """The share; None of nothing."""
        return self.met / self.n if self.n else None

    @property
    def effective_n(self) -> float:
        """Independent observations that would tell as much."""
        return self.n / self._factor(_USUAL_ERROR)

    def lower(self, error: float) -> float:
        """The share is at least this, but for a probability of `error`."""
        factor = self._factor(error)
        return _lower(self.met / factor, self.n / factor, error)

    def upper(self, error: float) -> float:
        """The share is at most this, but for a probability of `error`."""
        factor = self._factor(error)
        return 1.0 - _lower((self.n - self.met) / factor, self.n / factor, error)

    def more_needed(
        self, limit: float, *, above_error: float, below_error: float, fewest: int = 1
    ) -> int | None:
        """How many more observations would set it above or below `limit`, if share and inflation stay.

        The fewest n, `fewest` at least, at which one of the bounds has passed the limit. None: more than
        MOST_NEEDED.
        """
        share = self.value
        above, below = self._factor(above_error), self._factor(below_error)

        def settled(n: int) -> bool:
            met = n * (share or 0.0)
            if share is not None and share < limit:
                return 1.0 - _lower((n - met) / below, n / below, below_error) < limit
            return _lower((n if share is None else met) / above, n / above, above_error) >= limit

        low, high = max(self.n, fewest - 1), max(2 * self.n, fewest)
        while not settled(high):
            low, high = high, 2 * high
            if low > self.n + MOST_NEEDED:
                return None
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if settled(middle) else (middle, high)
        needed = high - self.n
        return needed if needed <= MOST_NEEDED else None

    def _factor(self, error: float) -> float:
        return min(Inflation(self.inflation, self.freedom).at(error), float(max(self.n, 1)))


def share_estimate(
    closeness: Floats, limit: float, jobs: Ints | None = None, runs: Ints | None = None
) -> ShareEstimate:
    """The share of observations that are at most 1.

    closeness: float64[n] in order of time, value over limit, inf for one that failed. limit: the share that
    it will be held against. jobs: int64[n], the job of each; None where each is its own. runs: int64[n], the
    run of each, ascending.
    """
    n = len(closeness)
    met = int((closeness <= 1.0).sum())
    p = min(max(limit, 1.0 - _HIGHEST_P), _HIGHEST_P)
    # Infinities have ranks, and nothing but ranks counts. Where values differ by less than a step, as times
    # of an idle server do, neighbours may well be alike in it: that tells nothing of how the limit is kept.
    noise = np.random.default_rng(_SEED).uniform(1.0 - _STEP, 1.0 + _STEP, n)
    finite = np.where(np.isfinite(closeness), closeness * noise, np.finfo(np.float64).max)
    calls = jobs if jobs is not None and len(np.unique(jobs)) < n else None
    found = Inflation(1.0)
    if n >= FEWEST and runs is not None and runs[0] != runs[-1]:
        found = Occasions.of(finite, runs, calls).inflation(p, 1.0)
    elif calls is not None:
        found = Inflation(Clusters.of(finite, calls).inflation(p, 1.0))
    elif n >= FEWEST:
        found = Inflation(Dependence.of(finite).inflation(p, 1.0))
    return ShareEstimate(met, n, min(max(found.factor, 1.0), float(max(n, 1))), found.freedom)


def _lower(met: float, n: float, error: float) -> float:
    from scipy.special import betaincinv

    return float(betaincinv(met, n - met + 1.0, error)) if met > 0.0 else 0.0

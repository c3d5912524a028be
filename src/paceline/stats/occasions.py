"""Runs of one thing whose levels differ by more than chance: then runs are drawn, not requests.

What requests of one run have in common (the hour, the machine, who else was there) does not average out over
them, however many they are. Where runs differ, the variance of a share or mean is that between runs, with
Student's t for so few of them; where they do not, they are one sample ("sometimes pool": Bancroft 1944).
A difference that is certain and does not matter is none: levels within 5 % of each other are one level.
"""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from paceline.stats.clusters import Clusters, cluster_inflation, intraclass
from paceline.stats.dependence import Dependence, indicator_correlation, normal_scores
from paceline.stats.frame import Ints

Floats = npt.NDArray[np.float64]

ALIKE_P = 0.1
"""Runs differ where chance would part equal ones as far less often than this: by scores, or by what is told
of."""

ONE_LEVEL = 1.05
"""Runs whose levels lie within this ratio are taken for alike, however surely they differ."""

FEWEST_RUNS = 5
"""Of fewer runs that differ, Student's t says no more of a further one than that nobody knows."""


@dataclass(frozen=True)
class Inflation:
    """How many observations tell no more than one independent one, at least 1.

    freedom: degrees of freedom behind it, where it is the variance between few runs; else inf.
    """

    factor: float
    freedom: float = np.inf

    def at(self, error: float) -> float:
        """The factor, widened as a one-sided bound at this error must be for so few runs."""
        from scipy.special import ndtri, stdtrit

        if np.isinf(self.freedom):
            return self.factor
        return self.factor * float(stdtrit(self.freedom, error) / ndtri(error)) ** 2


@dataclass(frozen=True)
class Occasions:
    """Values of several runs. `run`: int64[n], 0 to r - 1. `within`: what values of one run have in common.

    `likeness`: the intraclass correlation of the normal scores of one run. `differ`: by those scores.
    """

    values: Floats
    run: Ints
    sizes: Ints
    within: Dependence | Clusters
    likeness: float
    differ: bool

    @classmethod
    def of(cls, values: Floats, runs: Ints, jobs: Ints | None = None) -> "Occasions":
        """`values`: float64[n] in order of run and time. `runs`: int64[n]. `jobs`: int64[n], across all runs;
        None where each value is its own.
        """
        run = np.unique(runs, return_inverse=True)[1].reshape(-1).astype(np.int64)
        sizes = np.bincount(run).astype(np.int64)
        scores = normal_scores(values)
        within: Dependence | Clusters
        if jobs is None:
            within = Dependence.of(values, run, scores)
        else:
            within = Clusters.of(values, jobs, run, scores)
        differ = _differ(variance_ratio(scores, run, sizes), within.of_scores(), len(values), len(sizes))
        found = cls(values, run, sizes, within, intraclass(scores, run, sizes), differ)
        return replace(found, differ=False) if differ and _one_level(*found.levels(0.5)) else found

    def levels(self, p: float) -> tuple[float, float]:
        """The least and the greatest of the runs' own `p` quantiles (each an order statistic)."""
        order = np.lexsort((self.values, self.run))
        begins = np.concatenate([[0], np.cumsum(self.sizes)[:-1]])
        mine = self.values[order[begins + np.floor(p * (self.sizes - 1)).astype(np.int64)]]
        return float(mine.min()), float(mine.max())

    def inflation(self, p: float, quantile: float) -> Inflation:
        """Of the share of values <= `quantile`; `p`: the probability that it stands for.

        How runs differ does not matter where their levels are one, or where `quantile` lies beyond all of
        them by as much again as they are apart.
        """
        within = self.within.inflation(p, quantile)
        runs = len(self.sizes)
        if runs < 2:
            return Inflation(within)
        below = (self.values <= quantile).astype(np.float64)
        by_shares = cluster_inflation(below, self.run, runs)
        if not (self.differ or _differ(by_shares, within, len(self.values), runs)):
            return Inflation(within)
        low, high = self.levels(p)
        if _one_level(low, high) or (low > 0.0 and not low * low / high <= quantile < high * high / low):
            return Inflation(within)
        n = len(self.values)
        alike = float(indicator_correlation(np.array([self.likeness]), p)[0])
        by_scores = 1.0 + (float(self.sizes @ self.sizes) / n - 1.0) * alike
        return Inflation(max(within, by_shares, by_scores), runs - 1.0)


def dense_runs(runs: Ints | None) -> Ints | None:
    """Runs by numbers from 0 on, int64[n], in order; None where there are not several. `runs`: ascending."""
    if runs is None or not len(runs) or runs[0] == runs[-1]:
        return None
    return np.unique(runs, return_inverse=True)[1].reshape(-1).astype(np.int64)


def means_differ(values: Floats, run: Ints, inflation: float) -> bool:
    """Whether means of runs differ by more than chance. `run`: int64[n], 0 to r - 1, in the values' order.

    `inflation`: of the variance of a mean by what values of one run have in common.
    """
    sizes = np.bincount(run).astype(np.int64)
    runs = len(sizes)
    if runs < 2:
        return False
    means = np.bincount(run, values, runs) / sizes
    if _one_level(float(means.min()), float(means.max())):
        return False
    return any(
        _differ(variance_ratio(one, run, sizes), inflation, len(values), runs)
        for one in (values, normal_scores(values))
    )


def variance_ratio(values: Floats, run: Ints, sizes: Ints) -> float:
    """Mean square between runs over that within (Fisher's F); inf where only runs vary, 1 where none does."""
    n, runs = len(values), len(sizes)
    if runs < 2 or n <= runs:
        return 1.0
    means = np.bincount(run, values, runs) / sizes
    between = float(sizes @ (means - values.mean()) ** 2) / (runs - 1)
    within = float(((values - means[run]) ** 2).sum()) / (n - runs)
    # What is left of equal values by rounding is no variance.
    least = 1e-18 * float(values @ values) / n
    if within <= least:
        return np.inf if between > least else 1.0
    return between / within


def _one_level(low: float, high: float) -> bool:
    return low > 0.0 and high <= ONE_LEVEL * low


def _differ(ratio: float, inflation: float, n: int, runs: int) -> bool:
    from scipy.special import fdtrc

    freedom = max(n / inflation - runs, 1.0)
    return runs > 1 and float(fdtrc(runs - 1.0, freedom, ratio / inflation)) < ALIKE_P

"""How much less the calls of jobs tell than as many independent ones.

Calls of one job depend on each other: on what came before them, on one cache, on one connection. So jobs are
drawn, not calls, and the variance of a share of calls is that between jobs: what resampling whole jobs would
give, in closed form (the design effect of a cluster sample: Kish 1965; the linearised variance of a ratio).
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from paceline.stats.dependence import (
    FEWEST,
    Z,
    fitted_autocorrelation,
    indicator_correlation,
    less_run_means,
    normal_scores,
    sum_of_lags,
)
from paceline.stats.frame import Ints

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Clusters:
    """Samples of jobs.

    `values`: float64[n]. `job`: int64[n], 0 to j - 1, in the order in which the jobs began. `sizes`:
    int64[j], none of them 0. `likeness`: the intraclass correlation of the samples' normal scores, at
    least 0. `run`: int64[n], 0 to r - 1, where jobs are of several runs: what is told is then what calls of
    one job have in common beyond what those of one run have.
    """

    values: Floats
    job: Ints
    sizes: Ints
    likeness: float
    run: Ints | None = None

    @classmethod
    def of(
        cls, values: Floats, jobs: Ints, run: Ints | None = None, scores: Floats | None = None
    ) -> "Clusters":
        """`values`: float64[n]. `jobs`: int64[n], the job of each, numbered in the order of their start.

        `scores`: the normal scores of the values, where these are known.
        """
        _, dense = np.unique(jobs, return_inverse=True)
        job = dense.reshape(-1).astype(np.int64)
        sizes = np.bincount(job).astype(np.int64)
        centred = less_run_means(normal_scores(values) if scores is None else scores, run)
        return cls(values, job, sizes, intraclass(centred, job, sizes), run)

    def of_scores(self) -> float:
        """Variance of the mean of the normal scores against that of independent draws; at least 1."""
        n = max(len(self.values), 1)
        return 1.0 + max(float(self.sizes @ self.sizes) / n - 1.0, 0.0) * self.likeness

    def inflation(self, p: float, quantile: float) -> float:
        """Variance of the share of values <= `quantile` against that of independent draws; at least 1.

        `p`: the probability that `quantile` stands for. The larger of two estimates: from the likeness of
        the scores of one job through a Gaussian copula, which says much even where few values lie beyond the
        quantile, and from the shares of each job themselves. Times what successive jobs pass on to each
        other, and widened as a variance between so few jobs must be.
        """
        from scipy.special import stdtrit

        n, jobs = len(self.values), len(self.sizes)
        if jobs < 2:
            # One job is one observation, however many calls it has.
            return float(max(n, 1))
        below = self.values <= quantile
        share = float(below.mean())
        centred = less_run_means(below.astype(np.float64), self.run)
        apart: Floats = np.bincount(self.job, centred - centred.mean(), jobs).astype(np.float64)
        single = share * (1.0 - share) * n
        by_shares = jobs / (jobs - 1.0) * float(apart @ apart) / single if single > 0.0 else 1.0
        alike = float(indicator_correlation(np.array([self.likeness]), p)[0])
        by_scores = 1.0 + (float(self.sizes @ self.sizes) / n - 1.0) * alike
        widening = float(stdtrit(jobs - 1, 0.975)) / Z
        return max(1.0, by_shares, by_scores) * _between(apart) * widening**2


def job_blocks(jobs: Ints, most: int = 40) -> Ints:
    """A block for each sample, int64[n]: a job, or where there are more than `most` so many runs of jobs.

    `jobs`: int64[n], the number of each sample's job in the order of their start.
    """
    known, dense = np.unique(jobs, return_inverse=True)
    count = max(len(known), 1)
    blocks: Ints = dense.astype(np.int64) * min(count, most) // count
    return blocks


def _between(apart: Floats) -> float:
    """What successive jobs pass on to each other, as a factor on the variance; at least 1."""
    if len(apart) < FEWEST:
        return 1.0
    return max(1.0, sum_of_lags(fitted_autocorrelation(apart), len(apart)))


def cluster_inflation(indicator: Floats, cluster: Ints, count: int) -> float:
    """Variance of the mean of 0s and 1s, as it is between clusters, against that of independent draws.

    `cluster`: int64[n], 0 to count - 1; at least two. 1 where all are alike.
    """
    share = float(indicator.mean())
    apart: Floats = np.bincount(cluster, indicator - share, count).astype(np.float64)
    single = share * (1.0 - share) * len(indicator)
    return count / (count - 1.0) * float(apart @ apart) / single if single > 0.0 else 1.0


def intraclass(scores: Floats, job: Ints, sizes: Ints) -> float:
    """The intraclass correlation by analysis of variance (Donner 1986), at least 0."""
    n, jobs = len(scores), len(sizes)
    if jobs < 2 or n <= jobs:
        return 0.0
    means = np.bincount(job, scores, jobs) / sizes
    between = float(sizes @ (means - scores.mean()) ** 2) / (jobs - 1)
    within = float(((scores - means[job]) ** 2).sum()) / (n - jobs)
    size = (n - float(sizes @ sizes) / n) / (jobs - 1)
    total = between + (size - 1.0) * within
    return max(0.0, (between - within) / total) if total > 0.0 else 0.0

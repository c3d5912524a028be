"""A mean with its interval, by resampling whole blocks."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from paceline.stats.bootstrap import Blocks

_FEWEST_BLOCKS = 5


@dataclass(frozen=True)
class MeanEstimate:
    """value: nan without samples. lo, hi: None where there are too few blocks; needs_n: then about how many
    samples it takes, of blocks like those that there are.
    """

    value: float
    lo: float | None
    hi: float | None
    n: int
    needs_n: int | None


def mean_estimate(
    values: npt.ArrayLike,
    blocks: npt.ArrayLike,
    *,
    confidence: float = 0.95,
    replicates: int = 1000,
    seed: int = 1,
) -> MeanEstimate:
    """The mean of `values` (float64[n]); `blocks`: int64[n], what is drawn together, by any numbers.

    A percentile bootstrap by block with tails widened for few blocks (Hesterberg 2015, "expanded"
    percentiles: Student's t in the place of the normal, and the variance by blocks / (blocks - 1)).
    """
    seen = np.asarray(values, np.float64)
    known, ids = np.unique(np.asarray(blocks, np.int64), return_inverse=True)
    n, count = len(seen), len(known)
    if not n:
        return MeanEstimate(math.nan, None, None, 0, _FEWEST_BLOCKS)
    mean = float(seen.mean())
    if count < _FEWEST_BLOCKS:
        return MeanEstimate(mean, None, None, n, math.ceil(n * _FEWEST_BLOCKS / count))
    from scipy.special import ndtr, stdtrit

    sampled = Blocks(seen, ids.reshape(-1).astype(np.int64), count, np.empty(0))
    draws = sampled.draws(replicates, np.random.default_rng(seed))
    drawn = sampled.means(draws, np.zeros(replicates))
    t = float(stdtrit(count - 1, 0.5 + confidence / 2.0))
    tail = float(ndtr(-t * math.sqrt(count / (count - 1))))
    lo, hi = (float(end) for end in np.quantile(drawn, [tail, 1.0 - tail], method="closest_observation"))
    # Rounding alone may put the mean of equal values beside their interval.
    return MeanEstimate(mean, min(lo, mean), max(hi, mean), n, None)

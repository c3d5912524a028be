"""Replicates of a mean or a quantile, by resampling whole blocks.

Each replicate draws as many blocks as there are, with replacement; its statistic is that of all samples of
the drawn blocks (the cluster bootstrap: Davison and Hinkley 1997, section 3.8; for series, Carlstein 1986).
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from paceline.stats.frame import Ints

Floats = npt.NDArray[np.float64]

_GRID = 8192


@dataclass(frozen=True)
class Blocks:
    """Samples with their blocks. `values`: float64[n]. `ids`: int64[n], 0 to count - 1.

    `censored`: float64[k], lower bounds of further observations: beyond all values for a quantile, at their
    bound for a mean (which is then a lower bound). They belong to no block.
    """

    values: Floats
    ids: Ints
    count: int
    censored: Floats

    def draws(self, replicates: int, rng: np.random.Generator) -> npt.NDArray[np.float32]:
        """How often each block is drawn, float32[replicates, count]."""
        drawn = rng.integers(self.count, size=(replicates, self.count))
        drawn += np.arange(replicates)[:, None] * self.count
        times = np.bincount(drawn.ravel(), minlength=replicates * self.count)
        return times.reshape(replicates, self.count).astype(np.float32)

    def cuts(self, replicates: int, rng: np.random.Generator) -> Floats:
        """How many censored observations each replicate has, Poisson around their number."""
        return rng.poisson(len(self.censored), replicates).astype(np.float64)

    def means(self, draws: npt.NDArray[np.float32], cuts: Floats) -> Floats:
        """The mean of each replicate, float64[replicates]."""
        sums = np.bincount(self.ids, self.values, self.count)
        sizes = np.bincount(self.ids, minlength=self.count)
        bound = self.censored.mean() if len(self.censored) else 0.0
        found: Floats = (draws @ sums + cuts * bound) / np.maximum(draws @ sizes + cuts, 1.0)
        return found

    def quantiles(self, draws: npt.NDArray[np.float32], cuts: Floats, q: float) -> Floats:
        """The `q` quantile of each replicate, float64[replicates]; inf where it is a censored one.

        Order statistics are looked up on a grid of at most 8192 values, dense around the quantile, so that
        the cost does not grow with the number of samples; below that number the result is exact.
        """
        grid = self._grid(q)
        place = np.searchsorted(grid, self.values, "left")
        counts = np.bincount(self.ids * len(grid) + place, minlength=self.count * len(grid))
        up_to = np.cumsum(counts.reshape(self.count, len(grid)), axis=1).T.astype(np.float32)
        sizes = (draws @ up_to[-1]).astype(np.float64) + cuts
        rank = np.maximum(sizes - 1.0, 0.0) * q
        whole = np.floor(rank)
        values = np.append(grid, np.inf)
        low = values[_places(draws, up_to, whole)]
        high = values[_places(draws, up_to, whole + 1.0)]
        between = rank - whole
        high = np.where(between > 0.0, high, low)
        finite = np.isfinite(high)
        found = np.full(len(low), np.inf)
        found[finite] = low[finite] + between[finite] * (high[finite] - low[finite])
        return found

    def _grid(self, q: float) -> Floats:
        ordered = np.sort(self.values)
        n = len(ordered)
        if n <= _GRID:
            return np.unique(ordered)
        centre = min(q * (n + len(self.censored)) / n, 1.0)
        spread = 20.0 * np.sqrt(q * (1.0 - q) / n)
        near = np.linspace(max(centre - spread, 0.0), min(centre + spread, 1.0), _GRID // 2)
        everywhere = np.linspace(0.0, 1.0, _GRID // 2)
        ranks = np.rint(np.concatenate([near, everywhere]) * (n - 1)).astype(np.int64)
        return np.unique(ordered[ranks])


def _places(draws: npt.NDArray[np.float32], up_to: npt.NDArray[np.float32], rank: Floats) -> Ints:
    """For each replicate the first grid point up to which more than `rank` of its samples lie, int64[r].

    `draws`: [r, blocks]. `up_to`: [grid, blocks], samples of each block up to each grid point. By bisection,
    all replicates at once, so that only a few grid points are ever summed. One past the grid where there is
    none.
    """
    low = np.zeros(len(draws), np.int64)
    high = np.full(len(draws), len(up_to), np.int64)
    for _ in range(len(up_to).bit_length()):
        middle = np.minimum((low + high) // 2, len(up_to) - 1)
        enough = np.einsum("rb,rb->r", draws, up_to[middle]) > rank
        open_ = low < high
        high = np.where(open_ & enough, middle, high)
        low = np.where(open_ & ~enough, middle + 1, low)
    return low

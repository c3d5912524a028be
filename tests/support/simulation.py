"""Series with known quantiles, and how often intervals cover them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from paceline.stats.compare import Statistic, compare
from paceline.stats.metrics import MetricSamples
from paceline.stats.quantiles import quantile_estimates

Floats = npt.NDArray[np.float64]

SIGMA = 0.5
STALL_SHARE, STALL_FACTOR = 0.03, 5.0
QUANTILES = (0.5, 0.9, 0.99)


@dataclass(frozen=True)
class Series:
    """`draw(rng, replications, n)` gives float64[replications, n]; `quantile(q)` is the true one."""

    name: str
    draw: Callable[[np.random.Generator, int, int], Floats]
    quantile: Callable[[float], float]


@dataclass(frozen=True)
class Coverage:
    """Of the replications with a bounded interval, the share that covers; and the share that is bounded."""

    covered: float
    bounded: float


def stalled() -> Series:
    """Independent lognormal values of which 3 % are five times as large."""

    def draw(rng: np.random.Generator, replications: int, n: int) -> Floats:
        values = rng.lognormal(0.0, SIGMA, (replications, n))
        values[rng.random((replications, n)) < STALL_SHARE] *= STALL_FACTOR
        return values

    def quantile(q: float) -> float:
        from scipy.optimize import brentq
        from scipy.special import ndtr

        def above(x: float) -> float:
            usual = (1.0 - STALL_SHARE) * ndtr(np.log(x) / SIGMA)
            return float(usual + STALL_SHARE * ndtr(np.log(x / STALL_FACTOR) / SIGMA) - q)

        return float(brentq(above, 1e-3, 1e3))

    return Series("lognormal, 3 % stalls of 5x", draw, quantile)


def autocorrelated(rho: float) -> Series:
    """Lognormal values whose logarithms are a first-order autoregression."""

    def draw(rng: np.random.Generator, replications: int, n: int) -> Floats:
        from scipy.signal import lfilter

        settle = 100
        noise = rng.standard_normal((replications, n + settle)) * np.sqrt(1.0 - rho**2)
        normal = lfilter([1.0], [1.0, -rho], noise, axis=1)[:, settle:]
        return np.asarray(np.exp(SIGMA * normal), dtype=np.float64)

    def quantile(q: float) -> float:
        from scipy.special import ndtri

        return float(np.exp(SIGMA * ndtri(q)))

    return Series(f"autocorrelated {rho:g}", draw, quantile)


def interval_coverage(series: Series, n: int, replications: int, seed: int) -> dict[float, Coverage]:
    """Coverage of the order-statistic intervals of p50, p90 and p99."""
    truth = np.array([series.quantile(q) for q in QUANTILES])
    lo = np.full((replications, len(QUANTILES)), np.nan)
    hi = lo.copy()
    values = series.draw(np.random.default_rng(seed), replications, n)
    for i, sample in enumerate(values):
        for j, estimate in enumerate(quantile_estimates(sample, QUANTILES)):
            if estimate.enough:
                lo[i, j], hi[i, j] = estimate.lo, estimate.hi
    bounded = ~np.isnan(lo)
    covers = (lo <= truth) & (truth <= hi)
    return {
        q: Coverage(float(covers[:, j].sum() / max(bounded[:, j].sum(), 1)), float(bounded[:, j].mean()))
        for j, q in enumerate(QUANTILES)
    }


def comparison_coverage(
    series: Series, statistic: Statistic, n: int, replications: int, seed: int
) -> tuple[float, float]:
    """Coverage of the bootstrap intervals of ratio and difference; the true ratio is 1.25."""
    ratio = 1.25
    rng = np.random.default_rng(seed)
    firsts, seconds = series.draw(rng, replications, n), ratio * series.draw(rng, replications, n)
    at = _level(series, statistic)
    covered = np.zeros(2)
    for i, (first, second) in enumerate(zip(firsts, seconds, strict=True)):
        found = compare(samples(first), samples(second), statistic=statistic, replicates=1000, seed=i)
        for j, (interval, truth) in enumerate(((found.ratio, ratio), (found.difference, at * (ratio - 1.0)))):
            assert interval.lo is not None
            assert interval.hi is not None
            covered[j] += interval.lo <= truth <= interval.hi
    share = covered / replications
    return float(share[0]), float(share[1])


def samples(values: npt.ArrayLike, name: str = "ttft_ms", **fields: Any) -> MetricSamples:
    """Samples of a metric, one a millisecond."""
    array = np.asarray(values, np.float64)
    index = np.arange(len(array))
    return MetricSamples(name, array, index * 1_000_000, index, **fields)


def _level(series: Series, statistic: Statistic) -> float:
    if statistic != "mean":
        return series.quantile(float(statistic[1:]) / 100.0)
    usual = float(np.exp(SIGMA**2 / 2.0))
    stalls = 1.0 + STALL_SHARE * (STALL_FACTOR - 1.0)
    return usual * stalls if series.name.startswith("lognormal") else usual

"""Quantiles, and distribution-free intervals for them that know of dependence and of censoring.

One definition of a quantile in the whole project: linear between order statistics, as numpy's default
(Hyndman and Fan 1996, type 7).
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from paceline.stats.clusters import Clusters
from paceline.stats.dependence import Dependence
from paceline.stats.frame import Ints
from paceline.stats.occasions import FEWEST_RUNS, Occasions

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Estimate:
    """One quantile with its interval, in the unit of the values.

    `value`: nan when n is 0; a lower bound when it lies among censored observations.
    `lo`, `hi`: the interval; None where the sample cannot bound it.
    `enough`: the value is known and both ends are bounded.
    `n`: observations, censored ones included.
    `needs_n`: when not `enough`, how many observations would bound it at the dependence and the share of
    censored ones seen here; None when enough, or when no number would do.
    `known`: the value does not lie among censored observations.
    """

    value: float
    lo: float | None
    hi: float | None
    enough: bool
    n: int
    needs_n: int | None
    known: bool = True

    def to_dict(self) -> dict[str, float | int | bool | None]:
        """As in `paceline.report/1`; nan becomes None."""
        return {
            "value": None if math.isnan(self.value) else self.value,
            "lo": self.lo,
            "hi": self.hi,
            "enough": self.enough,
            "needs_n": self.needs_n,
        }


def percentile(values: npt.ArrayLike, q: float) -> float:
    """The `q` quantile (0 <= q <= 1, so 0.99 for p99) of `values`, nan when there are none.

    Raises ValueError when q is no fraction.
    """
    if not 0.0 <= q <= 1.0:
        raise ValueError(f"q must be a fraction between 0 and 1, not {q}")
    array = np.asarray(values, dtype=np.float64)
    return float(np.quantile(array, q)) if array.size else math.nan


def quantile_estimate(
    values: npt.ArrayLike,
    q: float,
    *,
    censored: npt.ArrayLike | None = None,
    confidence: float = 0.95,
    dependent: bool = True,
    jobs: Ints | None = None,
    runs: Ints | None = None,
) -> Estimate:
    """One quantile; see `quantile_estimates`."""
    return quantile_estimates(
        values, [q], censored=censored, confidence=confidence, dependent=dependent, jobs=jobs, runs=runs
    )[0]


def quantile_estimates(
    values: npt.ArrayLike,
    qs: Sequence[float],
    *,
    censored: npt.ArrayLike | None = None,
    confidence: float = 0.95,
    dependent: bool = True,
    jobs: Ints | None = None,
    runs: Ints | None = None,
) -> list[Estimate]:
    """The quantiles `qs` (0 < q < 1) of `values` with order-statistic intervals.

    `values`: float64[n] in order of time (the order is what dependence is estimated from).
    `censored`: float64[k], lower bounds of observations that were not seen to their end.
    `confidence`: nominal coverage, two-sided with equal tails.
    `dependent`: False takes the values as independent.
    `jobs`: int64[n], the number of each value's job in the order of their start. Values of one job depend on
    each other, and jobs take the place of the order of time; where each has its own, it is as without.
    `runs`: int64[n], the run of each value, ascending. Where runs differ by more than chance, the interval
    is that of what a further run may be like; of fewer than `occasions.FEWEST_RUNS`, it spans what they were.

    The number of n independent values under the true quantile is binomial(n, q), whatever the distribution
    (David and Nagaraja, Order Statistics, section 7.1). Dependence is allowed for by the effective sample
    size n / inflation in the place of n, as for quantiles of complex surveys (Woodruff 1952; Korn and
    Graubard 1998). Raises ValueError when a q is not strictly between 0 and 1.
    """
    if not all(0.0 < q < 1.0 for q in qs):
        raise ValueError(f"each q must lie strictly between 0 and 1: {list(qs)}")
    seen = np.asarray(values, dtype=np.float64)
    bounds = np.asarray([] if censored is None else censored, dtype=np.float64)
    sample = _Sample(np.sort(seen), np.sort(bounds))
    if sample.n == 0:
        return [Estimate(math.nan, None, None, False, 0, _fewest(q, confidence, 1.0)) for q in qs]
    dependence = _dependence(seen, jobs, runs) if dependent else None
    return [_estimate(sample, q, confidence, dependence) for q in qs]


def _dependence(seen: Floats, jobs: Ints | None, runs: Ints | None) -> Dependence | Clusters | Occasions:
    several_calls = jobs is not None and len(np.unique(jobs)) < len(jobs)
    if runs is not None and len(runs) and runs[0] != runs[-1]:
        return Occasions.of(seen, runs, jobs if several_calls else None)
    if jobs is None or not several_calls:
        return Dependence.of(seen)
    return Clusters.of(seen, jobs)


class _Sample:
    """Sorted observations under the two extreme readings of the censored ones."""

    def __init__(self, seen: Floats, bounds: Floats) -> None:
        self.seen = seen
        self.bounds = bounds
        self.n = len(seen) + len(bounds)
        self.lowest = np.sort(np.concatenate([seen, bounds])) if len(bounds) else seen

    def at_least(self, rank: int) -> float:
        """The order statistic `rank` (1-based) if each censored value were its lower bound."""
        return float(self.lowest[rank - 1])

    def at_most(self, rank: int) -> float | None:
        """The order statistic `rank` if each censored value were beyond all others; None: unbounded."""
        return float(self.seen[rank - 1]) if rank <= len(self.seen) else None

    def quantile(self, q: float) -> tuple[float, bool]:
        """The quantile, and whether it is known (else it is a lower bound)."""
        if not len(self.bounds):
            return _linear(self.seen, q), True
        known = math.ceil((self.n - 1) * q) < len(self.seen)
        if not known:
            return _linear(self.lowest, q), False
        return _kaplan_meier_quantile(self.seen, self.bounds, q), True


def _linear(ordered: Floats, q: float) -> float:
    place = (len(ordered) - 1) * q
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return float(ordered[below] + (place - below) * (ordered[above] - ordered[below]))


def _kaplan_meier_quantile(seen: Floats, bounds: Floats, q: float) -> float:
    """The quantile when the mass of each censored value is spread over what lies above it.

    Kaplan and Meier 1958, in the redistribute-to-the-right form of Efron 1967. Without censored values below
    it, the result is numpy's linear quantile with the censored values at infinity.
    """
    n = len(seen) + len(bounds)
    # Censored values that tie with a seen one come after it: they are larger.
    at_risk = n - np.arange(len(seen)) - np.searchsorted(bounds, seen, "left")
    survival = np.cumprod(1.0 - 1.0 / at_risk)
    mass_below = np.concatenate([[1.0], survival[:-1]])
    places = (1.0 - mass_below) * n / (n - 1) if n > 1 else np.zeros(1)
    return float(np.interp(q, places, seen))


def _estimate(
    sample: _Sample, q: float, confidence: float, dependence: Dependence | Clusters | Occasions | None
) -> Estimate:
    value, known = sample.quantile(q)
    inflation, levels = _inflation(dependence, q, value, confidence)
    lower, upper = _ranks(sample.n, q, confidence, inflation)
    if isinstance(dependence, Clusters | Occasions) and sample.n <= inflation:
        # Jobs or runs that tell no more than one observation, one job above all, bound nothing.
        lower = upper = None
    lo = sample.at_least(lower) if lower else None
    hi = sample.at_most(upper) if upper and known else None
    if levels is not None:
        lo = None if lo is None else min(lo, levels[0])
        hi = None if hi is None else max(hi, levels[1])
    enough = known and lo is not None and hi is not None
    needs = None if enough else _needs(sample, q, confidence, inflation)
    return Estimate(value, lo, hi, enough, sample.n, needs, known)


def _inflation(
    dependence: Dependence | Clusters | Occasions | None, q: float, value: float, confidence: float
) -> tuple[float, tuple[float, float] | None]:
    """The inflation, and the least and greatest level of few runs that differ: their interval spans these."""
    if dependence is None:
        return 1.0, None
    if not isinstance(dependence, Occasions):
        return dependence.inflation(q, value), None
    found = dependence.inflation(q, value)
    if found.freedom + 1.0 < FEWEST_RUNS:
        return dependence.within.inflation(q, value), dependence.levels(q)
    return found.at((1.0 - confidence) / 2.0), None


def _ranks(n: int, q: float, confidence: float, inflation: float) -> tuple[int | None, int | None]:
    """The order statistics (1-based) that bound the quantile; None where the sample is too small.

    `lower` is the largest rank that is above the quantile with probability at most half of 1 - confidence,
    `upper` the smallest that is below it with at most the same.
    """
    from scipy.special import betainc

    tail = (1.0 - confidence) / 2.0
    effective = n / inflation

    def too_high(rank: int) -> float:
        """P(fewer than `rank` values lie under the quantile); the mirror image of `too_low`."""
        k = (rank - 1) / inflation + 1.0
        return float(betainc(effective - k + 1.0, k, 1.0 - q))

    def too_low(rank: int) -> float:
        """P(at least `rank` values lie under the quantile)."""
        k = rank / inflation
        return float(betainc(k, effective - k + 1.0, q))

    lower = _last(n, lambda rank: too_high(rank) <= tail)
    upper = _last(n, lambda rank: too_low(n + 1 - rank) <= tail)
    return lower or None, n + 1 - upper if upper else None


def _last(n: int, holds: Callable[[int], bool]) -> int:
    """The largest rank in 1..n for which `holds`, which is true up to some rank and false after; 0: none."""
    low, high = 0, n
    while low < high:
        middle = (low + high + 1) // 2
        if holds(middle):
            low = middle
        else:
            high = middle - 1
    return low


def _fewest(q: float, confidence: float, inflation: float) -> int:
    """Fewest observations whose largest and smallest bound the quantile: max(q, 1-q)^n <= tail."""
    tail = (1.0 - confidence) / 2.0
    return math.ceil(inflation * math.log(tail) / math.log(max(q, 1.0 - q)))


def _needs(sample: _Sample, q: float, confidence: float, inflation: float) -> int | None:
    """Fewest observations that bound the quantile when the same share of them is censored."""
    needed = _fewest(q, confidence, inflation)
    share_seen = len(sample.seen) / sample.n
    if share_seen == 1.0:
        return needed
    for _ in range(40):
        _, upper = _ranks(needed, q, confidence, inflation)
        if upper is not None and upper <= math.floor(needed * share_seen):
            return needed
        needed = math.ceil(needed * 1.2)
    return None

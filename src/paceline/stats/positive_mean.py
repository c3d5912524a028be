"""The mean of positive observations that depend on each other, and the ratio of two such means.

Intervals are Student's on the logarithm of the mean (the delta method), so that a bound of a cost or a time
is never negative, with the variance that the fitted autoregression of the series implies in place of that of
independent draws (`stats.dependence`); where runs differ by more than chance, with the variance between runs.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from paceline.stats.dependence import FEWEST, fitted_autocorrelation, less_run_means, sum_of_lags
from paceline.stats.frame import Ints
from paceline.stats.occasions import dense_runs, means_differ

Floats = npt.NDArray[np.float64]
Relation = Literal["less", "more", "same", "unknown"]

# A mean that more observations than these would be needed for cannot be told from another.
MOST_NEEDED = 100_000


@dataclass(frozen=True)
class MeanEstimate:
    """value: the mean, not negative. spread: standard error of its logarithm; inf where it cannot be told.

    freedom: degrees of freedom behind `spread`. n: observations.
    """

    value: float
    spread: float
    freedom: float
    n: int

    def lower(self, error: float) -> float:
        """The mean is at least this, but for a probability of `error`."""
        return self.value * math.exp(-self._reach(error))

    def upper(self, error: float) -> float:
        """The mean is at most this, but for a probability of `error`; inf where nothing bounds it."""
        reach = self._reach(error)
        return self.value * math.exp(reach) if math.isfinite(reach) else math.inf

    def scaled(self, factor: float) -> "MeanEstimate":
        """So many times the mean."""
        return MeanEstimate(self.value * factor, self.spread, self.freedom, self.n)

    def more_needed(self, limit: float, error: float) -> int | None:
        """How many more would part the mean from `limit`, if it stays and its spread falls as 1 / sqrt(n)."""
        if self.value <= 0.0 or limit <= 0.0:
            return None
        return _more(abs(math.log(self.value / limit)), self._reach(error), self.n)

    def _reach(self, error: float) -> float:
        return _quantile(self.freedom, error) * self.spread if self.spread else 0.0


@dataclass(frozen=True)
class RatioEstimate:
    """a / b with one-sided bounds. relation: of a to b; `same`: within the margin. needs: of each."""

    value: float
    lo: float
    hi: float
    relation: Relation
    needs: int | None


def mean_estimate(values: Floats, runs: Ints | None = None) -> MeanEstimate:
    """values: float64[n], none negative, in order of time. runs: int64[n], the run of each, ascending."""
    n = len(values)
    value = float(values.mean()) if n else math.nan
    if n and float(values.max()) == float(values.min()):
        return MeanEstimate(value, 0.0 if n > 1 else math.inf, math.inf, n)
    if n < FEWEST:
        return MeanEstimate(value, math.inf, 1.0, n)
    run = dense_runs(runs)
    inflation = inflation_of_mean(values, run)
    if run is not None and means_differ(values, run, inflation):
        return _between_runs(values, run)
    spread = math.sqrt(float(values.var(ddof=1)) * inflation / n) / value
    # The log of a fitted spectrum at zero has a variance of about 4 inflation / n (Berk 1974).
    freedom = n - 1.0 if inflation == 1.0 else max(n / (2.0 * inflation), 2.0)
    return MeanEstimate(value, spread, freedom, n)


def apart_estimate(values: Floats, runs: Ints | None) -> MeanEstimate | None:
    """The mean with the variance between runs, where these differ by more than chance; else None."""
    run = dense_runs(runs)
    if run is None or not means_differ(values, run, inflation_of_mean(values, run)):
        return None
    return _between_runs(values, run)


def inflation_of_mean(values: Floats, run: Ints | None) -> float:
    """By what values of one run have in common, from the fitted autoregression of the series; at least 1."""
    n = len(values)
    if n < FEWEST:
        return 1.0
    return max(1.0, sum_of_lags(fitted_autocorrelation(less_run_means(values, run)), n))


def _between_runs(values: Floats, run: Ints) -> MeanEstimate:
    """With the linearised variance of a ratio of sums over runs (Kish 1965)."""
    n, runs = len(values), int(run[-1]) + 1
    value = float(values.mean())
    apart = np.bincount(run, values - value, runs)
    spread = math.sqrt(runs / (runs - 1.0) * float(apart @ apart)) / n / value
    return MeanEstimate(value, spread, runs - 1.0, n)


def ratio(a: MeanEstimate, b: MeanEstimate, *, error: float, margin: float) -> RatioEstimate:
    """a / b. error: of each bound. margin: ratios within 1 / (1 + margin) and 1 + margin are `same`.

    Degrees of freedom by Welch (1947).
    """
    if a.value <= 0.0 or b.value <= 0.0:
        return _of_nothing(a, b)
    apart = math.log(a.value / b.value)
    spread = math.hypot(a.spread, b.spread)
    if not math.isfinite(spread):
        return RatioEstimate(math.exp(apart), 0.0, math.inf, "unknown", None)
    reach = _quantile(_welch(a, b), error) * spread if spread else 0.0
    lo, hi, same = apart - reach, apart + reach, math.log1p(margin)
    relation: Relation = "unknown"
    if -same <= lo and hi <= same:
        relation = "same"
    elif lo > 0.0:
        relation = "more"
    elif hi < 0.0:
        relation = "less"
    needs = None
    if relation == "unknown":
        room = max(abs(apart), same - abs(apart))
        needs = _more(room, reach, max(a.n, b.n))
    return RatioEstimate(math.exp(apart), math.exp(lo), math.exp(hi), relation, needs)


def _of_nothing(a: MeanEstimate, b: MeanEstimate) -> RatioEstimate:
    """What costs nothing costs the same as another such, and less than all else."""
    if math.isnan(a.value) or math.isnan(b.value):
        return RatioEstimate(math.nan, 0.0, math.inf, "unknown", None)
    if a.value == b.value:
        return RatioEstimate(1.0, 1.0, 1.0, "same", None)
    value, relation = (0.0, "less") if a.value < b.value else (math.inf, "more")
    return RatioEstimate(value, value, value, "less" if relation == "less" else "more", None)


def _welch(a: MeanEstimate, b: MeanEstimate) -> float:
    square_a, square_b = a.spread**2, b.spread**2
    if square_a + square_b == 0.0:
        return math.inf
    return (square_a + square_b) ** 2 / (square_a**2 / a.freedom + square_b**2 / b.freedom or 1e-300)


def _quantile(freedom: float, error: float) -> float:
    from scipy.special import ndtri, stdtrit

    if math.isinf(freedom):
        return -float(ndtri(error))
    return -float(stdtrit(freedom, error))


def _more(room: float, reach: float, n: int) -> int | None:
    """How many more, where `reach` has to fall to `room` and falls as 1 / sqrt(n)."""
    if not math.isfinite(reach):
        return max(FEWEST - n, 1)
    if room <= 0.0:
        return None
    needed = max(math.ceil(n * ((reach / room) ** 2 - 1.0)), 1)
    return needed if needed <= MOST_NEEDED else None

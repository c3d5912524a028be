"""How much less a series of dependent samples tells than as many independent ones.

Requests that follow one another share queues, batches and caches, so that the share of values under a
quantile varies more than independent draws would. `Dependence` estimates by what factor (the variance
inflation of the indicator `value <= quantile`); n samples are then worth n / factor independent ones.
"""

import math
from dataclasses import dataclass
from operator import mul

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# Below this many samples a dependence cannot be told from noise.
FEWEST = 20
# From here on blocks are long and many enough to measure the inflation without a model.
_MANY = 10_000
_BLOCKS = 64
_HIGHEST_ORDER = 20
_LONGEST_LAG = 1000
# A correlation that is no longer followed.
_NO_LONGER = 0.005
Z = 1.959964
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(10)


@dataclass(frozen=True)
class Dependence:
    """The dependence of one series, in the order of time.

    `values`: float64[n]. `autocorrelation`: float64[k] of the normal scores at lags 1..k, as the fitted
    autoregression implies it; empty where independence was not refuted or blocks are used instead. `run`:
    int64[n], 0 to r - 1, where values are of several runs: what is told is then the dependence within one.
    """

    values: Floats
    autocorrelation: Floats
    run: Ints | None = None

    @classmethod
    def of(cls, values: Floats, run: Ints | None = None, scores: Floats | None = None) -> "Dependence":
        """Fit the series `values` (float64[n], in order of time, or of run and time).

        `scores`: their normal scores, where these are known.
        """
        n = len(values)
        if n < FEWEST or n >= _MANY:
            return cls(values, np.empty(0), run)
        series = normal_scores(values) if scores is None else scores
        return cls(values, fitted_autocorrelation(less_run_means(series, run)), run)

    def of_scores(self) -> float:
        """Variance of the mean of the normal scores against that of independent draws; at least 1."""
        return max(1.0, sum_of_lags(self.autocorrelation, max(len(self.values), 1)))

    def inflation(self, p: float, quantile: float) -> float:
        """Variance of the share of values <= `quantile` against that of independent draws; at least 1.

        `p`: the probability that `quantile` stands for. The largest of two estimates: from the normal
        scores through a Gaussian copula, which says much even where few values lie beyond the quantile,
        and from the indicator series itself, which sees slow values that come in clusters.
        """
        n = len(self.values)
        if n < FEWEST:
            return 1.0
        below = self.values <= quantile
        if n >= _MANY:
            return max(1.0, _block_inflation(below))
        by_scores = sum_of_lags(indicator_correlation(self.autocorrelation, p), n)
        indicator = less_run_means(below.astype(np.float64), self.run)
        by_indicator = sum_of_lags(fitted_autocorrelation(indicator), n)
        return _widened(max(1.0, by_scores, by_indicator), n)


def normal_scores(values: Floats) -> Floats:
    """The normal deviate of each value's rank, float64[n]; equal values share one."""
    from scipy.special import ndtri

    n = len(values)
    if not n:
        return np.empty(0)
    order = np.argsort(values)
    ordered = values[order]
    begins = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    ends = np.r_[begins[1:], n]
    middle = np.empty(n)
    middle[order] = np.repeat((begins + ends) / 2.0, ends - begins)
    found: Floats = ndtri(middle / n)
    return found


def less_run_means(series: Floats, run: Ints | None) -> Floats:
    """Each value less the mean of its run, float64[n]; `run`: int64[n], 0 to r - 1; None: one run."""
    if run is None:
        return series
    found: Floats = series - (np.bincount(run, series) / np.maximum(np.bincount(run), 1))[run]
    return found


def block_leak(values: Floats, length: int) -> float:
    """By how much blocks understate a variance because each depends on the one before it; at least 1.

    `values`: float64[n] in order of time; `length`: samples a block. The variance of a mean under the fitted
    autoregression over the variance that blocks of this length see.
    """
    rho = Dependence.of(values).autocorrelation
    lags = np.arange(1, len(rho) + 1)
    seen = 1.0 + 2.0 * float(np.sum(np.maximum(1.0 - lags / max(length, 1), 0.0) * rho))
    return max(1.0, (1.0 + 2.0 * float(rho.sum())) / seen) if seen > 0.0 else 1.0


def _widened(inflation: float, n: int) -> float:
    """The inflation, enlarged by what its own uncertainty costs in coverage.

    The log of a fitted spectrum at zero has a variance of about 4 inflation / n (Berk 1974), that of a
    chi-square over its d degrees of freedom 2 / d; so Student's t with n / (2 inflation) takes the place of
    the normal.
    """
    from scipy.special import stdtrit

    if inflation == 1.0:
        return inflation
    freedom = max(n / (2.0 * inflation), 2.0)
    return inflation * float(stdtrit(freedom, 0.975) / Z) ** 2


def sum_of_lags(autocorrelation: Floats, n: int) -> float:
    """Variance of a mean of n against that of independent draws, by float64[k] at lags 1..k."""
    lags = np.arange(1, len(autocorrelation) + 1)
    return float(1.0 + 2.0 * np.sum((1.0 - lags / n) * autocorrelation))


def indicator_correlation(rho: Floats, p: float) -> Floats:
    """Correlation of two indicators `normal <= z_p` whose normals correlate by `rho`.

    P(both) - p^2 is the integral over r from 0 to rho of the bivariate normal density at (z, z); with
    r = sin t it becomes the integral of exp(-z^2 / (1 + sin t)) / 2 pi (Sheppard 1899; Drezner 1978).
    """
    from scipy.special import ndtri

    upper = np.arcsin(np.clip(rho, -0.999, 0.999))[:, None]
    angle = 0.5 * upper * (_NODES + 1.0)
    inside = np.exp(-(ndtri(p) ** 2) / (1.0 + np.sin(angle)))
    joint: Floats = (0.5 * upper * _WEIGHTS * inside).sum(axis=1) / (2.0 * math.pi)
    return joint / (p * (1.0 - p))


def fitted_autocorrelation(series: Floats) -> Floats:
    """Autocorrelation that an autoregression fitted to `series` implies, float64[k], lags 1..k.

    Order by AIC, coefficients by Levinson-Durbin. The same idea as the effective sample size by the spectrum
    at zero of a fitted autoregression (Heidelberger and Welch 1981; Plummer et al. 2006).
    """
    n = len(series)
    highest = min(_HIGHEST_ORDER, n // 10)
    centred = series - series.mean()
    variance = float(centred @ centred)
    if variance <= 0.0:
        return np.empty(0)
    r = np.array([centred[lag:] @ centred[: n - lag] for lag in range(1, highest + 1)]) / variance
    # The sample mean pulls estimates down by about (1 + 3 r) / n (Marriott and Pope 1954).
    r = np.minimum(r + (1.0 + 3.0 * r) / n, 0.99)
    best = _best_autoregression(r, n)
    return _extrapolate(r, best) if len(best) else np.empty(0)


def _best_autoregression(r: Floats, n: int) -> Floats:
    best = coefficients = np.empty(0)
    lowest_aic, error = 0.0, 1.0
    for order, reached in enumerate(r, start=1):
        reflection = (reached - coefficients @ r[: order - 1][::-1]) / error
        if abs(reflection) >= 1.0:
            break
        coefficients = np.append(coefficients - reflection * coefficients[::-1], reflection)
        error *= 1.0 - reflection**2
        aic = n * math.log(error) + 2.0 * order
        if aic < lowest_aic:
            lowest_aic, best = aic, coefficients
    return best


def _extrapolate(r: Floats, coefficients: Floats) -> Floats:
    order = len(coefficients)
    # Of few numbers each: lists are several times as quick as arrays.
    newest_first, implied = coefficients[::-1].tolist(), r[:order].tolist()
    quiet = 0
    for place in range(_LONGEST_LAG):
        if place >= order:
            if quiet >= order:
                break
            implied.append(sum(map(mul, newest_first, implied[-order:])))
        quiet = quiet + 1 if abs(implied[place]) <= _NO_LONGER else 0
    return np.array(implied)


def _block_inflation(below: npt.NDArray[np.bool_]) -> float:
    """Inflation from the variance of block means, widened as a variance of so few blocks must be."""
    from scipy.special import stdtrit

    length = len(below) // _BLOCKS
    share = float(below.mean())
    variance = share * (1.0 - share)
    if variance == 0.0:
        return 1.0
    means = below[: length * _BLOCKS].reshape(_BLOCKS, length).mean(axis=1)
    widening = float(stdtrit(_BLOCKS - 1, 0.975)) / Z
    return float(means.var(ddof=1)) * length / variance * widening**2

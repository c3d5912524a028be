"""What is expected of settings not tried yet, from those that were.

A Gaussian process over the choices (Rasmussen and Williams 2006): an effect of each option's value, alike for
numbers that lie near each other, and effects of combinations. How much an option matters is fitted, since
most matter little (automatic relevance determination: MacKay 1994), with a price on each step away from
mattering as the others do.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeGuard

import numpy as np
import numpy.typing as npt

from paceline.engines.engine import Value
from paceline.tuning.coding import Coding, Ints

Floats = npt.NDArray[np.float64]

# Spreads of all effects together that are tried, as shares.
_SPREADS = np.array([0.05, 0.1, 0.2, 0.4, 0.8])
# What an option may matter, beside the others; the price of other than 1, as a log likelihood.
_WEIGHTS = np.array([1.0, 0.25, 4.0])
_PRICE = 0.3
_ROUNDS = 2
# Of the variance of effects: of single options, the rest of combinations.
_SINGLE = 0.7
# Options that differ until combinations count as unlike (1 / e).
_UNLIKE = 2.0
# Distance of two numbers in an option's order, of its whole length, until they count as unlike.
_APART = 0.5
# The spread of the level that all settings share: wide, so that it hardly pulls.
_LEVEL = 1.0
_JITTER = 1e-8


@dataclass(frozen=True, slots=True)
class Known:
    """Trials, best first: rows of settings, log of how good each is, float64[n], and its covariance."""

    rows: Ints
    mean: Floats
    covariance: Floats


def expected_improvement(candidates: Ints, known: Known, coding: Coding) -> Floats:
    """On the best that is known, float64[candidates] (Jones, Schonlau and Welch 1998)."""
    from scipy.special import ndtr

    n = len(known.rows)
    near = _near(np.concatenate([known.rows, candidates]), known.rows, coding)
    weights, spread = _fitted(near[:, :n], known)
    kernel = _LEVEL**2 + spread**2 * _alike(near, weights)
    inverse = np.linalg.inv(kernel[:n] + known.covariance + _JITTER * np.eye(n))
    fitted = kernel @ (inverse @ known.mean)
    mean, best = fitted[n:], float(fitted[:n].max())
    own = _LEVEL**2 + spread**2 * (_SINGLE * weights.mean() + 1.0 - _SINGLE if len(weights) else 1.0)
    variance = own - ((kernel[n:] @ inverse) * kernel[n:]).sum(axis=1)
    error = np.sqrt(np.maximum(variance, _JITTER))
    z = (mean - best) / error
    density = np.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)
    found: Floats = error * (density + z * ndtr(z))
    return found


def _near(some: Ints, others: Ints, coding: Coding) -> Floats:
    """How alike each option's values are, 0 to 1, float64[options, some, others]."""
    tables = [_alike_values(coding.values[option]) for option in coding.options]
    pairs = [table[some[:, i]][:, others[:, i]] for i, table in enumerate(tables)]
    return np.array(pairs).reshape(len(tables), len(some), len(others))


def _alike_values(values: Sequence[Value]) -> Floats:
    """float64[values, values]: numbers by their places in order, all else by whether it is the same."""
    numbers = sorted(value for value in values if _is_number(value))
    at = np.array([numbers.index(value) if _is_number(value) else math.nan for value in values])
    apart = np.abs(at[:, None] - at) / max(len(numbers) - 1, 1)
    return np.where(np.isnan(apart), np.eye(len(values)), np.exp(-apart / _APART))


def _is_number(value: Value) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _alike(near: Floats, weights: Floats) -> Floats:
    """How alike the effects of settings are, float64[some, others]."""
    if not len(weights):
        return np.ones(near.shape[1:])
    single = np.einsum("o,oij->ij", weights, near) / len(weights)
    unlike = np.einsum("o,oij->ij", np.sqrt(weights), 1.0 - near)
    found: Floats = _SINGLE * single + (1.0 - _SINGLE) * np.exp(-unlike / _UNLIKE)
    return found


def _fitted(near: Floats, known: Known) -> tuple[Floats, float]:
    """What each option matters, float64[options], and the spread of effects, by the likeliest, in turn."""
    weights = np.ones(len(near))
    likeliest = _likelihoods(_alike(near, weights)[None], known)[0]
    for _ in range(_ROUNDS):
        for option in range(len(near)):
            tried = np.tile(weights, (len(_WEIGHTS), 1))
            tried[:, option] = _WEIGHTS
            found = _likelihoods(np.array([_alike(near, one) for one in tried]), known)
            price = _PRICE * (tried != 1.0).sum(axis=1)
            best = int(np.argmax(found.max(axis=1) - price))
            weights, likeliest = tried[best], found[best]
    return weights, float(_SPREADS[int(np.argmax(likeliest))])


def _likelihoods(alike: Floats, known: Known) -> Floats:
    """Of the means under each spread, up to a constant, float64[k, spreads]. alike: float64[k, n, n]."""
    noise = _LEVEL**2 + known.covariance + _JITTER * np.eye(len(known.mean))
    covariance = noise + _SPREADS[:, None, None] ** 2 * alike[:, None]
    solved = np.linalg.solve(covariance, known.mean[:, None])[..., 0]
    found: Floats = -0.5 * (np.linalg.slogdet(covariance)[1] + solved @ known.mean)
    return found

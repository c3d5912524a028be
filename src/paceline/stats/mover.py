"""The difference and the ratio of two figures that were measured apart, from their intervals alone.

The method of variance estimates recovery: an interval says at each of its ends how sure the figure is on that
side (Zou and Donner 2008, Statistics in Medicine 27, 1693). No sample is needed, only that the two are
independent, as figures of two offers are.
"""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Ends:
    """A figure with both ends of its interval."""

    value: float
    lo: float
    hi: float


def difference(a: Ends, b: Ends) -> Ends:
    """a - b, with the confidence that both intervals have."""
    value = a.value - b.value
    below = math.hypot(a.value - a.lo, b.hi - b.value)
    above = math.hypot(a.hi - a.value, b.value - b.lo)
    return Ends(value, value - below, value + above)


def ratio(a: Ends, b: Ends) -> Ends | None:
    """a / b, by the difference of logarithms; None where an end is not positive, so that it has none."""
    if min(a.lo, a.value, b.lo, b.value) <= 0.0:
        return None
    apart = difference(_logarithm(a), _logarithm(b))
    return Ends(math.exp(apart.value), math.exp(apart.lo), math.exp(apart.hi))


def _logarithm(of: Ends) -> Ends:
    return Ends(math.log(of.value), math.log(of.lo), math.log(of.hi))

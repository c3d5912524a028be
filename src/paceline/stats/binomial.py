"""Shares of solved items: exact intervals, and the difference of two shares of the same items."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

CONFIDENCE = 0.95
# A threshold that no number of items up to this bounds is too near to the share.
MOST_NEEDED = 10_000_000


@dataclass(frozen=True)
class Share:
    """A share and its interval, all in 0..1; `n`: items, as many as the interval is worth."""

    value: float
    lo: float
    hi: float
    n: float


@dataclass(frozen=True)
class PairedShares:
    """B's share less A's over the same items.

    p_value: of the exact test that the two are equal (McNemar), two-sided. only_a, only_b: items that one
    alone has solved, of n.
    """

    difference: float
    lo: float
    hi: float
    p_value: float
    only_a: int
    only_b: int
    n: int


def exact_share(solved: float, n: float, confidence: float = CONFIDENCE) -> Share:
    """The share of `solved` in `n` with its exact interval (Clopper and Pearson 1934).

    Both may be fractions, as an effective number of items is. Raises ValueError for what is no count.
    """
    from scipy.special import betaincinv

    if not (n > 0 and 0 <= solved <= n):
        raise ValueError(f"{solved} of {n} is no share")
    tail = (1.0 - confidence) / 2.0
    lo = 0.0 if solved == 0 else float(betaincinv(solved, n - solved + 1, tail))
    hi = 1.0 if solved == n else float(betaincinv(solved + 1, n - solved, 1.0 - tail))
    return Share(solved / n, lo, hi, n)


def stratified_share(counts: Sequence[tuple[int, int]], confidence: float = CONFIDENCE) -> Share:
    """The mean share of strata, each of which weighs alike; `counts`: solved and n of each.

    The interval is the exact one at the effective number of items (Kish 1965: with equal weights
    s^2 / sum 1/n), which is all items where strata are of one size. Strata can only make the mean vary less
    than so many draws from one urn do (Hoeffding 1956), so that the interval is wide rather than narrow.
    A stratum without items is left out; ValueError where none has any.
    """
    with_items = [(solved, n) for solved, n in counts if n]
    if not with_items:
        raise ValueError("no stratum has an item")
    value = sum(solved / n for solved, n in with_items) / len(with_items)
    effective = len(with_items) ** 2 / sum(1.0 / n for _, n in with_items)
    found = exact_share(min(max(value, 0.0), 1.0) * effective, effective, confidence)
    return Share(value, found.lo, found.hi, effective)


def paired_difference(
    both: int, only_a: int, only_b: int, neither: int, confidence: float = CONFIDENCE
) -> PairedShares:
    """B's share less A's from the four counts of items that both, one alone, or neither solved.

    The interval is the square-and-add one of Newcombe 1998 (Statistics in Medicine 17:2635, method 10, with
    the continuity-corrected correlation), the test exact McNemar. Raises ValueError without an item.
    """
    n = both + only_a + only_b + neither
    if n <= 0 or min(both, only_a, only_b, neither) < 0:
        raise ValueError("there are no items")
    p_a, lo_a, hi_a = _score(both + only_a, n, confidence)
    p_b, lo_b, hi_b = _score(both + only_b, n, confidence)
    phi = _correlation(both, only_a, only_b, neither)
    apart = p_b - p_a
    below = _joint(p_b - lo_b, hi_a - p_a, phi)
    above = _joint(hi_b - p_b, p_a - lo_a, phi)
    return PairedShares(
        apart,
        max(apart - below, -1.0),
        min(apart + above, 1.0),
        mcnemar_p(only_a, only_b),
        only_a,
        only_b,
        n,
    )


def mcnemar_p(only_a: int, only_b: int) -> float:
    """Two-sided exact p: items that one alone solved fall to either as a coin does (McNemar 1947)."""
    from scipy.special import bdtr

    discordant = only_a + only_b
    if not discordant:
        return 1.0
    return min(1.0, 2.0 * float(bdtr(min(only_a, only_b), discordant, 0.5)))


def needs_n(share: float, threshold: float, confidence: float = CONFIDENCE) -> int | None:
    """Items with this share solved that it takes until the exact interval leaves the threshold out.

    None: more than MOST_NEEDED, as where the share is the threshold.
    """
    if not 0.0 <= share <= 1.0 or not 0.0 <= threshold <= 1.0:
        raise ValueError("shares are from 0 to 1")

    def bounded(n: int) -> bool:
        found = exact_share(share * n, n, confidence)
        return found.lo > threshold if share > threshold else found.hi < threshold

    if share == threshold or not bounded(MOST_NEEDED):
        return None
    low, high = 0, 1
    while not bounded(high):
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if bounded(middle) else (middle, high)
    return high


def _score(k: int, n: int, confidence: float) -> tuple[float, float, float]:
    from paceline.stats.shares import score_interval

    return score_interval(k, n, confidence)


def _joint(one: float, other: float, phi: float) -> float:
    return math.sqrt(max(one * one - 2.0 * phi * one * other + other * other, 0.0))


def _correlation(both: int, only_a: int, only_b: int, neither: int) -> float:
    """Phi of the four counts; of more than half an item's surplus, n/2 is taken off (Newcombe 1998)."""
    n = both + only_a + only_b + neither
    product = float(both + only_a) * (only_b + neither) * (both + only_b) * (only_a + neither)
    if not product:
        return 0.0
    surplus = float(both) * neither - float(only_a) * only_b
    if surplus > 0.0:
        surplus = max(surplus - n / 2.0, 0.0)
    return surplus / math.sqrt(product)

"""Has a level changed, and when? Change points of a series by ranks: no assumption about its distribution.

Neighbours may be alike without any change: a busy hour follows a busy hour. How much is told from the series
itself, less all changes that there may be, as an autoregression of first order.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

FEWEST = 8
"""Of fewer values no order is unlikely enough: four before and four after come so by chance in 2 of 70."""
ALPHA = 0.05
_PERMUTATIONS = 4000
_MOST_ALIKE = 0.95
_Z = 1.959964


@dataclass(frozen=True)
class Change:
    """From value `place` on the level is another.

    p: how often a series without a change would show as much. ratio: of the levels after and before (Hodges
    and Lehmann's estimate), lo and hi its 95 % interval (by Mann and Whitney's statistic). The place was
    chosen to show the most, so that the ratio is a little too far from 1 where changes are small.
    """

    place: int
    p: float
    ratio: float
    lo: float
    hi: float


def changes(values: npt.ArrayLike, *, alpha: float = ALPHA, seed: int = 1) -> list[Change]:
    """The changes of level in a series of positive values, in order of time.

    The largest is found by Pettitt's statistic (Applied Statistics 28, 1979), max over k of
    |2 (r_1 + ... + r_k) - k (n + 1)| with the ranks r. Its p is the larger of that by permuting and that in
    autoregressive series, since likeness of neighbours alone shows as a change (Hamed 2008 for the like trend
    test); each part is then searched anew, with alpha halved each time, so that in a series without any
    change one is found in about alpha of cases. Raises ValueError for a value that is not positive.
    """
    series = np.asarray(values, np.float64)
    if not (series > 0.0).all():
        raise ValueError("levels are compared by their ratio: all values must be positive")
    logs, rng = np.log(series), np.random.default_rng(seed)
    places = sorted(_places(logs, 0, alpha, 0.0, rng))
    likeness = _likeness(logs, [place for place, _ in places])
    if places and likeness > 0.0:
        places = sorted(_places(logs, 0, alpha, likeness, rng))
    edges = [0, *(place for place, _ in places), len(series)]
    found = []
    for number, (place, p) in enumerate(places, start=1):
        before, after = series[edges[number - 1] : place], series[place : edges[number + 1]]
        found.append(Change(place, p, *_shift(np.log(before), np.log(after))))
    return found


def detectable(values: npt.ArrayLike) -> float:
    """The lasting change in the middle of a series that would hardly be missed, as a share of the level.

    From the series' own spread (its median absolute deviation) and likeness of neighbours, at 95 % confidence
    and 80 % power by the normal approximation for the difference of two medians; inf for fewer than FEWEST
    values.
    """
    series = np.log(np.asarray(values, np.float64))
    if len(series) < FEWEST:
        return math.inf
    spread = 1.4826 * float(np.median(np.abs(series - np.median(series))))
    alike = _likeness(series, [])
    # A median varies by sqrt(pi / 2) more than a mean, and means of like neighbours by so much more.
    error = spread * math.sqrt(math.pi / 2.0 * (1.0 + alike) / (1.0 - alike) * 4.0 / len(series))
    return math.expm1((_Z + 0.8416) * error)


def _places(
    logs: Floats, start: int, alpha: float, likeness: float, rng: np.random.Generator
) -> list[tuple[int, float]]:
    if len(logs) < FEWEST:
        return []
    place, p = _largest(logs, alpha, likeness, rng)
    if p > alpha:
        return []
    return [
        *_places(logs[:place], start, alpha / 2.0, likeness, rng),
        (start + place, p),
        *_places(logs[place:], start + place, alpha / 2.0, likeness, rng),
    ]


def _largest(logs: Floats, alpha: float, likeness: float, rng: np.random.Generator) -> tuple[int, float]:
    """Where the largest change is, and its p."""
    from scipy.stats import rankdata

    n = len(logs)
    ranks = rankdata(logs)
    seen = _parted(ranks[None, :])[0]
    place, most = int(seen.argmax()) + 1, float(seen.max())
    p = _as_large(rng.permuted(np.tile(ranks, (_PERMUTATIONS, 1)), axis=1), most)
    if p <= alpha and likeness > 0.0:
        from scipy.signal import lfilter

        # The first values are those of a series that has gone on for long.
        drawn = rng.standard_normal((_PERMUTATIONS, n))
        drawn[:, 0] /= math.sqrt(1.0 - likeness**2)
        order = np.argsort(lfilter([1.0], [1.0, -likeness], drawn, axis=1), axis=1)
        p = max(p, _as_large(np.argsort(order, axis=1) + np.float64(1.0), most))
    return place, p


def _parted(ranks: Floats) -> Floats:
    """Pettitt's statistic at each place, float64[r, n - 1], of float64[r, n]."""
    n = ranks.shape[1]
    found: Floats = np.abs(2.0 * np.cumsum(ranks, axis=1)[:, :-1] - np.arange(1, n) * (n + 1.0))
    return found


def _as_large(ranks: Floats, most: float) -> float:
    """How often series show as much as was seen."""
    largest = _parted(ranks).max(axis=1)
    return (1.0 + float((largest >= most - 1e-9).sum())) / (len(ranks) + 1.0)


def _likeness(logs: Floats, places: list[int]) -> float:
    """The autocorrelation of neighbours' ranks less the levels between `places`, 0 to 0.95.

    Each fitted level pulls it down by about (1 + 3 r) / n (Marriott and Pope 1954).
    """
    from scipy.stats import rankdata

    n = len(logs)
    level = np.searchsorted(places, np.arange(n), "right")
    ranks = rankdata(logs)
    left = ranks - (np.bincount(level, ranks) / np.bincount(level))[level]
    whole = float(left @ left)
    if not whole > 0.0:
        return 0.0
    r = float(left[1:] @ left[:-1]) / whole
    return min(max(r + (1.0 + 3.0 * r) * (len(places) + 1) / n, 0.0), _MOST_ALIKE)


def _shift(before: Floats, after: Floats) -> tuple[float, float, float]:
    """The ratio of the levels and its interval, from all differences of an after and a before."""
    apart = np.sort((after[:, None] - before[None, :]).reshape(-1))
    m, n = len(before), len(after)
    cut = m * n / 2.0 - _Z * math.sqrt(m * n * (m + n + 1) / 12.0)
    low = min(max(math.floor(cut), 0), len(apart) - 1)
    middle = float(np.median(apart))
    return math.exp(middle), math.exp(apart[low]), math.exp(apart[len(apart) - 1 - low])

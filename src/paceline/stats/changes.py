"""Has a level changed, and when? Change points of a series by ranks: no assumption about its distribution."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

FEWEST = 8
"""Of fewer values no order is unlikely enough: four before and four after come so by chance in 2 of 70."""
ALPHA = 0.05
_PERMUTATIONS = 4000
_Z = 1.959964


@dataclass(frozen=True)
class Change:
    """From value `place` on the level is another.

    p: how often values in random order would show as much. ratio: of the levels after and before (Hodges and
    Lehmann's estimate), lo and hi its 95 % interval (by Mann and Whitney's statistic). The place was
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
    |2 (r_1 + ... + r_k) - k (n + 1)| with the ranks r, and its p by permuting; each part is then searched
    anew, with alpha halved each time, so that in a series without any change one is found in at most alpha of
    cases. Raises ValueError for a value that is not positive.
    """
    series = np.asarray(values, np.float64)
    if not (series > 0.0).all():
        raise ValueError("levels are compared by their ratio: all values must be positive")
    rng = np.random.default_rng(seed)
    places = sorted(_places(np.log(series), 0, alpha, rng))
    edges = [0, *(place for place, _ in places), len(series)]
    found = []
    for number, (place, p) in enumerate(places, start=1):
        before, after = series[edges[number - 1] : place], series[place : edges[number + 1]]
        found.append(Change(place, p, *_shift(np.log(before), np.log(after))))
    return found


def detectable(values: npt.ArrayLike) -> float:
    """The lasting change in the middle of a series that would hardly be missed, as a share of the level.

    From the series' own spread (its median absolute deviation), at 95 % confidence and 80 % power by the
    normal approximation for the difference of two medians; inf for fewer than FEWEST values.
    """
    series = np.log(np.asarray(values, np.float64))
    if len(series) < FEWEST:
        return math.inf
    spread = 1.4826 * float(np.median(np.abs(series - np.median(series))))
    # A median varies by sqrt(pi / 2) more than a mean.
    error = spread * math.sqrt(math.pi / 2.0) * math.sqrt(4.0 / len(series))
    return math.expm1((_Z + 0.8416) * error)


def _places(logs: Floats, start: int, alpha: float, rng: np.random.Generator) -> list[tuple[int, float]]:
    if len(logs) < FEWEST:
        return []
    place, p = _largest(logs, rng)
    if p > alpha:
        return []
    return [
        *_places(logs[:place], start, alpha / 2.0, rng),
        (start + place, p),
        *_places(logs[place:], start + place, alpha / 2.0, rng),
    ]


def _largest(logs: Floats, rng: np.random.Generator) -> tuple[int, float]:
    """Where the largest change is, and its p."""
    from scipy.stats import rankdata

    n = len(logs)
    ranks = rankdata(logs)
    steps = np.arange(1, n) * (n + 1.0)
    seen = np.abs(2.0 * np.cumsum(ranks)[:-1] - steps)
    most = float(seen.max())
    drawn = rng.permuted(np.tile(ranks, (_PERMUTATIONS, 1)), axis=1)
    largest = np.abs(2.0 * np.cumsum(drawn, axis=1)[:, :-1] - steps).max(axis=1)
    p = (1.0 + float((largest >= most - 1e-9).sum())) / (_PERMUTATIONS + 1.0)
    return int(seen.argmax()) + 1, p


def _shift(before: Floats, after: Floats) -> tuple[float, float, float]:
    """The ratio of the levels and its interval, from all differences of an after and a before."""
    apart = np.sort((after[:, None] - before[None, :]).reshape(-1))
    m, n = len(before), len(after)
    cut = m * n / 2.0 - _Z * math.sqrt(m * n * (m + n + 1) / 12.0)
    low = min(max(math.floor(cut), 0), len(apart) - 1)
    middle = float(np.median(apart))
    return math.exp(middle), math.exp(apart[low]), math.exp(apart[len(apart) - 1 - low])

"""A tool's summary of its samples, with the tool's own percentiles."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
QUANTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}
# GuideLLM's rates: instants closer than this to the first of their group count as one.
_MERGED_S = 1e-4
_SHORTEST_S = 1e-6


@dataclass(frozen=True)
class Figure:
    """One metric of one tool. `n`: samples; of a plain rate 1, with `mean` alone. None: there is none."""

    n: int
    mean: float | None = None
    p50: float | None = None
    p90: float | None = None
    p95: float | None = None
    p99: float | None = None
    max: float | None = None

    def to_dict(self) -> dict[str, float | int | None]:
        """As in `paceline.conformance/1`."""
        return {name: getattr(self, name) for name in ("n", "mean", *QUANTILES, "max")}


NOTHING = Figure(0)


def linear(values: npt.ArrayLike) -> Figure:
    """Percentiles between the two nearest samples (`numpy.percentile`, `pandas.Series.quantile`)."""
    samples = np.asarray(values, np.float64)
    if not len(samples):
        return NOTHING
    found = np.percentile(samples, [100 * share for share in QUANTILES.values()])
    quantiles = dict(zip(QUANTILES, map(float, found), strict=True))
    return Figure(len(samples), float(samples.mean()), **quantiles, max=float(samples.max()))


def stepped(values: npt.ArrayLike, weights: npt.ArrayLike | None = None, n: int | None = None) -> Figure:
    """The smallest sample at or below which the share of the weights lies, and the weighted mean.

    `weights`: 1 each where None; all alike where they sum to nothing. `n`: where it is not the sum of them.
    """
    samples = np.asarray(values, np.float64)
    if not len(samples):
        return NOTHING
    given = np.ones(len(samples)) if weights is None else np.asarray(weights, np.float64)
    unique, place = np.unique(samples, return_inverse=True)
    mass: Floats = np.bincount(place, weights=given, minlength=len(unique)).astype(np.float64)
    kept = mass > 0
    unique, mass = unique[kept], mass[kept]
    if mass.sum() <= _SHORTEST_S:
        unique = np.unique(samples)
        mass = np.ones(len(unique))
    share = mass / mass.sum()
    reached = np.cumsum(share)
    places = np.minimum(np.searchsorted(reached, list(QUANTILES.values()), side="left"), len(unique) - 1)
    quantiles = dict(zip(QUANTILES, map(float, unique[places]), strict=True))
    count = round(float(given.sum())) if n is None else n
    return Figure(count, float((unique * share).sum()), **quantiles, max=float(unique[-1]))


def rate(total: float, seconds: float) -> Figure:
    """So much in so many seconds; nothing in no time."""
    return Figure(1, total / seconds) if seconds > 0.0 and math.isfinite(total) else NOTHING


def rate_over_time(at_s: npt.ArrayLike, amounts: npt.ArrayLike, start_s: float, end_s: float) -> Figure:
    """A rate as a distribution over time, as GuideLLM makes it.

    Each of the instants (with its amount, within start and end, both of which count with nothing) owns the
    time from half way to the one before to half way to the one after; the rate there is its amount over that
    time, and its weight that time. Instants within 0.1 ms of the first of a group are one.
    """
    times = np.asarray(at_s, np.float64)
    given = np.asarray(amounts, np.float64)
    inside = (times >= start_s) & (times <= end_s)
    times = np.concatenate([[start_s], times[inside], [end_s]])
    given = np.concatenate([[0.0], given[inside], [0.0]])
    times, given = _merged(times, given)
    if len(times) <= 1:
        return NOTHING
    middle = (times[1:] + times[:-1]) / 2
    lasts = np.empty_like(times)
    lasts[0] = middle[0] - times[0]
    lasts[1:-1] = middle[1:] - middle[:-1]
    lasts[-1] = max(times[-1] - middle[-1], _SHORTEST_S)
    return stepped(given / lasts, lasts, n=round(float(given.sum())))


def _merged(times: Floats, amounts: Floats) -> tuple[Floats, Floats]:
    """Groups of instants, each at its first, with the sum of their amounts."""
    unique, place = np.unique(times, return_inverse=True)
    summed = np.bincount(place, weights=amounts, minlength=len(unique))
    # A list, since one item at a time is read.
    behind = np.searchsorted(unique, unique + _MERGED_S, side="right").tolist()
    firsts = []
    at = 0
    while at < len(behind):
        firsts.append(at)
        at = behind[at]
    return unique[firsts], np.add.reduceat(summed, firsts)

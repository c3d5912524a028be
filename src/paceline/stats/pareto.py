"""The Pareto set of several things to weigh, and how probably each member is in it."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


def pareto_set(losses: Floats) -> Bools:
    """Which points no other point is as good as in all and better in one, bool[..., k].

    losses: float64[..., k, d], the less the better. nan: not known; a point is never beaten where either's
    figure is not known, and beats none by it.
    """
    one, other = losses[..., :, None, :], losses[..., None, :, :]
    with np.errstate(invalid="ignore"):
        no_worse = (other <= one).all(axis=-1)
        better = (other < one).any(axis=-1)
    return np.asarray(~(no_worse & better).any(axis=-1), np.bool_)


def membership(draws: Floats) -> Floats:
    """The probability of each point to be in the set, float64[k]: its share of draws.

    draws: float64[r, k, d], each a set of points that might be the true ones.
    """
    # Few at a time: r * k * k * d comparisons are made at once.
    size = max(1, 4_000_000 // max(draws.shape[1] ** 2 * draws.shape[2], 1))
    parts = [pareto_set(draws[at : at + size]) for at in range(0, len(draws), size)]
    return np.concatenate(parts).mean(axis=0) if parts else np.zeros(draws.shape[1])

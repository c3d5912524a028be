"""Requests thinned evenly over time; of jobs of several calls, whole ones.

All thinning takes the first units of one order, in which every beginning is spread evenly, so that what was
thinned before gives the same requests as what was not.
"""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def spread_order(n: int) -> Ints:
    """0 to n - 1 so that every beginning is spread evenly: with bits reversed (van der Corput 1935)."""
    bits = max(n - 1, 0).bit_length()
    numbers = np.arange(1 << bits)
    turned = np.zeros_like(numbers)
    for bit in range(bits):
        turned |= (numbers >> bit & 1) << (bits - 1 - bit)
    found: Ints = turned[turned < n].astype(np.int64)
    return found


def units_of(job: Floats) -> tuple[Ints, int]:
    """Which job each request is of, int64[n], numbered in order of their begin, and how many there are."""
    known, first, inverse = np.unique(job, return_index=True, return_inverse=True)
    rank = np.empty(len(known), np.int64)
    rank[np.argsort(first, kind="stable")] = np.arange(len(known))
    return rank[inverse.reshape(-1)], len(known)


def spread(job: Floats) -> Ints:
    """Places of all requests, int64[n], so that every beginning is spread evenly over the run, by whole jobs.

    `job`: float64[n], the job of each request, in order of time.
    """
    unit, units = units_of(job)
    turn = np.empty(units, np.int64)
    turn[spread_order(units)] = np.arange(units)
    found: Ints = np.argsort(turn[unit], kind="stable").astype(np.int64)
    return found


def evenly(job: Floats, most: int) -> Ints:
    """Places of about `most` requests at most, job by job in the order of their begin; jobs stay whole.

    `job`: float64[n], the job of each request, in order of time.
    """
    n = len(job)
    if n <= most and bool((np.diff(job) > 0).all()):
        return np.arange(n)
    unit, units = units_of(job)
    chosen = np.ones(units, np.bool_)
    if n > most:
        chosen[:] = False
        chosen[spread_order(units)[: max(units * most // n, 1)]] = True
    places = np.flatnonzero(chosen[unit])
    found: Ints = places[np.argsort(unit[places], kind="stable")].astype(np.int64)
    return found

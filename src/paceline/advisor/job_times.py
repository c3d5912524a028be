"""How long jobs take at an offer: the time in which their calls are under way, and the whole of it."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from paceline.advisor.digest import CUT, FAILED, WELL
from paceline.advisor.evidence import OfferEvidence
from paceline.stats.frame import Ints

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class JobTimes:
    """Jobs of a sample, float64[j] each, in order of run and begin.

    calls_ms: time in which at least one of the job's calls was under way: the model's part, without tools and
    people; of a job with a failed call nan, of one with a call that was cut at least so long. span_ms: first
    call sent to last one done. well: every call ended well. block: what a bootstrap draws it with. run: place
    of its run in the evidence.
    """

    calls_ms: Floats
    span_ms: Floats
    well: npt.NDArray[np.bool_]
    block: Ints
    run: Ints


def job_times(evidence: OfferEvidence) -> JobTimes:
    """The times of the sample's jobs; a request that is a job of its own takes its E2E."""
    columns, unit = evidence.columns, evidence.units
    outcome, elapsed_ms = columns["outcome"], columns["elapsed_ms"]
    # Where the caller hung up there is no E2E, and the time until then is what the job had to take.
    took_ms = np.where(np.isnan(columns["e2e_ms"]) | (outcome == CUT), elapsed_ms, columns["e2e_ms"])
    if not len(unit):
        nothing = np.empty(0)
        return JobTimes(nothing, nothing, np.empty(0, np.bool_), evidence.run, evidence.run)
    jobs = int(unit[-1]) + 1
    failed = np.bincount(unit, outcome == FAILED, jobs) > 0
    well = np.bincount(unit, outcome != WELL, jobs) == 0
    first = np.flatnonzero(np.diff(unit, prepend=-1))
    if evidence.several_calls:
        # In an open loop E2E begins at the due instant, so the end is what is certain.
        end_ms = columns["at_s"] * 1e3 + elapsed_ms
        begin_ms = end_ms - took_ms
        calls_ms = _under_way(unit, begin_ms, end_ms, jobs)
        span_ms = np.maximum.reduceat(end_ms, first) - np.minimum.reduceat(begin_ms, first)
    else:
        calls_ms, span_ms = took_ms.copy(), took_ms.copy()
    calls_ms[failed] = np.nan
    return JobTimes(calls_ms, span_ms, well, evidence.blocks[first], evidence.run[first])


def _under_way(unit: Ints, begin_ms: Floats, end_ms: Floats, jobs: int) -> Floats:
    """The length of the union of each job's intervals, float64[j]."""
    order = np.lexsort((begin_ms, unit))
    unit, begin_ms, end_ms = unit[order], begin_ms[order], end_ms[order]
    # Each job's intervals are moved beyond those of the one before, so that one pass serves all.
    origin = begin_ms.min()
    stride = float(end_ms.max() - origin) + 1.0
    end = end_ms - origin + unit * stride
    begin = begin_ms - origin + unit * stride
    reached = np.maximum.accumulate(end)
    before = np.concatenate([[-np.inf], reached[:-1]])
    lengths = np.maximum(reached - np.maximum(begin, before), 0.0)
    return np.bincount(unit, lengths, jobs).astype(np.float64)

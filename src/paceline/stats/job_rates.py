"""Jobs a second, and those of them that met their objectives."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from paceline.stats.frame import MISSING, Bools
from paceline.stats.jobs import Jobs
from paceline.stats.metrics import JOB_METRICS
from paceline.stats.steady import Window

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class JobGoodput:
    """`attempted`: measured jobs, and those that were due and never begun. `met`: those of which every call
    ended well, within every limit. `share`: met / attempted, and `jobs_s`: those that met, a second; None
    where there is nothing to divide by.
    """

    limits: dict[str, float]
    attempted: int
    met: int
    share: float | None
    jobs_s: float | None


def job_credit(jobs: Jobs, windows: list[Window]) -> Floats:
    """The part of each measured job's time that lies in the window of its segment, float64[j]."""
    credit = np.zeros(len(jobs))
    known = jobs.measured & (jobs.sent_ns != MISSING)
    span = np.maximum(jobs.end_ns - np.where(known, jobs.sent_ns, 0), 1)
    for window in windows:
        mine = known & (jobs.segment == window.segment)
        inside = np.minimum(jobs.end_ns, window.end_ns) - np.maximum(jobs.sent_ns, window.start_ns)
        credit[mine] = np.clip(inside[mine] / span[mine], 0.0, 1.0)
    return credit


def jobs_a_second(credit: Floats, windows: list[Window], which: Bools) -> float | None:
    """Jobs of `which` (bool[j]) a second, over the windows; None where these have no length.

    `credit`: float64[j], the part with which each counts, as by `job_credit`: a job that the edge of a window
    cuts counts with the part of its time inside.
    """
    seconds = sum(window.end_ns - window.start_ns for window in windows) / 1e9
    return float(credit[which].sum()) / seconds if seconds > 0.0 else None


def job_goodput(
    jobs: Jobs, windows: list[Window], limits: Mapping[str, float], credit: Floats, *, dropped: int = 0
) -> JobGoodput:
    """Goodput of jobs; `limits`: by metric of JOB_METRICS, in ms. `credit`: as for `jobs_a_second`.

    Raises KeyError for another metric.
    """
    met = jobs.ok.copy()
    samples = jobs.samples()
    for name, limit in limits.items():
        JOB_METRICS[name]
        within = np.zeros(len(jobs), np.bool_)
        within[samples[name].row] = samples[name].values <= limit
        met &= within
    attempted, count = int(jobs.measured.sum()) + dropped, int(met.sum())
    return JobGoodput(
        limits=dict(limits),
        attempted=attempted,
        met=count,
        share=count / attempted if attempted else None,
        jobs_s=jobs_a_second(credit, windows, met),
    )

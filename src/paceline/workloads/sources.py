"""Where the jobs of a workload come from: its calls, a data file, a trace, a probe, or none."""

import numpy as np
import numpy.typing as npt

from paceline.errors import ConfigError
from paceline.workloads.capability.source import ProbeSource
from paceline.workloads.datasets.source import DataSource
from paceline.workloads.equivalence import EquivalenceSource
from paceline.workloads.jobs import JobSource
from paceline.workloads.read_report import ReadReport
from paceline.workloads.sessions import SessionSource
from paceline.workloads.spec import WorkloadSpec
from paceline.workloads.traces.source import TraceSource


def job_source(workload: WorkloadSpec) -> JobSource | None:
    """The source of a workload's jobs; None for plain requests, which `RequestSource` writes.

    A data file or a trace is read here, once. Raises ConfigError for what is wrong with it.
    """
    if workload.equivalence is not None:
        inner = job_source(workload.model_copy(update={"equivalence": None}))
        return EquivalenceSource(workload, inner, _inner_jobs(inner))
    if workload.data is not None:
        return DataSource(workload.data, workload)
    if workload.trace is not None:
        return TraceSource(workload.trace, workload)
    if workload.probe is not None:
        return ProbeSource(workload.probe, workload)
    if workload.call:
        return SessionSource(workload)
    return None


def _inner_jobs(source: JobSource | None) -> int:
    """How many prompts there are to be asked twice. Raises ConfigError where there is no end to them."""
    if source is None:
        return 0
    if has_several_calls(source):
        raise ConfigError(
            "only prompts that stand alone can be asked twice, and these jobs are of several calls",
            "give a file of single prompts",
        )
    n = n_jobs(source)
    if n is None:
        raise ConfigError(
            "prompts that begin again after the last cannot be told from those asked twice",
            'write on_end = "stop" in [data]',
        )
    return n


def pinned(workload: WorkloadSpec, source: JobSource | None) -> WorkloadSpec:
    """The workload as it is to be stored: with the absolute path and the hash of the file that was read.

    Of a probe with what made its problems. A run that is resumed with it refuses what has changed.
    """
    if isinstance(source, EquivalenceSource):
        return pinned(workload, source.inner)
    if isinstance(source, DataSource):
        return workload.model_copy(update={"data": source.spec})
    if isinstance(source, TraceSource):
        return workload.model_copy(update={"trace": source.spec})
    if isinstance(source, ProbeSource):
        return workload.model_copy(update={"probe": source.spec})
    return workload


def read_report(source: JobSource | None) -> ReadReport | None:
    """What became of the rows of the source's file; None where there is no file."""
    if isinstance(source, EquivalenceSource):
        return read_report(source.inner)
    return source.report if isinstance(source, DataSource | TraceSource) else None


def timed(source: JobSource | None) -> bool:
    """Every job has a `start_ns`, so that the arrival `replay` can be used."""
    return isinstance(source, DataSource | TraceSource) and source.timed


def starts_ns(source: JobSource | None) -> npt.NDArray[np.int64] | None:
    """When each job is meant to start after the run's origin, int64[jobs], ascending; None: not `timed`."""
    return source.starts_ns if isinstance(source, DataSource | TraceSource) else None


def has_several_calls(source: JobSource | None) -> bool:
    """Jobs are of several calls, so that counting jobs is not counting requests."""
    if isinstance(source, DataSource):
        return source.several_calls
    return isinstance(source, SessionSource)


def encodes_each(source: JobSource | None) -> bool:
    """Each prompt has to be encoded by itself; better done before the clock starts."""
    return isinstance(source, SessionSource | TraceSource | EquivalenceSource) and source.encodes_each


def n_jobs(source: JobSource | None) -> int | None:
    """How many jobs there are; None: there is no end to them."""
    ended = DataSource | TraceSource | ProbeSource | EquivalenceSource
    return source.n_jobs if isinstance(source, ended) else None

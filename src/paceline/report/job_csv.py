"""A report's jobs as CSV, one line a job."""

import io
from typing import Any

import numpy as np
import pyarrow as pa

from paceline.errors import StoreError
from paceline.report.calls import first_failures
from paceline.report.model import Report
from paceline.stats.critical_path import Part
from paceline.stats.frame import MISSING
from paceline.stats.jobs import TOKENS, JobState
from paceline.stats.metrics import JOB_METRICS

_FAILED = ("failed_call", "failed_step")
_COUNTS = ("calls", "failed_calls", "skipped_calls", "critical_calls")


def job_columns() -> list[str]:
    """The columns in order."""
    parts = [f"{part.name.lower()}_ms" for part in Part]
    tokens = [f"{name}_tokens" for name in TOKENS]
    return ["session", "segment", "phase", "state", *JOB_METRICS, *parts, *_COUNTS, *_FAILED, *tokens]


def render_jobs_csv(report: Report) -> str:
    """All jobs that began, warm-up included, in order of their start; an empty field where there is no value.

    `job_from_intended_ms` is empty under a closed loop. Raises StoreError for a run of plain requests.
    """
    import pyarrow.csv as pacsv

    figures = report.evidence.jobs
    if figures is None:
        raise StoreError(
            f"run {report.manifest.id} is of plain requests and has no jobs", "export its requests: FILE.csv"
        )
    jobs = figures.jobs
    columns: dict[str, pa.Array[Any]] = {
        "session": pa.array(jobs.session),
        "segment": pa.array(jobs.segment),
        "phase": pa.array(np.where(jobs.measured, "measure", "warmup")),
        "state": pa.array([JobState(one).name.lower() for one in jobs.state.tolist()]),
    }
    well = jobs.state == JobState.OK
    starts = {"job_ms": jobs.sent_ns, "job_from_intended_ms": jobs.intended_ns}
    for name, start_ns in starts.items():
        known = well & (start_ns != MISSING) & (report.evidence.open_loop or name == "job_ms")
        took_ms = (jobs.done_ns - np.where(known, start_ns, 0)) / 1e6
        columns[name] = pa.array(took_ms, mask=~known)
    for part in Part:
        spent = jobs.parts_ms[:, part]
        columns[f"{part.name.lower()}_ms"] = pa.array(spent, mask=np.isnan(spent))
    for name in _COUNTS:
        columns[name] = pa.array(getattr(jobs, name), mask=~well if name == "critical_calls" else None)
    evidence = report.evidence
    names, steps = first_failures(evidence.rows, evidence.plan, jobs.row_job, len(jobs))
    columns["failed_call"] = pa.array([name or None for name in names], pa.string())
    columns["failed_step"] = pa.array(steps, mask=steps < 0)
    for name in TOKENS:
        columns[f"{name}_tokens"] = pa.array(jobs.tokens[name], mask=jobs.tokens[name] == MISSING)
    sink = io.BytesIO()
    pacsv.write_csv(pa.table({name: columns[name] for name in job_columns()}), sink)
    return sink.getvalue().decode("utf-8")

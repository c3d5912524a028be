"""Stored runs, and the reports of them, for the tests of reports."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from paceline.report.model import Report, build_report
from paceline.store.runs import StoredRun, open_run
from paceline.store.writer import RunWriter
from tests.store.samples import manifest, progress
from tests.support.jobs import chat_jobs
from tests.support.rows import lognormal_rows, make_row, rows_table

CALIBRATION = {
    "schema": "paceline.calibration/1",
    "made_at": "2026-11-30T07:00:00+00:00",
    "streams": 16,
    "instrument_error_us": {"p50": 30.0, "p99": 200.0},
    "itl_error_us": {"p50": 10.0, "p99": 90.0},
    "e2e_error_us": {"p50": 30.0, "p99": 200.0},
    "max_events_s": 80_000,
}
CLOSED = {"arrival": {"kind": "closed", "concurrency": 8}, "seed": 7, "requests": 400, "threads": 1}
OPEN = {"arrival": {"kind": "poisson", "rate_requests_s": 8.0}, "seed": 7, "requests": 400, "threads": 1}
WORKLOAD = {
    "schema": "paceline.workload/1",
    "prompt_tokens": "512",
    "output_tokens": "32",
    "unique_prefix": True,
}


def healthy_progress(rows: pa.Table, segment: int = 0, **fields: Any) -> dict[str, Any]:
    """The last progress object of a client that kept up."""
    mine = rows.filter(np.asarray(rows["segment"]) == segment) if rows.num_rows else rows
    n = mine.num_rows
    lag = {"p50": 30_000, "p99": 400_000, "max": 900_000}
    elapsed_s = float(np.asarray(mine["end_ns"]).max()) / 1e9 if n else 1.0
    return progress(
        segment,
        elapsed_s,
        **{
            "state": "done",
            "planned": n,
            "started": n,
            "finished": n,
            "dropped": 0,
            "starved": 0,
            "reads": 32 * n,
            "threads": 1,
            "cpu_ns": int(elapsed_s * 1e8),
            "runqueue_wait_ns": int(elapsed_s * 5e6),
            "schedule_lag_ns": lag,
            "read_lag_ns": lag,
            **fields,
        },
    )


def store(
    home: Path, rows: pa.Table | Sequence[Mapping[str, Any]], state: Any = "complete", **fields: Any
) -> StoredRun:
    """A stored run of these rows; `fields` go into the manifest, `progress` into each segment's progress."""
    table = rows if isinstance(rows, pa.Table) else rows_table(rows)
    told = fields.pop("progress", {})
    plan = fields.pop("plan", None)
    made = manifest(
        **{
            "workload": WORKLOAD,
            "load": CLOSED,
            "host": {"cpu": "test", "cores": 2},
            "calibration": CALIBRATION,
            **fields,
        }
    )
    writer = RunWriter.create(made, at=home)
    for batch in table.to_batches():
        writer.append(batch)
    if plan is not None:
        writer.append_plan(plan)
    segments = np.unique(np.asarray(table["segment"])).tolist() if table.num_rows else [0]
    for segment in segments:
        writer.append_progress(healthy_progress(table, int(segment), **told))
    writer.finish(state)
    return open_run(writer.id, at=home)


def report(home: Path, rows: Any = None, **fields: Any) -> Report:
    """The report of a stored run; by default of 400 healthy requests after 20 of warm-up."""
    table = lognormal_rows(420, 1, warmup=20) if rows is None else rows
    return build_report(store(home, table, **fields))


def failed_row(outcome: str, index: int = 0, **columns: Any) -> dict[str, Any]:
    """A request that ended without a token."""
    return make_row(
        request_index=index, outcome=outcome, event_ms=(), completion_tokens=None, end_ms=50.0, **columns
    )


JOB_LOAD = {**CLOSED, "jobs": True, "requests": 100}
JOB_WORKLOAD = {
    "schema": "paceline.workload/1",
    "name": "talk",
    "call": [{"name": "first"}, {"name": "turn", "repeat": "5"}],
    "unique_prefix": True,
    "exact_output": True,
    "job_slo": {"job_ms": 3000.0},
    "jobs_per_day": 200.0,
    "worth_usd_per_hour": 60.0,
}


def job_report(home: Path, jobs: int = 100, turns: int = 6, **options: Any) -> Report:
    """The report of conversations in a closed loop of 4; `options`: those of `chat_jobs`, or of `store`."""
    own = [name for name in ("workload", "load", "slo", "state") if name in options]
    fields: dict[str, Any] = {name: options.pop(name) for name in own}
    rows, plan = chat_jobs(jobs, turns, **options)
    given: dict[str, Any] = {"plan": plan, "workload": JOB_WORKLOAD, "load": JOB_LOAD}
    return report(home, rows, **{**given, **fields})

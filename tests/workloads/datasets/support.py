"""Short ways to read a data file in a test."""

import json
from pathlib import Path
from typing import Any

from paceline.workloads.datasets.source import DataSource
from paceline.workloads.datasets.spec import DataSpec
from paceline.workloads.jobs import Job
from paceline.workloads.spec import WorkloadSpec


def write_jsonl(path: Path, rows: list[Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def source(path: Path, workload: dict[str, Any] | None = None, **spec: Any) -> DataSource:
    """A source whose tokens are words, which ends after its last row."""
    settings = {"on_end": "stop"} | spec
    return DataSource(
        DataSpec.model_validate({"path": str(path), **settings}),
        WorkloadSpec.parse({"tokenizer": "words"} | (workload or {})),
    )


def jobs_of(found: DataSource) -> list[Job]:
    jobs: list[Job] = []
    while (job := found.job(len(jobs))) is not None:
        jobs.append(job)
    return jobs


def texts(found: DataSource) -> list[str]:
    """The last turn's text of each job's only call."""
    told = []
    for job in jobs_of(found):
        (call,) = job.calls
        told.append("".join(str(piece) for piece in call.turns[-1].text))
    return told


def skipped(found: DataSource) -> dict[str, int]:
    report = found.report
    assert report.used + report.n_skipped == report.rows
    return {reason: tally.count for reason, tally in report.skipped.items()}


def changed(found: DataSource) -> dict[str, int]:
    return {reason: tally.count for reason, tally in found.report.changed.items()}

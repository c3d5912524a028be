"""The workload that a board is of, as its runs have it: limits, jobs a day and the worth of time."""

from paceline.advisor.board import Board
from paceline.errors import PacelineError
from paceline.store.runs import open_run
from paceline.workloads.spec import WorkloadSpec


def workload_of(board: Board) -> WorkloadSpec | None:
    """That of the latest run; None without runs, of live traffic, and where it cannot be read."""
    digests = [digest for row in board.rows for digest in row.evidence.digests]
    if not digests or board.workload_key == "live":
        return None
    latest = max(digests, key=lambda one: one.started_at)
    try:
        manifest = open_run(latest.run_id).manifest
        return WorkloadSpec.parse(manifest.workload, f"the workload of run {latest.run_id}")
    except PacelineError:
        return None

"""One run: from a prepared job to a stored run, and the rest of one that was cut off."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paceline.errors import ConfigError, StoreError
from paceline.measure.calibrate import current_error
from paceline.measure.interrupts import Interrupts
from paceline.measure.job import Prepared
from paceline.measure.live_stats import LiveStats, Snapshot
from paceline.measure.load_spec import LoadPlan, Replay
from paceline.measure.segment import Observer, Segment, SegmentResult
from paceline.measure.server_side import server_side
from paceline.store.manifest import RunState
from paceline.store.runs import StoredRun
from paceline.store.writer import RunWriter, complete_error

Watcher = Callable[[Snapshot], None]


@dataclass(frozen=True, slots=True)
class RunResult:
    """How a run ended; it is in the store, as far as the store could be written."""

    run_id: str
    state: RunState
    store_error: StoreError | None = None


def measure(
    prepared: Prepared,
    *,
    watch: Watcher = lambda _: None,
    home: Path | None = None,
    interrupts: Interrupts | None = None,
) -> RunResult:
    """Measure a prepared job.

    The first SIGINT or SIGTERM ends the run softly, the second at once; both leave an `interrupted` run.
    `interrupts`: counts them, for a caller that wants to know, or to end the run by its `note`.
    Raises StoreError when the run cannot be created, RunError when the load generator fails.
    """
    plan = prepared.job.load
    interrupts = interrupts or Interrupts()
    stats = LiveStats(prepared.total_jobs, plan.total_ns, jobs=plan.jobs)
    observe = observer(stats, watch, interrupts)
    spec = plan.spec(prepared.load_target)
    segment = Segment(
        spec,
        plan,
        prepared.source(),
        load=prepared.load,
        observe=observe,
        starts_ns=prepared.starts_ns(),
    )
    # Everything that takes time or can fail is done before there is a run to store.
    segment.fill(prepared.first_jobs)
    with RunWriter.create(prepared.manifest(), at=home) as writer, interrupts:
        with server_side(prepared, writer) as sink:
            ended = segment.run(sink, interrupts)
        return close_run(writer, ended, streams_known=plan.streams is not None)


def check_resumable(run: StoredRun) -> None:
    """Before the endpoint is asked: whether a run can be resumed.

    Raises StoreError for one that is whole, ConfigError for half of a pair and for live traffic.
    """
    if run.state == "complete":
        raise complete_error(run.id)
    if run.state == "running":
        raise StoreError(f"run {run.id} is being written by another process", "wait until it has ended")
    if (run.manifest.load.get("arrival") or {}).get("kind") == "live":
        raise ConfigError(
            f"run {run.id} is traffic of the gateway: there is no load to go on with",
            "the gateway itself goes on with it, and ends it when its day is over",
        )
    if "interleaved" in run.manifest.load:
        raise ConfigError(
            f"run {run.id} is one side of an interleaved comparison, and cannot be finished alone",
            "compare the two endpoints again",
        )


def resume(
    ref: str, prepared: Prepared, *, watch: Watcher = lambda _: None, home: Path | None = None
) -> RunResult:
    """Do what is missing of a run that was cut off, as its next segment.

    Raises StoreError when there is no such run, or it is complete.
    """
    plan = prepared.job.load
    with RunWriter.reopen(ref, at=home) as writer:
        done = writer.finished_jobs() if plan.jobs else prepared.jobs_of(writer.finished_indices())
        elapsed_ns = sum(int(segment["elapsed_ns"]) for segment in writer.manifest.segments)
        if _nothing_left(plan.total_requests, len(done)) or _nothing_left(plan.total_ns, elapsed_ns):
            writer.finish("complete")
            return RunResult(writer.id, "complete")
        elapsed_ns = _replayed_ns(prepared, done, elapsed_ns)
        spec = plan.spec(
            prepared.load_target,
            segment=writer.next_segment,
            started=len(done),
            elapsed_ns=elapsed_ns,
        )
        interrupts = Interrupts()
        observe = observer(LiveStats(spec.max_requests, spec.duration_ns, jobs=plan.jobs), watch, interrupts)
        segment = Segment(
            spec,
            plan,
            prepared.source(done, elapsed_ns),
            load=prepared.load,
            observe=observe,
            starts_ns=prepared.starts_ns(done, elapsed_ns),
        )
        segment.fill(prepared.first_jobs)
        moment = datetime.now(UTC).isoformat(timespec="seconds")
        writer.update(
            notes=[*writer.manifest.notes, f"resumed at {moment} as segment {spec.segment}"],
            segments=_undropped(writer.manifest.segments, plan),
        )
        with interrupts:
            with server_side(prepared, writer) as sink:
                ended = segment.run(sink, interrupts)
            return close_run(writer, ended, streams_known=plan.streams is not None)


def close_run(writer: RunWriter, result: SegmentResult, *, streams_known: bool = True) -> RunResult:
    """End a stored run as its last segment ended.

    Without `streams_known` (an open loop) the peak in flight tells which of the instrument's errors applies.
    """
    if not streams_known:
        with suppress(StoreError):
            writer.update(calibration=current_error(max(result.peak_in_flight, 1)))
    if result.store_error is not None:
        # The disk that has no room for rows may have none for the manifest either.
        with suppress(StoreError):
            writer.finish("failed")
        return RunResult(writer.id, "failed", result.store_error)
    state: RunState = "interrupted" if result.interrupted else "complete"
    try:
        writer.finish(state)
    except StoreError as error:
        return RunResult(writer.id, "failed", error)
    return RunResult(writer.id, state)


def _undropped(segments: list[dict[str, Any]], plan: LoadPlan) -> list[dict[str, Any]]:
    """The segments of a run to be resumed: what a trace missed as it was cut off is sent now, not dropped."""
    if not isinstance(plan.arrival, Replay):
        return segments
    return [{**one, "planned": int(one["planned"]) - int(one["dropped"]), "dropped": 0} for one in segments]


def _replayed_ns(prepared: Prepared, done: npt.NDArray[np.uint64], elapsed_ns: int) -> int:
    """How much of a trace is behind: what lies before the last job that was begun.

    What came due while the run was ending was not sent, and must not come as one burst.
    """
    starts = prepared.starts_ns()
    if starts is None:
        return elapsed_ns
    return min(elapsed_ns, int(starts[int(done[-1])]) if len(done) else 0)


def _nothing_left(total: int | None, done: int) -> bool:
    return total is not None and done >= total


def observer(stats: LiveStats, watch: Watcher, interrupts: Interrupts) -> Observer:
    """Turn polls into snapshots for the watcher."""

    def observe(progress: dict[str, Any], batch: pa.RecordBatch | None) -> None:
        watch(stats.update(progress, batch, stopping=interrupts.count > 0))

    return observe

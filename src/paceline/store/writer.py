"""Write a run while it goes on: killed at any instant, it stays readable."""

import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from paceline.errors import RunError, StoreError
from paceline.store.atomic import free_reserve, reserve, sweep
from paceline.store.index import Index
from paceline.store.lock import WriterLock
from paceline.store.manifest import RunManifest, RunState, read_manifest
from paceline.store.parts import (
    CANCELLED,
    first_of_each,
    fitted,
    last_attempts,
    merge_parts,
    merge_small_parts,
    next_number,
    part_path,
    part_paths,
    read_parts,
    read_table,
    write_table,
)
from paceline.store.paths import home, runs_folder
from paceline.store.places import place
from paceline.store.runs import find_id
from paceline.store.schema import PLAN_SCHEMA, PROGRESS_SCHEMA, ROW_SCHEMA, SERVER_SCHEMA

FLUSH_ROWS = 5_000
FLUSH_BYTES = 64 * 1024 * 1024
FLUSH_S = 1.0
# Up to so many parts are as quickly read as one; more are merged when the run ends.
MOST_PARTS = 8
PROGRESS_NAME = "progress.parquet"
# `progress.parquet` is rewritten whole, so the longer it is, the more rarely.
PROGRESS_ROWS_PER_WRITE = 100


class _Buffer:
    """Batches of one kind on their way to the next part."""

    def __init__(self, folder: Path, kind: str) -> None:
        self.folder = folder
        self.kind = kind
        self.tables: list[pa.Table] = []
        self.rows = 0
        self.bytes = 0
        self.number = next_number(folder, kind)

    def add(self, table: pa.Table) -> None:
        if table.num_rows:
            self.tables.append(table)
            self.rows += table.num_rows
            self.bytes += table.nbytes

    @property
    def full(self) -> bool:
        return self.rows >= FLUSH_ROWS or self.bytes >= FLUSH_BYTES

    def flush(self) -> None:
        """Write a part. What could not be written stays in the buffer for the next try."""
        if not self.tables:
            return
        table = pa.concat_tables(self.tables, promote_options="permissive")
        write_table(part_path(self.folder, self.kind, self.number), table)
        self.number += 1
        self.tables, self.rows, self.bytes = [], 0, 0


class RunWriter:
    """The one writer of a run. What writes may raise StoreError; the run is then readable up to there.

    As a context manager it ends a run that was not finished: `interrupted` after Ctrl-C, else `failed`.
    """

    def __init__(self, at: Path, manifest: RunManifest, lock: WriterLock, clock: Callable[[], float]) -> None:
        self._home = at
        self._lock = lock
        self._clock = clock
        self.folder = runs_folder(at) / manifest.id
        self.manifest = manifest
        self._rows = _Buffer(self.folder, "requests")
        self._plan = _Buffer(self.folder, "plan")
        self._server = _Buffer(self.folder, "server")
        self._progress: list[pa.Table] = []
        self._progress_rows = self._progress_unwritten = 0
        self._flushed_at = clock()
        self._ended = False

    @classmethod
    def create(
        cls, manifest: RunManifest, *, at: Path | None = None, clock: Callable[[], float] = time.monotonic
    ) -> "RunWriter":
        """Start a new run; `at`: another home. Raises StoreError when nothing can be written there."""
        where = at or home()
        manifest, lock = place(manifest, runs_folder(where))
        Index(where).put(manifest)
        return cls(where, manifest, lock, clock)

    @classmethod
    def reopen(
        cls,
        ref: str,
        *,
        at: Path | None = None,
        clock: Callable[[], float] = time.monotonic,
        even_complete: bool = False,
    ) -> "RunWriter":
        """Go on with a run that was cut off; its state becomes `running`. `even_complete`: or is whole.

        Raises StoreError when there is none, it is complete, or another process is writing it.
        """
        where = at or home()
        folder = runs_folder(where) / find_id(ref, where)
        lock = WriterLock(folder)
        try:
            manifest = read_manifest(folder)
            if manifest.state == "complete" and not even_complete:
                raise complete_error(manifest.id)
            sweep(folder)
            manifest = manifest.model_copy(update={"state": "running", "finished_at": None})
            reserve(folder)
            writer = cls(where, manifest, lock, clock)
            writer._load_progress()
            writer._save()
        except BaseException:
            lock.release()
            raise
        return writer

    @property
    def id(self) -> str:
        """The run's id."""
        return self.manifest.id

    @property
    def next_segment(self) -> int:
        """The number that the next start of the load generator takes."""
        used = [int(segment["segment"]) for segment in self.manifest.segments]
        stored = read_parts(self.folder, "requests", ROW_SCHEMA, ["segment"])["segment"]
        highest: Any = pc.max(stored)
        return max([*used, highest.as_py() if highest.as_py() is not None else -1, -1]) + 1

    def last_index(self) -> int | None:
        """The highest `request_index` that is stored; None without any."""
        highest: Any = pc.max(
            read_parts(self.folder, "requests", ROW_SCHEMA, ["request_index"])["request_index"]
        )
        last: int | None = highest.as_py()
        return last

    def finished_indices(self) -> npt.NDArray[np.uint64]:
        """Sorted indices of the stored requests that ended other than `cancelled`, uint64[n]."""
        stored = read_parts(self.folder, "requests", ROW_SCHEMA, ["request_index", "outcome"])
        complete: Any = pc.not_equal(stored["outcome"], pa.scalar(CANCELLED))
        finished: Any = stored.filter(complete)["request_index"]
        return np.unique(finished.to_numpy().astype(np.uint64))

    def finished_jobs(self) -> npt.NDArray[np.uint64]:
        """Sorted numbers of the jobs that have ended, uint64[n]: with all planned calls, or one that failed.

        A job that was cut off in its midst has not: its answers are gone, so it is begun again.
        """
        rows = last_attempts(
            read_parts(
                self.folder, "requests", ROW_SCHEMA, ["request_index", "session", "segment", "outcome"]
            )
        )
        plan = first_of_each(read_parts(self.folder, "plan", PLAN_SCHEMA, ["request_index", "session"]))
        outcomes = rows.filter(pc.not_equal(rows["outcome"], pa.scalar(CANCELLED)))
        well: Any = pc.is_in(outcomes["outcome"], value_set=pa.array(["ok", "hung_up"]))
        failed = np.unique(outcomes.filter(pc.invert(well))["session"].drop_null().to_numpy())
        ended, n_ended = np.unique(
            outcomes.filter(well)["session"].drop_null().to_numpy(), return_counts=True
        )
        planned, n_planned = np.unique(plan["session"].drop_null().to_numpy(), return_counts=True)
        calls = dict(zip(planned.tolist(), n_planned.tolist(), strict=True))
        whole = [job for job, n in zip(ended.tolist(), n_ended.tolist(), strict=True) if n == calls.get(job)]
        return np.unique(np.concatenate([failed, np.array(whole)]).astype(np.uint64))

    def append(self, batch: pa.RecordBatch) -> None:
        """Take rows of requests that have ended, in the schema of `ROW_SCHEMA`.

        Raises ValueError for other columns.
        """
        if batch.schema.names != ROW_SCHEMA.names:
            odd = sorted(set(batch.schema.names) ^ set(ROW_SCHEMA.names))
            raise ValueError(f"rows have other columns than the schema: {odd or 'another order'}")
        self._rows.add(pa.Table.from_batches([batch]))
        self._flush_when_due()

    def append_plan(self, table: pa.Table) -> None:
        """Take what was asked of requests. Raises ValueError without `request_index`."""
        if "request_index" not in table.column_names:
            raise ValueError("a plan needs the column request_index")
        self._plan.add(table)
        self._flush_when_due()

    def append_server(self, table: pa.Table) -> None:
        """Take samples of the server's side, in `SERVER_SCHEMA`. Raises ValueError for other columns."""
        if table.schema.names != SERVER_SCHEMA.names:
            raise ValueError(f"samples have the columns {table.schema.names}, not {SERVER_SCHEMA.names}")
        self._server.add(table)
        self._flush_when_due()

    def append_progress(self, progress: dict[str, Any]) -> None:
        """Take a progress object of the load generator, with its `segment`."""
        segment = int(progress["segment"])
        others = [other for other in self.manifest.segments if int(other["segment"]) != segment]
        self.manifest.segments = sorted([*others, progress], key=lambda entry: int(entry["segment"]))
        row = {
            name: [int(progress["elapsed_ns" if name == "t_ns" else name])] for name in PROGRESS_SCHEMA.names
        }
        self._progress.append(pa.table(row, schema=PROGRESS_SCHEMA))
        self._progress_rows += 1
        self._progress_unwritten += 1
        if progress.get("state") in ("done", "failed"):
            # The next segment may be long in coming.
            self.flush()
        else:
            self._flush_when_due()

    def update(self, **fields: Any) -> None:
        """Change fields of the manifest and write it. Raises ValueError for a field that it does not have."""
        unknown = fields.keys() - RunManifest.model_fields.keys()
        if unknown:
            raise ValueError(f"a run has no {sorted(unknown)}")
        self.manifest = RunManifest.model_validate({**self.manifest.model_dump(), **fields})
        self._save()

    def flush(self) -> None:
        """Write everything that was taken so far."""
        self._flushed_at = self._clock()
        self._rows.flush()
        self._plan.flush()
        self._server.flush()
        if self._progress_unwritten:
            if self._progress_unwritten * PROGRESS_ROWS_PER_WRITE >= self._progress_rows:
                self._write_progress()
            self.manifest.write(self.folder)

    def merge_small(self) -> None:
        """Merge small parts of a run that goes on for long. Raises StoreError; the run stays whole."""
        merge_small_parts(self.folder, "requests")

    def finish(self, state: RunState) -> None:
        """End the run: write the rest, merge small parts, say how it ended, let go of the lock.

        What cannot be written makes it `failed`, with a note. Raises StoreError then, or RunError where the
        run is no longer there. Also when it fails the lock is let go, so that the run can be resumed.
        """
        if self._ended:
            return
        self._ended = True
        failure: StoreError | None = None
        try:
            try:
                self.flush()
                if self._progress:
                    self._write_progress()
            except StoreError as error:
                failure = error
                state = "failed"
                self.manifest.notes = [*self.manifest.notes, f"not all was stored: {error.message}"]
            free_reserve(self.folder)
            self.manifest.state = state
            self.manifest.finished_at = datetime.now(UTC)
            try:
                self._save()
            except StoreError as error:
                failure = failure or error
            if failure is not None:
                raise self._removed() or failure
            # Only for quicker reading: the run is whole without it.
            with suppress(StoreError):
                self._merge()
        finally:
            self._lock.release()

    def _removed(self) -> RunError | None:
        if self.folder.is_dir():
            return None
        return RunError(
            f"run {self.id} was removed from {self.folder.parent} while it was being measured",
            "measure again, and leave its folder alone",
        )

    def _merge(self) -> None:
        for kind in ("requests", "plan", "server"):
            if len(part_paths(self.folder, kind)) > MOST_PARTS:
                merge_parts(self.folder, kind)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        interrupted = kind is not None and issubclass(kind, KeyboardInterrupt)
        try:
            self.finish("interrupted" if interrupted else "failed")
        except StoreError:
            # The error that ended the block says more.
            if error is None:
                raise

    def _flush_when_due(self) -> None:
        if self._rows.full or self._plan.full or self._server.full or self._flush_is_due:
            self.flush()

    @property
    def _flush_is_due(self) -> bool:
        return self._clock() - self._flushed_at >= FLUSH_S

    def _load_progress(self) -> None:
        path = self.folder / PROGRESS_NAME
        if path.exists():
            self._progress = [fitted(path, read_table(path), PROGRESS_SCHEMA)]
            self._progress_rows = self._progress[0].num_rows

    def _write_progress(self) -> None:
        whole = pa.concat_tables(self._progress).combine_chunks()
        write_table(self.folder / PROGRESS_NAME, whole)
        self._progress = [whole]
        self._progress_unwritten = 0

    def _save(self) -> None:
        self.manifest.write(self.folder)
        Index(self._home).put(self.manifest)


def complete_error(run_id: str) -> StoreError:
    """The error for a run that is whole and was to be resumed."""
    return StoreError(
        f"run {run_id} is complete: there is nothing to resume", f"see it: paceline runs show {run_id}"
    )

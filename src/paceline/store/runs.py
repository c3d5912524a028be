"""Find, read and delete stored runs."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path

import pyarrow as pa

from paceline.errors import StoreError
from paceline.store.atomic import store_error
from paceline.store.index import Index, IndexEntry
from paceline.store.lock import WriterLock, living_state
from paceline.store.manifest import LATEST, RunManifest, read_manifest
from paceline.store.parts import first_of_each, fitted, last_attempts, read_parts, read_table
from paceline.store.paths import home, runs_folder
from paceline.store.places import DELETED_PREFIX
from paceline.store.schema import PLAN_SCHEMA, PROGRESS_SCHEMA, ROW_SCHEMA, SERVER_SCHEMA

PROGRESS_NAME = "progress.parquet"
_MOST_NAMED = 5


@dataclass(frozen=True)
class StoredRun:
    """One run on the disk, whole or cut off."""

    folder: Path
    manifest: RunManifest

    @property
    def id(self) -> str:
        """The run's id."""
        return self.manifest.id

    @cached_property
    def state(self) -> str:
        """`running`, `complete`, `interrupted` or `failed`; a run whose writer is gone was interrupted."""
        return living_state(self.manifest.state, self.folder)

    def rows(self, columns: Sequence[str] | None = None) -> pa.Table:
        """One row a request in the schema of `ROW_SCHEMA`, sorted by `request_index`; `columns`: only these.

        Of a request that was made twice, the first complete row; of a job that was begun twice, the rows of
        the second time. Raises StoreError for a damaged part.
        """
        needed = None
        if columns is not None:
            needed = list(dict.fromkeys([*columns, "request_index", "outcome", "session", "segment"]))
        rows = first_of_each(last_attempts(read_parts(self.folder, "requests", ROW_SCHEMA, needed)))
        return rows if columns is None else rows.select(list(columns))

    def plan(self) -> pa.Table:
        """What was asked, one row a request, sorted by `request_index`; may reach further than `rows`."""
        return first_of_each(read_parts(self.folder, "plan", PLAN_SCHEMA))

    def progress(self) -> pa.Table:
        """How the run stood about once a second, in the schema of `PROGRESS_SCHEMA`."""
        path = self.folder / PROGRESS_NAME
        if not path.exists():
            return PROGRESS_SCHEMA.empty_table()
        return fitted(path, read_table(path), PROGRESS_SCHEMA)

    def server(self) -> pa.Table:
        """What the server's metrics and the GPUs said, in the schema of `SERVER_SCHEMA`, in order of time."""
        return read_parts(self.folder, "server", SERVER_SCHEMA).sort_by("t_ns")

    def origins(self) -> dict[int, int]:
        """`origin_ns` of each segment, on CLOCK_MONOTONIC."""
        return self.manifest.origins

    def size_bytes(self) -> int:
        """Bytes on the disk."""
        return sum(path.stat().st_size for path in self.folder.iterdir() if path.is_file())


@dataclass(frozen=True)
class RunEntry:
    """One line of the list of runs. `started_at` is None, and all but `id` empty, when it is `unreadable`."""

    id: str
    name: str | None
    started_at: datetime | None
    endpoint: str
    model: str
    state: str

    def to_dict(self) -> dict[str, str | None]:
        """As in `paceline.runs/1`."""
        return {
            "id": self.id,
            "name": self.name,
            "started_at": self.started_at.isoformat() if self.started_at else None,
            "endpoint": self.endpoint,
            "model": self.model,
            "state": self.state,
        }


def open_run(ref: str, *, at: Path | None = None) -> StoredRun:
    """The run that `ref` means: an id, the unique beginning of one, a name (its latest run), or `latest`.

    `at`: another home. Raises StoreError when there is none, more than one, or it cannot be read.
    """
    where = at or home()
    folder = runs_folder(where) / find_id(ref, where)
    run = StoredRun(folder, read_manifest(folder))
    try:
        run.progress()
    except StoreError as error:
        # No figure is made from it, so the rest is worth reading.
        run.manifest.notes = [*run.manifest.notes, f"{error.message} (no figure of the report needs it)"]
    return run


def list_runs(*, at: Path | None = None) -> list[RunEntry]:
    """All runs, newest first; an unreadable one is listed as such."""
    where = at or home()
    return [
        RunEntry(
            id=entry.id,
            name=entry.name,
            started_at=datetime.fromisoformat(entry.started_at) if entry.started_at else None,
            endpoint=entry.endpoint,
            model=entry.model,
            state=living_state(entry.state, runs_folder(where) / entry.id),
        )
        for entry in reversed(Index(where).entries())
    ]


def delete_run(ref: str, *, at: Path | None = None) -> str:
    """Delete a run and return its id. Raises StoreError when there is none or it is being written."""
    where = at or home()
    run_id = find_id(ref, where)
    folder = runs_folder(where) / run_id
    lock = WriterLock(folder)
    # Renamed first: a run is there whole or not at all, whatever stops the deletion.
    doomed = folder.with_name(f"{DELETED_PREFIX}{run_id}")
    try:
        folder.rename(doomed)
        Index(where).remove(run_id)
        shutil.rmtree(doomed)
        for left in folder.parent.glob(f"{DELETED_PREFIX}*"):
            shutil.rmtree(left, ignore_errors=True)
    except OSError as error:
        raise store_error(f"cannot delete {folder}", error) from error
    finally:
        lock.release()
    return run_id


def find_id(ref: str, at: Path) -> str:
    """The id that `ref` means in the home `at`; see `open_run`. Raises StoreError."""
    entries = Index(at).entries()
    if not entries:
        raise StoreError(
            f"there are no runs in {runs_folder(at)}", "make one: paceline measure URL --model M"
        )
    if ref == LATEST:
        return _newest(entries)
    if any(entry.id == ref for entry in entries):
        return ref
    begun = [entry.id for entry in entries if ref and entry.id.startswith(ref)]
    if len(begun) == 1:
        return begun[0]
    named = [entry.id for entry in entries if entry.name == ref]
    if named:
        return named[-1]
    if begun:
        shown = ", ".join(begun[-_MOST_NAMED:]) + (", ..." if len(begun) > _MOST_NAMED else "")
        raise StoreError(f"{ref!r} begins {len(begun)} run ids: {shown}", "give more of the id")
    longer = sorted({entry.name for entry in entries if entry.name and entry.name.startswith(f"{ref}:")})
    hint = f"there are {', '.join(longer[:_MOST_NAMED])}" if longer else "list them: paceline runs list"
    raise StoreError(f"no run has the id or name {ref!r}", hint)


def _newest(entries: list[IndexEntry]) -> str:
    """The one started last of those that can be read."""
    return max(entries, key=lambda entry: (entry.started_at, entry.id)).id

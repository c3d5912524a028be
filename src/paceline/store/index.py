"""`index.sqlite`: what runs there are, without opening each. Only a cache: the manifests are the truth.

It is mended from the manifests whenever it is read, rebuilt when it is lost or damaged, and done without
where it cannot be written.
"""

import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from paceline.errors import StoreError
from paceline.store.migrations import NewerIndexError, migrate
from paceline.store.paths import MANIFEST_NAME, index_file, runs_folder

if TYPE_CHECKING:
    from paceline.store.manifest import RunManifest

_Result = TypeVar("_Result")
_WAIT_S = 5.0
UNREADABLE = "unreadable"


@dataclass(frozen=True)
class IndexEntry:
    """One run. `state` as its manifest says, or `unreadable`."""

    id: str
    name: str | None
    started_at: str
    endpoint: str
    model: str
    state: str


class Index:
    """The index of one home."""

    def __init__(self, home: Path) -> None:
        self._file = index_file(home)
        self._runs = runs_folder(home)

    def put(self, manifest: "RunManifest") -> None:
        """Add a run or replace what is known of it. Never fails: `entries` mends what is missing."""
        stamp = self._stamp(manifest.id)
        with suppress(sqlite3.Error, NewerIndexError, OSError):
            self._with(lambda connection: _put(connection, _entry(manifest), stamp))

    def remove(self, run_id: str) -> None:
        """Forget a run. Never fails."""
        with suppress(sqlite3.Error, NewerIndexError, OSError):
            self._with(lambda connection: connection.execute("DELETE FROM runs WHERE id = ?", (run_id,)))

    def entries(self) -> list[IndexEntry]:
        """All runs that have a folder, by their starts. Never fails: without index, manifests are read."""
        present = _run_ids(self._runs)
        try:
            found = self._with(lambda connection: self._mended(connection, present))
        except (sqlite3.Error, NewerIndexError, OSError):
            found = [self._read(run_id) for run_id in present]
        return sorted(found, key=_start)

    def _with(self, work: Callable[[sqlite3.Connection], _Result]) -> _Result:
        try:
            return self._attempt(work)
        except sqlite3.OperationalError:
            # Locked, read-only, or out of reach: not damaged.
            raise
        except sqlite3.DatabaseError:
            for suffix in ("", "-journal", "-wal", "-shm"):
                self._file.with_name(self._file.name + suffix).unlink(missing_ok=True)
            return self._attempt(work)

    def _attempt(self, work: Callable[[sqlite3.Connection], _Result]) -> _Result:
        with closing(sqlite3.connect(self._file, timeout=_WAIT_S)) as connection:
            migrate(connection)
            with connection:
                return work(connection)

    def _mended(self, connection: sqlite3.Connection, present: list[str]) -> list[IndexEntry]:
        found = connection.execute(f"SELECT {_COLUMNS}, stamp FROM runs").fetchall()
        known = {row[0]: IndexEntry(*row[:-1]) for row in found}
        stamps = {row[0]: row[-1] for row in found}
        for gone in known.keys() - set(present):
            connection.execute("DELETE FROM runs WHERE id = ?", (gone,))
        entries = []
        for run_id in present:
            entry, stamp = known.get(run_id), self._stamp(run_id)
            # A manifest that was written since, by its writer or by whatever damaged it.
            if entry is None or entry.state in ("running", UNREADABLE) or stamps[run_id] != stamp:
                entry = self._read(run_id)
                if entry != known.get(run_id) or stamps[run_id] != stamp:
                    _put(connection, entry, stamp)
            entries.append(entry)
        return entries

    def _stamp(self, run_id: str) -> int:
        """When the run's manifest was last written, in ns; 0 where there is none."""
        try:
            return (self._runs / run_id / MANIFEST_NAME).stat().st_mtime_ns
        except OSError:
            return 0

    def _read(self, run_id: str) -> IndexEntry:
        # Of runs that have not changed no manifest is read, and most of the time none has.
        from paceline.store.manifest import read_manifest

        try:
            return _entry(read_manifest(self._runs / run_id))
        except StoreError:
            return IndexEntry(run_id, None, "", "", "", UNREADABLE)


_COLUMNS = "id, name, started_at, endpoint, model, state"


def _put(connection: sqlite3.Connection, entry: IndexEntry, stamp: int) -> None:
    """Replace what is known of a run by what its manifest of `stamp` says."""
    connection.execute(
        f"INSERT OR REPLACE INTO runs ({_COLUMNS}, stamp) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (entry.id, entry.name, entry.started_at, entry.endpoint, entry.model, entry.state, stamp),
    )


def _entry(manifest: "RunManifest") -> IndexEntry:
    return IndexEntry(
        id=manifest.id,
        name=manifest.name,
        started_at=manifest.started_at.astimezone(UTC).isoformat(),
        endpoint=manifest.endpoint,
        model=manifest.model,
        state=manifest.state,
    )


def _start(entry: IndexEntry) -> tuple[str, str]:
    """When a run began, to the microsecond; of an unreadable one, to the second, from its id."""
    if entry.started_at:
        return entry.started_at, entry.id
    try:
        moment = datetime.strptime(entry.id[:15], "%Y%m%d-%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        return "", entry.id
    return moment.isoformat(), entry.id


def _run_ids(runs: Path) -> list[str]:
    """The names of the folders, sorted."""
    try:
        return sorted(child.name for child in runs.iterdir() if child.is_dir() and child.name[:1] != ".")
    except OSError:
        return []

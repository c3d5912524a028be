"""`digests.sqlite`: what a board needs of each run. Only a cache: the runs are the truth.

It is made anew when it is lost or damaged, and done without where it cannot be written.
"""

import json
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from paceline.store.paths import home

_Result = TypeVar("_Result")
_WAIT_S = 5.0
_SCHEMA = """
CREATE TABLE IF NOT EXISTS digests (
    run_id TEXT PRIMARY KEY, stamp INTEGER NOT NULL, made_at_s REAL NOT NULL, took_s REAL NOT NULL,
    head TEXT NOT NULL, sample BLOB NOT NULL
)"""


@dataclass(frozen=True)
class KeptHead:
    """head: a JSON document, its maker's own. stamp: of what it was made from.

    made_at_s: unix time. took_s: how long making it took.
    """

    run_id: str
    stamp: int
    made_at_s: float
    took_s: float
    head: Mapping[str, Any]


@dataclass(frozen=True)
class KeptDigest(KeptHead):
    """With the sample: bytes, its maker's own."""

    sample: bytes


def digests_file(at: Path | None = None) -> Path:
    """The cache; `at`: another home."""
    return (at or home()) / "digests.sqlite"


def kept_digests(at: Path | None = None) -> dict[str, KeptHead]:
    """All that are kept, by run id, without samples; one that cannot be read is left out. Never fails."""
    sql = "SELECT run_id, stamp, made_at_s, took_s, head FROM digests"
    found = {}
    for run_id, stamp, made_at_s, took_s, head in _read(at, lambda one: one.execute(sql).fetchall()):
        with suppress(ValueError, TypeError, RecursionError):
            found[run_id] = KeptHead(run_id, stamp, made_at_s, took_s, json.loads(head))
    return found


def kept_samples(wanted: Mapping[str, tuple[float, int]], at: Path | None = None) -> dict[str, bytes]:
    """The first bytes of samples, by run id. `wanted`: `made_at_s` and how many bytes at most.

    One that was replaced since is left out, and what cannot be read. Never fails.
    """

    def work(connection: sqlite3.Connection) -> list[tuple[str, bytes]]:
        found = []
        for row, run_id, made_at_s in connection.execute("SELECT rowid, run_id, made_at_s FROM digests"):
            made, most = wanted.get(run_id, (None, 0))
            if made == made_at_s:
                # Not by SELECT, which reads the whole of it.
                with connection.blobopen("digests", "sample", row, readonly=True) as blob:
                    found.append((run_id, blob.read(most)))
        return found

    return dict(_read(at, work)) if wanted else {}


def kept_heads(run_ids: Sequence[str], at: Path | None = None) -> dict[str, dict[str, Any]]:
    """The JSON documents alone of some runs, by run id, as far as they are kept. Never fails."""
    if not run_ids:
        return {}
    sql = f"SELECT run_id, head FROM digests WHERE run_id IN ({', '.join('?' * len(run_ids))})"
    found = {}
    for run_id, head in _read(at, lambda one: one.execute(sql, tuple(run_ids)).fetchall()):
        with suppress(ValueError, TypeError, RecursionError):
            found[run_id] = json.loads(head)
    return found


def keep_digests(digests: Iterable[KeptDigest], gone: Iterable[str] = (), *, at: Path | None = None) -> bool:
    """Add or replace digests, and forget those of runs that are gone. Never raises; False: it cannot be."""
    rows = [
        (one.run_id, one.stamp, one.made_at_s, one.took_s, json.dumps(one.head), one.sample)
        for one in digests
    ]
    left = [(run_id,) for run_id in gone]

    def work(connection: sqlite3.Connection) -> None:
        connection.executemany("INSERT OR REPLACE INTO digests VALUES (?, ?, ?, ?, ?, ?)", rows)
        connection.executemany("DELETE FROM digests WHERE run_id = ?", left)

    if rows or left:
        try:
            _with(at, work)
        except (sqlite3.Error, OSError):
            return False
    return True


def _read(at: Path | None, work: Callable[[sqlite3.Connection], list[Any]]) -> list[Any]:
    """What `work` finds; nothing where there is no cache, or it cannot be read."""
    if not digests_file(at).exists():
        return []
    try:
        return _with(at, work)
    except (sqlite3.Error, OSError):
        return []


def _with(at: Path | None, work: Callable[[sqlite3.Connection], _Result]) -> _Result:
    try:
        return _attempt(at, work)
    except sqlite3.OperationalError:
        # Locked, read-only, or out of reach: not damaged.
        raise
    except sqlite3.DatabaseError:
        file = digests_file(at)
        for suffix in ("", "-journal", "-wal", "-shm"):
            file.with_name(file.name + suffix).unlink(missing_ok=True)
        return _attempt(at, work)


def _attempt(at: Path | None, work: Callable[[sqlite3.Connection], _Result]) -> _Result:
    with closing(sqlite3.connect(digests_file(at), timeout=_WAIT_S)) as connection, connection:
        connection.execute(_SCHEMA)
        return work(connection)

"""`digests.sqlite`: what a board needs of each run. Only a cache: the runs are the truth.

It is made anew when it is lost or damaged, and done without where it cannot be written.
"""

import json
import sqlite3
from collections.abc import Callable, Iterable, Mapping
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
class KeptDigest:
    """head: a JSON document; sample: bytes; both are their maker's own. stamp: of what it was made from.

    made_at_s: unix time. took_s: how long making it took.
    """

    run_id: str
    stamp: int
    made_at_s: float
    took_s: float
    head: Mapping[str, Any]
    sample: bytes


def digests_file(at: Path | None = None) -> Path:
    """The cache; `at`: another home."""
    return (at or home()) / "digests.sqlite"


def kept_digests(at: Path | None = None) -> dict[str, KeptDigest]:
    """All that are kept, by run id; one that cannot be read is left out. Never fails."""
    sql = "SELECT run_id, stamp, made_at_s, took_s, head, sample FROM digests"
    if not digests_file(at).exists():
        return {}
    try:
        rows = _with(at, lambda connection: connection.execute(sql).fetchall())
    except (sqlite3.Error, OSError):
        return {}
    found = {}
    for run_id, stamp, made_at_s, took_s, head, sample in rows:
        with suppress(ValueError, TypeError, RecursionError):
            found[run_id] = KeptDigest(run_id, stamp, made_at_s, took_s, json.loads(head), sample)
    return found


def keep_digests(digests: Iterable[KeptDigest], gone: Iterable[str] = (), *, at: Path | None = None) -> None:
    """Add or replace digests, and forget those of runs that are gone. Never fails."""
    rows = [
        (one.run_id, one.stamp, one.made_at_s, one.took_s, json.dumps(one.head), one.sample)
        for one in digests
    ]
    left = [(run_id,) for run_id in gone]

    def work(connection: sqlite3.Connection) -> None:
        connection.executemany("INSERT OR REPLACE INTO digests VALUES (?, ?, ?, ?, ?, ?)", rows)
        connection.executemany("DELETE FROM digests WHERE run_id = ?", left)

    if rows or left:
        with suppress(sqlite3.Error, OSError):
            _with(at, work)


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

"""The index's schema, as numbered steps. A step that was released is never changed: add another."""

import sqlite3

MIGRATIONS: tuple[str, ...] = (
    """
    CREATE TABLE runs (
        id TEXT PRIMARY KEY,
        name TEXT,
        started_at TEXT NOT NULL,
        endpoint TEXT NOT NULL,
        model TEXT NOT NULL,
        state TEXT NOT NULL
    );
    CREATE INDEX runs_by_name ON runs (name, id);
    """,
    """
    ALTER TABLE runs ADD COLUMN stamp INTEGER NOT NULL DEFAULT 0;
    """,
)


class NewerIndexError(Exception):
    """The index was written by a newer Paceline."""


def migrate(connection: sqlite3.Connection, steps: tuple[str, ...] = MIGRATIONS) -> None:
    """Bring the schema up to date; each step is one transaction. Raises NewerIndexError, sqlite3.Error."""
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if version > len(steps):
        raise NewerIndexError(f"the index has schema {version}, this Paceline knows {len(steps)}")
    for number, step in enumerate(steps[version:], start=version + 1):
        connection.executescript(f"BEGIN IMMEDIATE; {step}; PRAGMA user_version = {number}; COMMIT;")

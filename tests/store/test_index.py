import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from paceline.store.index import Index
from paceline.store.migrations import MIGRATIONS, NewerIndexError, migrate
from paceline.store.paths import index_file, runs_folder
from tests.store.samples import manifest


def stored(home: Path, run_id: str, **fields: object) -> None:
    folder = runs_folder(home) / run_id
    folder.mkdir(parents=True)
    manifest(id=run_id, state="complete", **fields).write(folder)


def ids(home: Path) -> list[str]:
    return [entry.id for entry in Index(home).entries()]


def test_a_lost_index_is_rebuilt(home: Path) -> None:
    stored(home, "b", name="first")
    stored(home, "a", name="second")
    assert [(entry.id, entry.name) for entry in Index(home).entries()] == [("b", "first"), ("a", "second")]
    index_file(home).unlink()
    assert ids(home) == ["b", "a"]
    assert index_file(home).exists()


@pytest.mark.parametrize(
    "rubbish", [b"no database at all, for sure " * 50, b"SQLite format 3\x00" + b"\xff" * 4000]
)
def test_a_damaged_index_is_rebuilt(home: Path, rubbish: bytes) -> None:
    stored(home, "a")
    index_file(home).write_bytes(rubbish)
    assert ids(home) == ["a"]
    with closing(sqlite3.connect(index_file(home))) as connection:
        assert connection.execute("SELECT id FROM runs").fetchall() == [("a",)]


def test_what_others_added_and_deleted_is_seen(home: Path) -> None:
    stored(home, "a")
    assert ids(home) == ["a"]
    stored(home, "b")
    (runs_folder(home) / "a" / "run.json").unlink()
    (runs_folder(home) / "a").rmdir()
    assert ids(home) == ["b"]


def test_a_run_that_was_damaged_since_is_listed_as_such(home: Path) -> None:
    stored(home, "a")
    assert [entry.state for entry in Index(home).entries()] == ["complete"]
    (runs_folder(home) / "a" / "run.json").write_text("{")
    assert [entry.state for entry in Index(home).entries()] == ["unreadable"]
    (runs_folder(home) / "a" / "run.json").unlink()
    assert [entry.state for entry in Index(home).entries()] == ["unreadable"]


def test_an_index_of_the_first_schema_is_brought_up_to_date(home: Path) -> None:
    stored(home, "a")
    index_file(home).parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(index_file(home))) as connection:
        migrate(connection, MIGRATIONS[:1])
        connection.execute("INSERT INTO runs VALUES ('a', NULL, '', '', '', 'failed')")
        connection.commit()
    assert [entry.state for entry in Index(home).entries()] == ["complete"]


def test_a_run_that_ended_since_is_read_again(home: Path) -> None:
    folder = runs_folder(home) / "a"
    folder.mkdir(parents=True)
    made = manifest(id="a", state="running")
    made.write(folder)
    Index(home).put(made)
    made.model_copy(update={"state": "failed"}).write(folder)
    assert [entry.state for entry in Index(home).entries()] == ["failed"]


def test_an_unreadable_run_is_listed_as_such(home: Path) -> None:
    (runs_folder(home) / "a").mkdir(parents=True)
    stored(home, "b")
    assert [(entry.id, entry.state) for entry in Index(home).entries()] == [
        ("a", "unreadable"),
        ("b", "complete"),
    ]


def test_a_newer_index_is_left_alone(home: Path) -> None:
    stored(home, "a")
    with closing(sqlite3.connect(index_file(home))) as connection:
        connection.execute("PRAGMA user_version = 99")
        connection.commit()
    before = index_file(home).read_bytes()
    assert ids(home) == ["a"]
    Index(home).put(manifest(id="a"))
    assert index_file(home).read_bytes() == before


def test_without_a_place_for_the_index_the_manifests_are_read(home: Path) -> None:
    stored(home, "a")
    index_file(home).mkdir()
    assert ids(home) == ["a"]


def test_migrations_go_on_from_where_they_were() -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        migrate(connection)
        connection.execute("INSERT INTO runs VALUES ('a', NULL, '', '', '', 'complete', 0)")
        connection.commit()
        further = (*MIGRATIONS, "ALTER TABLE runs ADD COLUMN tier TEXT")
        migrate(connection, further)
        migrate(connection, further)
        assert connection.execute("SELECT id, tier FROM runs").fetchall() == [("a", None)]
        assert connection.execute("PRAGMA user_version").fetchone() == (len(further),)
        with pytest.raises(NewerIndexError):
            migrate(connection)


def test_no_runs(home: Path) -> None:
    assert ids(home) == []
    assert not home.exists()

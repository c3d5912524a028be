import os
import time
from pathlib import Path

from paceline.control.watch import Watch


def aged(path: Path, seconds: float = 60) -> None:
    then = time.time() - seconds
    os.utime(path, (then, then))


def test_a_change_is_seen_once(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_text("a")
    aged(one)
    watch = Watch([one])
    assert not watch.changed([one])
    one.write_text("b")
    aged(one, 50)
    assert watch.changed([one])
    assert not watch.changed([one])
    assert watch.changed([one, other])
    other.write_text("")
    aged(other)
    assert watch.changed([one, other])
    other.unlink()
    assert watch.changed([one, other])
    assert not watch.changed([one, other])


def test_a_file_that_took_the_others_place(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    for path in (one, other):
        path.write_text("a")
        os.utime(path, (1_000_000_000, 1_000_000_000))
    watch = Watch([one])
    other.replace(one)
    assert watch.changed([one])


def test_a_young_file_may_change_within_its_stamp(tmp_path: Path) -> None:
    one = tmp_path / "one"
    one.write_text("a")
    watch = Watch([one])
    assert watch.changed([one])
    aged(one)
    assert watch.changed([one])
    assert not watch.changed([one])


def test_who_may_read_a_file_is_a_change_too(tmp_path: Path) -> None:
    one = tmp_path / "one"
    one.write_text("a")
    one.chmod(0o000)
    aged(one)
    watch = Watch([one])
    one.chmod(0o600)
    assert watch.changed([one])
    assert not watch.changed([one])

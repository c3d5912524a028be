from pathlib import Path

import pytest

from paceline.errors import StoreError
from paceline.store import ledger
from paceline.store.ledger import START, Place, begin_beyond, read_all, read_stretch, segment_path, segments
from tests.support.ledger import append
from tests.support.ledger import ledger as folder_of


def texts(folder: Path, start: Place = START, most_bytes: int = 1_000_000) -> list[bytes]:
    return [line.raw for line in read_stretch(folder, start, most_bytes).lines]


def test_lines_come_with_their_places(tmp_path: Path) -> None:
    append(tmp_path, b"one\ntwo\n", segment=1)
    append(tmp_path, b"three\n", segment=3)
    stretch = read_stretch(folder_of(tmp_path), START, 1_000)
    assert [(line.place, line.raw, line.torn) for line in stretch.lines] == [
        (Place(1, 0), b"one", False),
        (Place(1, 4), b"two", False),
        (Place(3, 0), b"three", False),
    ]
    assert (stretch.end, stretch.n_bytes) == (Place(3, 6), 14)


def test_what_has_no_end_is_no_line_yet(tmp_path: Path) -> None:
    append(tmp_path, b"one\ntw")
    stretch = read_stretch(folder_of(tmp_path), START, 1_000)
    assert [line.raw for line in stretch.lines] == [b"one"]
    append(tmp_path, b"o\n")
    assert texts(folder_of(tmp_path), stretch.end) == [b"two"]


def test_what_has_no_end_in_a_segment_that_is_whole_is_torn(tmp_path: Path) -> None:
    append(tmp_path, b"one\ntw", segment=1)
    append(tmp_path, b"three\n", segment=2)
    lines = read_stretch(folder_of(tmp_path), START, 1_000).lines
    assert [(line.raw, line.torn) for line in lines] == [(b"one", False), (b"tw", True), (b"three", False)]


@pytest.mark.parametrize("chunk", [1, 3, 4, 5, 7, 1_000])
def test_stretches_of_any_size_hold_each_line_once(tmp_path: Path, chunk: int) -> None:
    append(tmp_path, b"".join(b"line %d\n" % n for n in range(30)), segment=1)
    append(tmp_path, b"".join(b"line %d\n" % n for n in range(30, 50)), segment=2)
    found = [line.raw for one in read_all(folder_of(tmp_path), START, chunk) for line in one.lines]
    assert found == [b"line %d" % n for n in range(50)]


def test_a_segment_that_is_gone_is_passed_over(tmp_path: Path) -> None:
    append(tmp_path, b"five\n", segment=5)
    assert texts(folder_of(tmp_path), Place(2, 77)) == [b"five"]
    assert texts(tmp_path / "nowhere") == []


def test_a_file_that_was_cut_back_is_read_from_its_next_line(tmp_path: Path) -> None:
    append(tmp_path, b"a line that was written anew\nnext\n")
    lines = read_stretch(folder_of(tmp_path), Place(1, 10), 1_000).lines
    assert [(line.raw, line.torn) for line in lines] == [(b"t was written anew", True), (b"next", False)]


def test_what_has_no_line_ends_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger, "LONGEST_LINE_BYTES", 100)
    monkeypatch.setattr(ledger, "_STEP_BYTES", 64)
    append(tmp_path, b"x" * 1_000)
    with pytest.raises(StoreError, match="no ledger"):
        read_stretch(folder_of(tmp_path), START, 64)


@pytest.mark.parametrize(
    ("there", "noted", "expected"),
    [
        # All that was followed is there, and what comes next lies beyond.
        ({5: 100}, None, None),
        ({5: 120}, None, None),
        ({6: 0}, None, None),
        # It is gone, or older than what was followed.
        ({}, None, (6, 0)),
        ({5: 99}, None, (6, 0)),
        ({4: 500}, (4, 77), (6, 77)),
        ({}, (9, 77), (9, 77)),
    ],
)
def test_a_ledger_goes_on_beyond_what_was_followed(
    tmp_path: Path, there: dict[int, int], noted: tuple[int, int] | None, expected: tuple[int, int] | None
) -> None:
    folder = tmp_path / "ledger"
    for number, size in there.items():
        folder.mkdir(exist_ok=True)
        segment_path(folder, number).write_bytes(b"x" * size)
    lock = folder / "gateway.lock"
    if noted is not None:
        folder.mkdir(exist_ok=True)
        lock.write_text("{:020d} {:020d}".format(*noted))
    for _ in range(2):
        begin_beyond(folder, Place(5, 100))
        told = lock.read_text() if lock.exists() else None
        assert told == (None if expected is None else "{:020d} {:020d}".format(*expected))
    begin_beyond(tmp_path / "new", START)
    assert not (tmp_path / "new" / "gateway.lock").exists()


def test_other_files_are_no_segments(tmp_path: Path) -> None:
    append(tmp_path, b"one\n", segment=12)
    for name in ("1.jsonl", "00000001.json", "lock", "00000002.jsonl.old"):
        (folder_of(tmp_path) / name).touch()
    assert segments(folder_of(tmp_path)) == [12]

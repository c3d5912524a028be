from pathlib import Path

import pyarrow.parquet as pq
import pytest

from paceline.errors import StoreError
from paceline.store.ledger import START, Line, Place
from paceline.store.ledger_entry import Unread
from paceline.store.traffic import decode
from paceline.store.traffic_parts import (
    Part,
    UnreadLines,
    covering,
    followed_to,
    list_parts,
    merge,
    part_name,
    read_part,
    read_unread,
    write_part,
)
from tests.support.ledger import attempt, entry, line


def part(*ends: int) -> Part:
    start, end = Place(*ends[:2]), Place(*ends[2:])
    return Part(Path(part_name(start, end)), start, end)


def write(folder: Path, stretch: tuple[int, int, int], numbers: range, n_unread: int = 0) -> Part:
    segment, start, end = stretch
    lines = [
        Line(Place(segment, start + place), line(entry(number))[:-1]) for place, number in enumerate(numbers)
    ]
    unread = UnreadLines.of([Unread(segment, start, "it is not JSON")] * n_unread)
    return write_part(folder, decode(lines).table, Place(segment, start), Place(segment, end), unread)


def test_names_say_what_a_part_holds(tmp_path: Path) -> None:
    assert part_name(Place(3, 0), Place(3, 81_920)) == "00000003-0-81920.parquet"
    assert part_name(Place(3, 5), Place(12, 7)) == "00000003-5-00000012-7.parquet"
    for name in (
        "00000003-5-00000012-7.parquet",
        "00000003-0-5.parquet",
        ".00000003-0-5.parquet.tmp",
        "x.parquet",
    ):
        (tmp_path / name).touch()
    found = [(one.start, one.end) for one in list_parts(tmp_path)]
    assert found == [(Place(3, 0), Place(3, 5)), (Place(3, 5), Place(12, 7))]
    assert list_parts(tmp_path / "nowhere") == []


def test_pieces_of_a_merged_part_are_not_counted() -> None:
    whole, rest = part(1, 0, 2, 50), part(2, 50, 2, 60)
    pieces = [part(1, 0, 1, 100), part(1, 100, 1, 140), part(2, 0, 2, 50)]
    assert covering([*pieces, rest, whole]) == [whole, rest]
    assert covering([*pieces, rest]) == [*pieces, rest]
    assert followed_to([whole, rest]) == Place(2, 60)
    assert followed_to([]) == START


def test_parts_that_overlap_are_refused() -> None:
    with pytest.raises(StoreError, match="hold the same lines"):
        covering([part(1, 0, 1, 100), part(1, 50, 1, 150)])


def test_a_part_is_read_as_it_was_written(tmp_path: Path) -> None:
    several = entry(1, attempts=[attempt("a", served=False), attempt("b")])
    lines = [
        Line(Place(1, 0), line(entry(0))),
        Line(Place(1, 9), line(several)),
        Line(Place(1, 20), line(entry(2))),
    ]
    table = decode(lines).table
    made = write_part(tmp_path, table, Place(1, 0), Place(1, 30), UnreadLines(3, (Unread(1, 4, "why"),)))
    assert read_part(made).sort_by("ledger_offset").equals(table)
    assert read_unread(made) == UnreadLines(3, (Unread(1, 4, "why"),))
    # Rows with several attempts are apart, so that the others are read without `tried`.
    metadata = pq.read_metadata(made.path)
    assert [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)] == [2, 1]


def test_a_part_may_hold_no_rows(tmp_path: Path) -> None:
    made = write(tmp_path, (1, 0, 10), range(0), n_unread=1)
    assert read_part(made).num_rows == 0
    assert read_unread(made).n == 1


def test_merging_keeps_rows_and_unread_lines(tmp_path: Path) -> None:
    pieces = [
        write(tmp_path, (1, 0, 10), range(3), n_unread=1),
        write(tmp_path, (2, 0, 10), range(3, 5), n_unread=2),
    ]
    merged = merge(tmp_path, pieces)
    assert list_parts(tmp_path) == [merged]
    assert merged.path.name == "00000001-0-00000002-10.parquet"
    assert [str(id_)[-1] for id_ in read_part(merged, ["id"])["id"].to_pylist()] == ["0", "1", "2", "3", "4"]
    assert read_unread(merged).n == 3


def test_a_damaged_part_is_named(tmp_path: Path) -> None:
    made = write(tmp_path, (1, 0, 10), range(3))
    made.path.write_bytes(made.path.read_bytes()[:100])
    for read in (read_part, read_unread):
        with pytest.raises(StoreError, match=made.path.name):
            read(made)
    made.path.unlink()
    with pytest.raises(FileNotFoundError):
        read_part(made)

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from paceline.errors import StoreError
from paceline.store import parts
from paceline.store.schema import ROW_SCHEMA
from tests.support.rows import make_row, rows_table


def row(index: int, outcome: str = "ok", **columns: Any) -> dict[str, Any]:
    return make_row(request_index=index, outcome=outcome, **columns)


def test_first_complete_wins_and_rows_are_sorted() -> None:
    table = pa.Table.from_pylist(
        [
            row(2, "cancelled", segment=0),
            row(1, "http_error", segment=0),
            row(2, "ok", segment=1),
            row(1, "ok", segment=1),
            row(3, "cancelled", segment=0),
            row(3, "cancelled", segment=1),
            row(2, "ok", segment=2),
        ],
        schema=ROW_SCHEMA,
    )
    kept = parts.first_of_each(table)
    assert kept["request_index"].to_pylist() == [1, 2, 3]
    assert kept["outcome"].to_pylist() == ["http_error", "ok", "cancelled"]
    assert kept["segment"].to_pylist() == [0, 1, 0]


def test_sorted_rows_without_doubles_stay_as_they_are() -> None:
    table = rows_table([row(i) for i in range(1, 5)])
    assert parts.first_of_each(table) is table
    assert parts.first_of_each(ROW_SCHEMA.empty_table()).num_rows == 0


def test_a_part_keeps_every_column(tmp_path: Path) -> None:
    table = rows_table([row(1, text="ü 😀", error=None), row(2, event_ms=(), sent_ms=None)])
    parts.write_table(parts.part_path(tmp_path, "requests", 0), table)
    assert parts.read_parts(tmp_path, "requests", ROW_SCHEMA).equals(table)


def test_a_column_that_an_old_part_lacks_is_null(tmp_path: Path) -> None:
    table = rows_table([row(1)]).drop_columns(["server_timings"])
    parts.write_table(parts.part_path(tmp_path, "requests", 0), table)
    read = parts.read_parts(tmp_path, "requests", ROW_SCHEMA)
    assert read.column_names == ROW_SCHEMA.names
    assert read["server_timings"].to_pylist() == [None]


def test_merging_changes_no_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "MERGED_ROWS", 25)
    for number in range(7):
        table = rows_table([row(number * 10 + k + 1) for k in range(10)])
        parts.write_table(parts.part_path(tmp_path, "requests", number), table)
    before = parts.read_parts(tmp_path, "requests", ROW_SCHEMA)
    parts.merge_parts(tmp_path, "requests")
    assert len(parts.part_paths(tmp_path, "requests")) == 4
    assert parts.read_parts(tmp_path, "requests", ROW_SCHEMA).equals(before)
    assert parts.next_number(tmp_path, "requests") == 7


def test_a_merged_part_is_written_and_read_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "ROW_GROUP_ROWS", 20)
    for number in range(5):
        table = rows_table([row(number * 10 + k + 1) for k in range(10)])
        parts.write_table(parts.part_path(tmp_path, "requests", number), table)
    before = parts.read_parts(tmp_path, "requests", ROW_SCHEMA)
    parts.merge_parts(tmp_path, "requests")
    [merged] = parts.part_paths(tmp_path, "requests")
    metadata = pq.read_metadata(merged)
    assert [metadata.row_group(k).num_rows for k in range(metadata.num_row_groups)] == [20, 20, 10]
    assert parts.read_table(merged).equals(before)
    chosen = ["event_ns", "request_index"]
    assert parts.read_table(merged, chosen).equals(before.select(chosen))


def test_a_crash_while_merging_loses_and_doubles_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        parts.write_table(
            parts.part_path(tmp_path, "requests", number), rows_table([row(number + 1), row(number + 10)])
        )
    before = parts.first_of_each(parts.read_parts(tmp_path, "requests", ROW_SCHEMA))

    def killed(self: Path, missing_ok: bool = False) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", killed)
        with pytest.raises(KeyboardInterrupt):
            parts.merge_parts(tmp_path, "requests")
    assert parts.first_of_each(parts.read_parts(tmp_path, "requests", ROW_SCHEMA)).equals(before)


def test_a_damaged_part_is_named(tmp_path: Path) -> None:
    parts.part_path(tmp_path, "requests", 0).write_bytes(b"PAR1 and nothing more")
    with pytest.raises(StoreError, match=r"requests-00000\.parquet cannot be read"):
        parts.read_parts(tmp_path, "requests", ROW_SCHEMA)
    parts.write_table(parts.part_path(tmp_path, "requests", 1), rows_table([row(1)]))
    with pytest.raises(StoreError, match=r"requests-00000\.parquet cannot be read"):
        parts.merge_parts(tmp_path, "requests")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("name", "column", "why"),
    [
        ("event_ns", ["x"], r"event_ns is string, not list<item: int64 not null>"),
        ("request_index", pa.array([None], pa.uint64()), "request_index is null in 1 of its rows"),
        ("request_index", [-1], "request_index is int64, not uint64"),
        ("outcome", None, "it has no column outcome"),
    ],
)
def test_a_part_of_another_kind_is_named(tmp_path: Path, name: str, column: Any, why: str) -> None:
    table = rows_table([row(1)])
    place = table.schema.get_field_index(name)
    table = table.remove_column(place) if column is None else table.set_column(place, name, [column])
    pq.write_table(table, parts.part_path(tmp_path, "requests", 0))
    parts.write_table(parts.part_path(tmp_path, "requests", 1), rows_table([row(2)]))
    with pytest.raises(StoreError) as caught:
        parts.read_parts(tmp_path, "requests", ROW_SCHEMA)
    assert f"requests-00000.parquet is damaged: {why}" in caught.value.message
    with pytest.raises(StoreError):
        parts.read_parts(tmp_path, "requests", ROW_SCHEMA, [name])


def test_a_narrower_type_is_widened(tmp_path: Path) -> None:
    table = rows_table([row(1)])
    place = table.schema.get_field_index("end_ns")
    narrow = table.set_column(place, "end_ns", table["end_ns"].cast(pa.int32(), safe=False))
    pq.write_table(narrow, parts.part_path(tmp_path, "requests", 0))
    assert parts.read_parts(tmp_path, "requests", ROW_SCHEMA).schema.field("end_ns").type == pa.int64()


def test_files_of_other_names_are_no_parts(tmp_path: Path) -> None:
    (tmp_path / "requests-mine.parquet").write_bytes(b"x")
    assert parts.part_paths(tmp_path, "requests") == []
    assert parts.next_number(tmp_path, "requests") == 0


def test_of_a_job_that_was_begun_again_the_last_time_counts() -> None:
    table = rows_table(
        [
            row(0, session=0, step=0, segment=0),
            row(1024, session=1, step=0, segment=0),
            row(1025, "cancelled", session=1, step=1, segment=0),
            row(1024, session=1, step=0, segment=2),
            row(7, segment=0),
        ]
    )
    kept = parts.last_attempts(table)
    assert list(zip(kept["request_index"].to_pylist(), kept["segment"].to_pylist(), strict=True)) == [
        (0, 0),
        (1024, 2),
        (7, 0),
    ]
    plain = rows_table([row(1, segment=0), row(2, segment=1)])
    assert parts.last_attempts(plain) is plain

"""Parquet parts: numbered files of one kind in a run's folder, each written whole or not at all.

A row may be in two parts: after a crash while small parts were being merged, or when a request that was cut
off was made again by a resumed run. Readers drop the double.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from paceline.errors import StoreError
from paceline.store.atomic import replaced
from paceline.store.tiers import FAN, mergeable

CANCELLED = "cancelled"
# Instants grow by steps of milliseconds: their differences are a third of their size.
_DELTA_COLUMNS = ("event_ns",)
# How large a merged part may grow, and how much of it is in memory at a time.
MERGED_ROWS = 200_000
MERGED_BYTES = 256 * 1024 * 1024
ROW_GROUP_ROWS = 5_000
ROW_GROUP_BYTES = 4 * 1024 * 1024


def part_paths(folder: Path, kind: str) -> list[Path]:
    """The parts of `kind` (`requests`, `plan`) in order of writing."""
    return sorted(path for path in folder.glob(f"{kind}-*.parquet") if _number(path).isdecimal())


def part_path(folder: Path, kind: str, number: int) -> Path:
    """Where part `number` of `kind` lies."""
    return folder / f"{kind}-{number:05d}.parquet"


def next_number(folder: Path, kind: str) -> int:
    """The number of the next part."""
    paths = part_paths(folder, kind)
    return int(_number(paths[-1])) + 1 if paths else 0


def _number(path: Path) -> str:
    return path.stem.rpartition("-")[2]


def write_table(path: Path, table: pa.Table) -> None:
    """Write one Parquet file, whole or not at all. Raises StoreError."""
    with replaced(path) as temporary, _writer(temporary, table.schema) as writer:
        writer.write_table(table)


def _writer(path: Path, schema: pa.Schema) -> pq.ParquetWriter:
    deltas = [name for name in _DELTA_COLUMNS if name in schema.names]
    plain: Any = [name for name in schema.names if name not in deltas]
    return pq.ParquetWriter(
        path,
        schema,
        compression="zstd",
        use_dictionary=plain,
        column_encoding={f"{name}.list.element": "DELTA_BINARY_PACKED" for name in deltas} or None,
    )


def read_table(path: Path, columns: Sequence[str] | None = None) -> pa.Table:
    """Read one Parquet file. Raises StoreError when it is damaged or cannot be read."""
    with _readable(path), pq.ParquetFile(path, pre_buffer=False) as file:
        present = file.schema_arrow
        wanted = [name for name in (present.names if columns is None else columns) if name in present.names]
        empty = pa.schema([present.field(name) for name in wanted]).empty_table()
        # Reading all row groups at once takes several times the memory of what is read.
        groups = [
            file.read_row_group(number, columns=wanted, use_threads=False).select(wanted)
            for number in range(file.num_row_groups)
        ]
        return pa.concat_tables([empty, *groups])


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise damaged(path, f"cannot be read: {reason}") from error


def damaged(path: Path, why: str) -> StoreError:
    """The error for a Parquet file that does not hold what it must."""
    return StoreError(
        f"{path} {why}",
        "restore it from a backup, or delete the file: the rest of the run stays readable",
    )


def fitted(path: Path, table: pa.Table, schema: pa.Schema, columns: Sequence[str] | None = None) -> pa.Table:
    """What was read from `path`, in the types of `schema`; `columns`: those that were asked for.

    Raises StoreError for a column of another kind, and for one that is missing or null and may not be.
    """
    for name in schema.names if columns is None else columns:
        field = schema.field(name)
        place = table.schema.get_field_index(name)
        if place < 0:
            if not field.nullable:
                raise damaged(path, f"is damaged: it has no column {name}")
            continue
        column = table.column(place)
        if column.null_count and not field.nullable:
            raise damaged(path, f"is damaged: {name} is null in {column.null_count:,} of its rows")
        if column.type != field.type:
            try:
                table = table.set_column(place, field, column.cast(field.type))
            except pa.ArrowException:
                raise damaged(path, f"is damaged: {name} is {column.type}, not {field.type}") from None
    return table


def read_parts(folder: Path, kind: str, schema: pa.Schema, columns: Sequence[str] | None = None) -> pa.Table:
    """All parts of `kind` one after the other, doubles included; `columns`: only these.

    A column of `schema` that no part has is null; further columns of the parts are kept. Raises StoreError.
    """
    wanted = [schema.field(name) for name in (columns if columns is not None else schema.names)]
    empty = pa.schema(wanted).empty_table()
    tables = [fitted(path, read_table(path, columns), schema, columns) for path in part_paths(folder, kind)]
    if not tables:
        return empty
    whole = pa.concat_tables([empty, *tables], promote_options="permissive")
    return whole.select(
        [*empty.column_names, *(n for n in whole.column_names if n not in empty.column_names)]
    )


def first_of_each(table: pa.Table) -> pa.Table:
    """One row a `request_index`, sorted by it: the first that is complete, or else the first.

    A row of outcome `cancelled` is not complete: its request was made again by the resumed run.
    """
    index = _numpy(table["request_index"]).astype(np.uint64)
    incomplete = np.zeros(len(index), np.bool_)
    if "outcome" in table.column_names:
        incomplete = _numpy(pc.equal(table["outcome"], pa.scalar(CANCELLED))).astype(np.bool_)
    if len(index) == 0 or (not incomplete.any() and bool(np.all(index[1:] > index[:-1]))):
        return table
    order = np.lexsort((np.arange(len(index)), incomplete, index))
    ordered = index[order]
    keep = np.concatenate([[True], ordered[1:] != ordered[:-1]])
    return _taken(table, pa.array(order[keep]))


def last_attempts(table: pa.Table) -> pa.Table:
    """Of a job that was begun again by a resumed run, the rows of the last time alone.

    Its first calls had been answered when it was cut off, so it was made anew from its beginning.
    """
    whole = table["session"].drop_null()
    if len(whole) == 0:
        return table
    segment = _numpy(table["segment"]).astype(np.int64)
    if len(np.unique(segment)) < 2:
        return table
    has_job = _numpy(pc.is_valid(table["session"])).astype(np.bool_)
    numbers: Any = table["session"]
    session = _numpy(numbers.fill_null(0)).astype(np.uint64)
    jobs, place = np.unique(session, return_inverse=True)
    last = np.full(len(jobs), -1, np.int64)
    np.maximum.at(last, place[has_job], segment[has_job])
    old = has_job & (segment < last[place])
    return _taken(table, pa.array(np.flatnonzero(~old))) if old.any() else table


def _taken(table: pa.Table, places: "pa.Array[Any]") -> pa.Table:
    """These rows. One column after the other, so that little is in memory twice."""
    columns = {}
    for name in table.column_names:
        columns[name] = table[name].take(places)
        table = table.drop_columns([name])
    return pa.table(columns)


def merge_parts(folder: Path, kind: str) -> None:
    """Merge many small parts into few larger ones. Raises StoreError.

    The merged part takes the name of its first piece; only then are the other pieces removed, so a crash
    leaves doubles and loses nothing.
    """
    for group in _groups(part_paths(folder, kind)):
        _merge_group(group)


def merge_small_parts(folder: Path, kind: str) -> None:
    """The same for a run that goes on for long: no row is rewritten often. Raises StoreError."""
    paths = part_paths(folder, kind)
    if len(paths) < FAN:
        return
    rows = []
    for path in paths:
        with _readable(path):
            rows.append(pq.read_metadata(path).num_rows)
    for places in mergeable(rows, MERGED_ROWS):
        _merge_group(paths[places.start : places.stop])


def _merge_group(group: list[Path]) -> None:
    with _readable(group[0]):
        schema = pa.unify_schemas([pq.read_schema(path) for path in group], promote_options="permissive")
    with replaced(group[0]) as temporary, _writer(temporary, schema) as writer:
        for table in _row_groups(group, schema):
            writer.write_table(table)
    for path in group[1:]:
        path.unlink(missing_ok=True)


def _row_groups(paths: list[Path], schema: pa.Schema) -> Iterator[pa.Table]:
    """The rows of the parts in pieces that fit the memory."""
    waiting = [schema.empty_table()]
    for path in paths:
        waiting.append(read_table(path))
        rows, size = sum(table.num_rows for table in waiting), sum(table.nbytes for table in waiting)
        if rows >= ROW_GROUP_ROWS or size >= ROW_GROUP_BYTES or path == paths[-1]:
            whole = pa.concat_tables(waiting, promote_options="permissive").select(schema.names)
            waiting = [schema.empty_table()]
            yield whole.cast(schema)


def _groups(paths: list[Path]) -> Iterator[list[Path]]:
    """Neighbouring parts that may become one, at least two at a time."""
    group: list[Path] = []
    rows = size = 0
    for path in paths:
        with _readable(path):
            metadata = pq.read_metadata(path)
        part_rows = metadata.num_rows
        part_size = sum(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))
        if group and (rows + part_rows > MERGED_ROWS or size + part_size > MERGED_BYTES):
            if len(group) > 1:
                yield group
            group, rows, size = [], 0, 0
        group.append(path)
        rows += part_rows
        size += part_size
    if len(group) > 1:
        yield group


def _numpy(column: Any) -> Any:
    return (column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column).to_numpy(
        zero_copy_only=False
    )

"""The files of `traffic/requests`: the name of each says which bytes of the ledger it holds.

`SEGMENT-FROM-TO.parquet` holds bytes FROM to TO of a segment; `SEGMENT-FROM-SEGMENT-TO.parquet`, of merged
parts, from there to byte TO of the second segment. So what was followed is known without any other record,
and a crash at any instant leaves each line in one part, or in the next one: a part whose pieces are still
there is used in their place.
"""

import json
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from paceline.errors import StoreError
from paceline.store.atomic import replaced, store_error
from paceline.store.ledger import START, Place
from paceline.store.ledger_entry import Unread
from paceline.store.traffic_schema import SCHEMA_NAME, TRAFFIC_SCHEMA

_NAME = re.compile(r"(\d{8})-(\d+)-(?:(\d{8})-)?(\d+)\.parquet")
_ROW_GROUP_ROWS = 122_880
_META_SCHEMA, _META_UNREAD, _META_BAD = b"paceline.schema", b"paceline.unread", b"paceline.unread_lines"
# Of so many lines that could not be read it is known which they were; of more, how many.
_MOST_NAMED = 100


@dataclass(frozen=True)
class Part:
    """One file: the lines from `start` to `end`."""

    path: Path
    start: Place
    end: Place


@dataclass(frozen=True)
class UnreadLines:
    """Lines that could not be read: how many, and which, as far as that was kept."""

    n: int = 0
    named: tuple[Unread, ...] = ()

    def __add__(self, other: "UnreadLines") -> "UnreadLines":
        return UnreadLines(self.n + other.n, (*self.named, *other.named)[:_MOST_NAMED])

    @classmethod
    def of(cls, found: Sequence[Unread]) -> "UnreadLines":
        """All of `found`."""
        return cls(len(found), tuple(found[:_MOST_NAMED]))


def part_name(start: Place, end: Place) -> str:
    """The file's name."""
    second = "" if end.segment == start.segment else f"{end.segment:08d}-"
    return f"{start.segment:08d}-{start.offset}-{second}{end.offset}.parquet"


def list_parts(folder: Path) -> list[Part]:
    """All parts that there are, in order; pieces of a merged one may be among them. Raises StoreError."""
    try:
        paths = list(folder.iterdir())
    except FileNotFoundError:
        return []
    except OSError as error:
        raise store_error(f"cannot read {folder}", error) from error
    found = []
    for path in paths:
        name = _NAME.fullmatch(path.name)
        if name:
            first, start, second, end = name.groups()
            found.append(Part(path, Place(int(first), int(start)), Place(int(second or first), int(end))))
    return sorted(found, key=lambda part: (part.start, part.end))


def covering(parts: Iterable[Part]) -> list[Part]:
    """Those parts that hold each line once, in order: of a merged part and its pieces, the merged one.

    Raises StoreError when two parts overlap in any other way.
    """
    kept: list[Part] = []
    for part in sorted(parts, key=lambda one: (one.start, -one.end.segment, -one.end.offset)):
        last = kept[-1] if kept else None
        if last is None or part.start >= last.end:
            kept.append(part)
        elif part.end > last.end:
            raise StoreError(
                f"{part.path} and {last.path.name} hold the same lines of the ledger",
                "restore the folder from a backup, or move one of the two away",
            )
    return kept


def followed_to(parts: Sequence[Part]) -> Place:
    """Where the last of `covering` parts ends."""
    return parts[-1].end if parts else START


def write_part(
    folder: Path, table: pa.Table, start: Place, end: Place, unread: UnreadLines | None = None
) -> Part:
    """Write the lines from `start` to `end`, whole or not at all. Raises StoreError."""
    part = Part(folder / part_name(start, end), start, end)
    unread = unread or UnreadLines()
    metadata = {
        _META_SCHEMA: SCHEMA_NAME,
        _META_BAD: str(unread.n),
        _META_UNREAD: json.dumps([asdict(one) for one in unread.named]),
    }
    several: Any = pc.greater(table["attempts"], pa.scalar(1, pa.uint16()))
    schema = table.schema.with_metadata(metadata)
    with replaced(part.path) as temporary, pq.ParquetWriter(temporary, schema, compression="zstd") as writer:
        # Rows with several attempts have row groups of their own, so that queries read `tried` only there.
        for rows in (table.filter(pc.invert(several)), table.filter(several)):
            writer.write_table(rows.replace_schema_metadata(metadata), row_group_size=_ROW_GROUP_ROWS)
    return part


def read_part(part: Part, columns: Sequence[str] | None = None) -> pa.Table:
    """The rows of a part, in `TRAFFIC_SCHEMA`; `columns`: only these.

    Raises StoreError, and FileNotFoundError where it was merged meanwhile.
    """
    wanted = list(TRAFFIC_SCHEMA.names if columns is None else columns)
    try:
        with pq.ParquetFile(part.path, pre_buffer=False) as file:
            table = file.read(columns=wanted, use_threads=False)
        schema = pa.schema([TRAFFIC_SCHEMA.field(name) for name in wanted])
        return table.select(wanted).replace_schema_metadata(None).cast(schema)
    except FileNotFoundError:
        raise
    except (pa.ArrowException, OSError, KeyError, ValueError) as error:
        raise _damaged(part.path, error) from error


def read_unread(part: Part) -> UnreadLines:
    """The lines of its stretch that a part does not hold. Raises StoreError, FileNotFoundError."""
    try:
        metadata = pq.read_schema(part.path).metadata or {}
        named = tuple(Unread(**one) for one in json.loads(metadata.get(_META_UNREAD, b"[]")))
        return UnreadLines(int(metadata.get(_META_BAD, b"0")), named)
    except FileNotFoundError:
        raise
    except (pa.ArrowException, OSError, ValueError, TypeError) as error:
        raise _damaged(part.path, error) from error


def rows_of(part: Part) -> int:
    """How many requests a part holds. Raises StoreError."""
    try:
        return pq.read_metadata(part.path).num_rows
    except (pa.ArrowException, OSError) as error:
        raise _damaged(part.path, error) from error


def merge(folder: Path, group: Sequence[Part]) -> Part:
    """Make one part of neighbours; only then are they removed. Raises StoreError when it is not made.

    One that cannot be removed is a piece of it, as after a crash.
    """
    table = pa.concat_tables([read_part(part) for part in group])
    unread = sum((read_unread(part) for part in group), UnreadLines())
    merged = write_part(folder, table, group[0].start, group[-1].end, unread)
    for part in group:
        if part.path != merged.path:
            with suppress(StoreError):
                forget(part)
    return merged


def forget(part: Part) -> None:
    """Remove a part. Raises StoreError."""
    try:
        part.path.unlink(missing_ok=True)
    except OSError as error:
        raise store_error(f"cannot remove {part.path}", error) from error


def _damaged(path: Path, error: Exception) -> StoreError:
    reason = (str(error).splitlines() or [type(error).__name__])[0]
    return StoreError(
        f"{path} cannot be read: {reason}",
        "restore it from a backup, or delete it: its requests are missing from usage then",
    )

"""What the gateway's requests were, each exactly once: the parts that are stored, and the ledger's rest."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import pyarrow as pa

from paceline.errors import StoreError
from paceline.store.atomic import make_folder, sweep
from paceline.store.ledger import Line, Place, begin_beyond, read_all
from paceline.store.ledger_entry import Unread, read_entry
from paceline.store.lock import WriterLock
from paceline.store.paths import home, ledger_folder, traffic_folder
from paceline.store.tiers import mergeable
from paceline.store.traffic_parts import (
    Part,
    UnreadLines,
    covering,
    followed_to,
    forget,
    list_parts,
    merge,
    read_unread,
    rows_of,
    write_part,
)
from paceline.store.traffic_rows import traffic_row
from paceline.store.traffic_schema import TRAFFIC_SCHEMA

# A merged part is in memory whole.
MERGED_ROWS = 250_000
# While a follower merges parts, a reader that has listed them may find some gone; then it lists them anew.
_TRIES = 20
_T = TypeVar("_T")


@dataclass(frozen=True)
class Decoded:
    """Lines of the ledger, read. `entries[k]` began at `places[k]` and is row k of `table`."""

    entries: list[dict[str, Any]]
    places: list[Place]
    table: pa.Table
    unread: list[Unread]


def decode(lines: list[Line]) -> Decoded:
    """Read lines; one that cannot be read is named, and does not stop the rest."""
    entries, places, rows, unread = [], [], [], []
    for line in lines:
        try:
            if line.torn:
                raise ValueError("it was cut off")
            entry = read_entry(line.raw)
            row = traffic_row(entry, line.place)
        except (ValueError, TypeError, KeyError, IndexError, OverflowError) as error:
            unread.append(Unread(line.place.segment, line.place.offset, why(error)))
            continue
        entries.append(entry)
        places.append(line.place)
        rows.append(row)
    try:
        table = pa.Table.from_pylist(rows, schema=TRAFFIC_SCHEMA)
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        return _one_by_one(lines) if len(lines) > 1 else _none(lines[0])
    return Decoded(entries, places, table, unread)


def _one_by_one(lines: list[Line]) -> Decoded:
    """For lines of which one holds a value that no column takes."""
    found = [decode([line]) for line in lines]
    return Decoded(
        [entry for one in found for entry in one.entries],
        [place for one in found for place in one.places],
        pa.concat_tables([one.table for one in found]),
        [unread for one in found for unread in one.unread],
    )


def _none(line: Line) -> Decoded:
    unread = Unread(line.place.segment, line.place.offset, "a number in it is out of range")
    return Decoded([], [], TRAFFIC_SCHEMA.empty_table(), [unread])


def why(error: Exception) -> str:
    """In words, without what the line holds."""
    return (
        str(error) if type(error) is ValueError else f"it does not hold what it must ({type(error).__name__})"
    )


@dataclass(frozen=True)
class Traffic:
    """All requests at one instant: `parts` and, of what no part holds yet, `rest`. Each is in one of them."""

    parts: list[Part]
    rest: pa.Table
    unread: UnreadLines


def read_traffic(use: Callable[[Traffic], _T], *, at: Path | None = None) -> _T:
    """What `use` makes of all requests, right to the last whole line of the ledger; `at`: another home.

    `use` is called again when a part went away under it, since it was merged. Raises StoreError.
    """
    where = at or home()
    for _ in range(_TRIES):
        parts = covering(list_parts(traffic_folder(where)))
        try:
            unread = sum((read_unread(part) for part in parts), UnreadLines())
            tables = [TRAFFIC_SCHEMA.empty_table()]
            for stretch in read_all(ledger_folder(where), followed_to(parts)):
                decoded = decode(stretch.lines)
                tables.append(decoded.table)
                unread += UnreadLines.of(decoded.unread)
            return use(Traffic(parts, pa.concat_tables(tables), unread))
        except FileNotFoundError:
            continue
    raise StoreError(f"the files in {traffic_folder(where)} keep changing", "try again")


def keep_ahead(at: Path) -> None:
    """Have the ledger go on beyond what was followed, also where it was removed. Raises StoreError.

    Only while no data plane runs.
    """
    begin_beyond(ledger_folder(at), followed_to(covering(list_parts(traffic_folder(at)))))


class TrafficWriter:
    """The one writer of a home's traffic. Raises StoreError when another process is."""

    def __init__(self, at: Path) -> None:
        self.folder = traffic_folder(at)
        make_folder(self.folder)
        self._lock = WriterLock(self.folder, "the gateway's traffic")
        try:
            sweep(self.folder)
            found = list_parts(self.folder)
            self._parts = covering(found)
            # Pieces of a merged part, which a crash left.
            for part in found:
                if part not in self._parts:
                    forget(part)
            self._rows = [rows_of(part) for part in self._parts]
            self._unread = [read_unread(part) for part in self._parts]
        except BaseException:
            self._lock.release()
            raise

    @property
    def end(self) -> Place:
        """Where the ledger goes on."""
        return followed_to(self._parts)

    def add(self, table: pa.Table, end: Place, unread: UnreadLines) -> None:
        """Write the lines from `self.end` to `end` as a part, and merge small parts.

        Raises StoreError, and then it has written nothing. Parts that cannot be merged stay as they are.
        """
        start = self.end
        told = [int(number) for number in table["ledger_segment"][:1].to_numpy()]
        first = min([*told, *(one.segment for one in unread.named[:1])], default=0)
        if first > start.segment:
            # The segment before had been followed to its end.
            start = Place(first, 0)
        self._parts.append(write_part(self.folder, table, start, end, unread))
        self._rows.append(table.num_rows)
        self._unread.append(unread)
        # The lines are written: an error would bring them a second time. The next part brings the next try.
        with suppress(StoreError, FileNotFoundError):
            self._merge()

    def unread_segments(self) -> set[int]:
        """Segments that hold lines that could not be read."""
        found: set[int] = set()
        for part, unread in zip(self._parts, self._unread, strict=True):
            found |= {one.segment for one in unread.named}
            if unread.n > len(unread.named):
                found |= set(range(part.start.segment, part.end.segment + 1))
        return found

    def close(self) -> None:
        """Let go of the lock."""
        self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _merge(self) -> None:
        for places in reversed(mergeable(self._rows, MERGED_ROWS)):
            mine = slice(places.start, places.stop)
            merged = merge(self.folder, self._parts[mine])
            self._parts[mine] = [merged]
            self._rows[mine] = [sum(self._rows[mine])]
            self._unread[mine] = [sum(self._unread[mine], UnreadLines())]

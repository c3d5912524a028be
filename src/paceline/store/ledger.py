"""The gateway's ledger as it lies on the disk: numbered segments of lines, appended by the data plane alone.

A line counts once it ends: what stands behind the last line end is still being written. In a segment that has
a successor nothing is written any more.
"""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from paceline.errors import StoreError
from paceline.store.atomic import store_error

LOCK_NAME = "gateway.lock"
_NAME = re.compile(r"(\d{8})\.jsonl")
# No line is so long; what is, is no line.
LONGEST_LINE_BYTES = 256 * 1024 * 1024
# The end of a line is looked for in such steps.
_STEP_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True, order=True)
class Place:
    """A byte of the ledger: `offset` of segment `segment`."""

    segment: int
    offset: int


START = Place(0, 0)


@dataclass(frozen=True)
class Line:
    """A line without its end. `torn`: it has none, and gets none any more; or its beginning is gone."""

    place: Place
    raw: bytes
    torn: bool = False


@dataclass(frozen=True)
class Stretch:
    """Lines that follow each other, up to `end`."""

    lines: list[Line]
    end: Place
    n_bytes: int


def segments(folder: Path) -> list[int]:
    """Numbers of the segments that there are, in order."""
    try:
        names = [_NAME.fullmatch(path.name) for path in folder.iterdir()]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise store_error(f"cannot read {folder}", error) from error
    return sorted(int(name.group(1)) for name in names if name)


def segment_path(folder: Path, number: int) -> Path:
    """Where a segment lies."""
    return folder / f"{number:08d}.jsonl"


def begin_beyond(folder: Path, end: Place) -> None:
    """Have the next segment lie beyond `end`, to which the ledger was followed. Raises StoreError.

    Where the ledger was removed, or an older one put in its place, its numbers would come a second time, and
    what is in them would be taken for followed. Only while no data plane runs.
    """
    path = segment_path(folder, end.segment)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if max(segments(folder), default=0) > end.segment:
            return
        if end == START or (path.exists() and path.stat().st_size >= end.offset):
            return
        # As the data plane notes it: the last segment, and the first attempt in it.
        handle = os.open(folder / LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            noted = re.fullmatch(rb"(\d{20}) (\d{20})", os.pread(handle, 41, 0))
            segment, attempt = (int(noted[1]), int(noted[2])) if noted else (0, 0)
            os.pwrite(handle, b"%020d %020d" % (max(segment, end.segment + 1), attempt), 0)
        finally:
            os.close(handle)
    except OSError as error:
        raise store_error(f"cannot write {folder}", error) from error


def read_stretch(folder: Path, start: Place, most_bytes: int) -> Stretch:
    """The whole lines from `start` on, about `most_bytes` of them. Raises StoreError.

    A segment that is gone is passed over: it had been followed to its end.
    """
    found: list[Line] = []
    end, room = start, most_bytes
    # Listed before they are read: all but the last of them are whole then.
    numbers = [number for number in segments(folder) if number >= start.segment]
    for number in numbers:
        at = start if number == start.segment else Place(number, 0)
        whole = number != numbers[-1]
        lines, end, at_end = _read_segment(segment_path(folder, number), at, room, whole=whole)
        found += lines
        room -= end.offset - at.offset
        if room <= 0 or not at_end:
            break
    return Stretch(found, end, most_bytes - room)


def read_all(folder: Path, start: Place, chunk_bytes: int = 32 * 1024 * 1024) -> Iterator[Stretch]:
    """The whole lines from `start` to the end, in stretches. Raises StoreError."""
    while True:
        stretch = read_stretch(folder, start, chunk_bytes)
        if stretch.end == start:
            return
        yield stretch
        start = stretch.end


def _read_segment(
    path: Path, start: Place, most_bytes: int, *, whole: bool
) -> tuple[list[Line], Place, bool]:
    """Lines of one segment, where they end, and whether that is its end for now."""
    try:
        with path.open("rb") as file:
            aligned = _is_line_start(file, start.offset)
            file.seek(start.offset)
            data = file.read(most_bytes)
            at_end = len(data) < most_bytes
            while not at_end and b"\n" not in data:
                if len(data) > LONGEST_LINE_BYTES:
                    raise StoreError(
                        f"{path} is no ledger: a line at byte {start.offset:,} has more than "
                        f"{LONGEST_LINE_BYTES // 2**20} MiB",
                        "move the file away",
                    )
                more = file.read(_STEP_BYTES)
                data += more
                at_end = len(more) < _STEP_BYTES
    except FileNotFoundError:
        return [], start, True
    except OSError as error:
        raise store_error(f"cannot read {path}", error) from error
    lines, end = _cut(data, start, aligned=aligned, last_is_torn=whole and at_end)
    return lines, end, at_end


def _is_line_start(file: BinaryIO, offset: int) -> bool:
    """Whether a line begins there. Where a machine lost power, the file may be shorter than it was."""
    if offset == 0:
        return True
    file.seek(offset - 1)
    return file.read(1) in (b"\n", b"")


def _cut(data: bytes, start: Place, *, aligned: bool, last_is_torn: bool) -> tuple[list[Line], Place]:
    """The lines of `data`, which begins at `start`, and where they end."""
    lines = []
    offset = 0
    while (stop := data.find(b"\n", offset)) >= 0:
        torn = not aligned and offset == 0
        lines.append(Line(Place(start.segment, start.offset + offset), data[offset:stop], torn))
        offset = stop + 1
    if last_is_torn and offset < len(data):
        lines.append(Line(Place(start.segment, start.offset + offset), data[offset:], torn=True))
        offset = len(data)
    return lines, Place(start.segment, start.offset + offset)

"""Prompts of plain text: a prompt a line, or prompts parted by blank lines."""

from collections.abc import Iterator
from pathlib import Path

from paceline.workloads.datasets.container import Bytes, Scanned
from paceline.workloads.datasets.lines import MAX_ROW_BYTES, Line, decoded, lines_of, too_long
from paceline.workloads.datasets.spec import Format
from paceline.workloads.read_report import RowError


class TextLines:
    """Each line that is not blank is a prompt."""

    format: Format = "text"

    def __init__(self, path: Path) -> None:
        self._bytes = Bytes(path)

    def scan(self) -> Iterator[Scanned]:
        """All prompts; a blank line is no row."""
        self._bytes.file.seek(0)
        for line in lines_of(self._bytes.file):
            if line.data is None or line.data.strip():
                yield Scanned(f"line {line.number}", line.at, line.size, _value(line))

    def fetch(self, at: int, size: int) -> str:
        """The prompt at a place."""
        return decoded(self._bytes.span(at, size))


class TextBlocks:
    """Each run of lines that are not blank is a prompt; its lines end with LF."""

    format: Format = "blocks"

    def __init__(self, path: Path) -> None:
        self._bytes = Bytes(path)

    def scan(self) -> Iterator[Scanned]:
        """All prompts in order."""
        self._bytes.file.seek(0)
        block: list[bytes] = []
        first: Line | None = None
        end = 0
        for line in lines_of(self._bytes.file):
            if line.data is None or line.data.strip():
                first = first or line
                end = line.at + line.size
                # Of a block that is too long nothing more is held.
                if line.data is not None and end - first.at <= MAX_ROW_BYTES:
                    block.append(line.data)
            elif first is not None:
                yield _block(first, end, block)
                block, first = [], None
        if first is not None:
            yield _block(first, end, block)

    def fetch(self, at: int, size: int) -> str:
        """The prompt at a place."""
        return decoded(self._bytes.span(at, size)).replace("\r\n", "\n")


def _value(line: Line) -> str | RowError:
    if line.data is None:
        return too_long(line.size)
    try:
        return decoded(line.data)
    except RowError as fault:
        return fault


def _block(first: Line, end: int, lines: list[bytes]) -> Scanned:
    size = end - first.at
    value: str | RowError
    try:
        value = too_long(size) if size > MAX_ROW_BYTES else decoded(b"\n".join(lines))
    except RowError as fault:
        value = fault
    return Scanned(f"line {first.number}", first.at, size, value)

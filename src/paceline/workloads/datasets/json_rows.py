"""Rows of JSON: an object a line, or one array of objects."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from paceline.errors import ConfigError
from paceline.workloads.data_file import UTF8_BOM
from paceline.workloads.datasets.container import Bytes, Scanned
from paceline.workloads.datasets.lines import MAX_ROW_BYTES, decoded, lines_of, too_long
from paceline.workloads.datasets.spec import Format
from paceline.workloads.read_report import RowError

_CHUNK_BYTES = 4 * 1024 * 1024
_SPACE = " \t\r\n"


class JsonLines:
    """Each line that is not blank is an object, or a string: a prompt."""

    format: Format = "jsonl"

    def __init__(self, path: Path) -> None:
        self._bytes = Bytes(path)

    def scan(self) -> Iterator[Scanned]:
        """All rows; a blank line is no row."""
        self._bytes.file.seek(0)
        for line in lines_of(self._bytes.file):
            where = f"line {line.number}"
            if line.data is None:
                yield Scanned(where, line.at, line.size, too_long(line.size))
            elif line.data.strip():
                yield Scanned(where, line.at, line.size, _parsed_or_fault(line.data))

    def fetch(self, at: int, size: int) -> Any:
        """The row at a place."""
        return parsed(self._bytes.span(at, size))


class JsonArray:
    """One array, of which each element is a row. The array is read piece by piece, never whole."""

    format: Format = "json"

    def __init__(self, path: Path) -> None:
        self._bytes = Bytes(path)

    def scan(self) -> Iterator[Scanned]:
        """All elements; ConfigError where the array itself is broken, since then no next one can be found."""
        cursor = _Cursor(self._bytes)
        cursor.expect("[")
        number = 0
        if cursor.peek() == "]":
            return
        while True:
            number += 1
            start = cursor.peek_at()
            size = cursor.element(number)
            where = f"element {number}"
            if size > MAX_ROW_BYTES:
                yield Scanned(where, start, size, too_long(size))
            else:
                yield Scanned(where, start, size, _parsed_or_fault(self._bytes.span(start, size)))
            if cursor.expect(",]") == "]":
                return

    def fetch(self, at: int, size: int) -> Any:
        """The element at a place."""
        return parsed(self._bytes.span(at, size))


class _Cursor:
    """A place in a JSON file of any size.

    Bytes are read as Latin-1, so that a character is a byte and a place in the text is a place in the file;
    what is between the quotes does not matter here.
    """

    def __init__(self, data: Bytes) -> None:
        self._data = data
        self._decoder = json.JSONDecoder(strict=False)
        self._text = ""
        self._begin = 0
        self._place = 0
        data.file.seek(0)
        head = data.file.read(len(UTF8_BOM))
        if head == UTF8_BOM:
            self._begin = len(head)
        else:
            data.file.seek(0)

    def peek(self) -> str:
        """The next character that is no white space; "" at the end."""
        while True:
            while self._place < len(self._text) and self._text[self._place] in _SPACE:
                self._place += 1
            if self._place < len(self._text) or not self._more():
                return self._text[self._place : self._place + 1]

    def peek_at(self) -> int:
        """The byte of the next character that is no white space."""
        self.peek()
        return self._begin + self._place

    def expect(self, characters: str) -> str:
        """Step over one of these."""
        found = self.peek()
        if not found or found not in characters:
            wanted = " or ".join(f"`{one}`" for one in characters)
            shown = f"not {found!r}" if found else "and the file ends"
            self._broken(f"there should be {wanted}, {shown}")
        self._place += 1
        return found

    def element(self, number: int) -> int:
        """Step over a value; its size in bytes."""
        while True:
            try:
                _, end = self._decoder.raw_decode(self._text, self._place)
            except RecursionError:
                self._broken(f"element {number} is nested too deeply")
            except ValueError as error:
                # What is not yet read may be what is missing.
                if len(self._text) - self._place <= 2 * MAX_ROW_BYTES and self._more():
                    continue
                self._broken(f"element {number}: {getattr(error, 'msg', error)}")
            size = end - self._place
            # A number at the end of what was read may go on.
            if end == len(self._text) and self._more():
                continue
            self._place += size
            return size

    def _more(self) -> bool:
        """Read on; at least as much as is held, so that a long element costs a few passes only."""
        held = self._text[self._place :]
        data = self._data.file.read(max(_CHUNK_BYTES, len(held)))
        self._begin += self._place
        self._text = held + data.decode("latin-1")
        self._place = 0
        return bool(data)

    def _broken(self, fault: str) -> None:
        at = self._begin + self._place
        self._data.file.seek(0)
        line = 1 + sum(
            self._data.span(start, min(_CHUNK_BYTES, at - start)).count(b"\n")
            for start in range(0, at, _CHUNK_BYTES)
        )
        raise ConfigError(
            f"data {self._data.path}: is no JSON array: line {line}, byte {at + 1}: {fault}",
            "mend the file, or write a row a line (JSONL), where a broken row costs no other",
        )


def parsed(data: bytes) -> Any:
    """The value of a piece of JSON. Raises RowError."""
    try:
        return json.loads(decoded(data))
    except RecursionError:
        raise RowError("not JSON", "nested too deeply") from None
    except json.JSONDecodeError as error:
        raise RowError("not JSON", f"{error.msg} at column {error.colno}") from None
    except ValueError as error:
        raise RowError("not JSON", str(error).partition(";")[0]) from None


def _parsed_or_fault(data: bytes) -> Any:
    try:
        return parsed(data)
    except RowError as fault:
        return fault

"""Rows of a CSV file with a header; values may be quoted and have line breaks in them."""

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from paceline.errors import ConfigError
from paceline.workloads.data_file import UTF8_BOM
from paceline.workloads.datasets.container import Bytes, Scanned
from paceline.workloads.datasets.lines import MAX_ROW_BYTES
from paceline.workloads.datasets.spec import Format
from paceline.workloads.read_report import RowError, shown

_DELIMITERS = {",": "commas", "\t": "tabs", ";": "semicolons"}


class CsvRows:
    """Rows as dictionaries of strings. Raises ConfigError for a header that names no columns.

    The delimiter is the one that the header has most of.
    """

    format: Format = "csv"

    def __init__(self, path: Path) -> None:
        # The library's own limit is 128 KiB a value; rows are bounded here.
        csv.field_size_limit(MAX_ROW_BYTES)
        self._bytes = Bytes(path)
        self._path = path
        head = self._bytes.file.readline(MAX_ROW_BYTES).decode("utf-8", "replace")
        self._delimiter = max(_DELIMITERS, key=head.count)
        self.delimiter_name = _DELIMITERS[self._delimiter]
        header = next(_Records(path, self._bytes, self._delimiter), None)
        if header is None or isinstance(header.value, RowError):
            fault = "it has none" if header is None else str(header.value)
            raise ConfigError(
                f"data {path}: the header cannot be read: {fault}", "a CSV file begins with one"
            )
        self.columns = [name.strip() for name in header.value]
        twice = sorted(name for name, times in Counter(self.columns).items() if times > 1)
        if twice or not any(self.columns):
            fault = f"names {', '.join(map(shown, twice))} twice" if twice else "names no columns"
            raise ConfigError(f"data {path}: the header {fault}", "give each column a name of its own")

    def scan(self) -> Iterator[Scanned]:
        """All rows after the header; a blank line is no row."""
        records = _Records(self._path, self._bytes, self._delimiter)
        next(records)
        for record in records:
            if record.value:
                value = record.value if isinstance(record.value, RowError) else self._row(record.value)
                yield Scanned(record.where, record.at, record.size, value)

    def fetch(self, at: int, size: int) -> dict[str, str]:
        """The row at a place."""
        text = self._bytes.span(at, size).decode("utf-8")
        row = self._row(next(_reader(io.StringIO(text, newline=""), self._delimiter)))
        if isinstance(row, RowError):
            raise row
        return row

    def _row(self, fields: list[str]) -> dict[str, str] | RowError:
        if len(fields) != len(self.columns):
            detail = f"{len(fields)} instead of {len(self.columns)}"
            return RowError("another number of values than the header has", detail)
        return dict(zip(self.columns, fields, strict=True))


class _Records:
    """All records of the file from its beginning, as lists of values, with their places."""

    def __init__(self, path: Path, data: Bytes, delimiter: str) -> None:
        self._path = path
        self._file = data.file
        self._file.seek(0)
        self._at = 0
        self._number = 0
        self._reader = _reader(self._lines(), delimiter)

    def __iter__(self) -> "_Records":
        return self

    def __next__(self) -> Scanned:
        first, at = self._number + 1, self._at
        value: list[str] | RowError
        try:
            value = next(self._reader)
        except csv.Error as error:
            if "unexpected end" in str(error) or "field limit" in str(error):
                raise self._open_quote(first) from None
            value = RowError("not CSV", str(error))
        else:
            value = _text_or_fault(value)
        if at == 0:
            at = self._skipped
        return Scanned(f"line {first}", at, self._at - at, value)

    def _lines(self) -> Iterator[str]:
        while data := self._file.readline(MAX_ROW_BYTES + 2):
            if len(data) > MAX_ROW_BYTES:
                raise self._open_quote(self._number + 1)
            if self._at == 0:
                self._skipped = len(UTF8_BOM) if data.startswith(UTF8_BOM) else 0
            bare = data[self._skipped :] if self._at == 0 else data
            self._at += len(data)
            self._number += 1
            # Bytes that are no UTF-8 stay recognisable, and cost their own row only.
            yield bare.decode("utf-8", "surrogateescape")

    def _open_quote(self, line: int) -> ConfigError:
        return ConfigError(
            f"data {self._path}: line {line} opens a quote that is not closed within "
            f"{MAX_ROW_BYTES >> 20} MiB or the file",
            "close it; a quote within a quoted value is written twice",
        )


def _reader(lines: Iterable[str], delimiter: str) -> Iterator[list[str]]:
    return csv.reader(lines, delimiter=delimiter, strict=True)


def _text_or_fault(fields: list[str]) -> list[str] | RowError:
    whole = "".join(fields)
    if "\0" in whole:
        return RowError("not text: has NUL bytes")
    try:
        whole.encode("utf-8")
    except UnicodeEncodeError:
        return RowError("not UTF-8")
    return fields

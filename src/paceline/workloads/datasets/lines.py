"""Lines of a file as bytes, with their numbers and places, however long a line is."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from paceline.workloads.data_file import UTF8_BOM
from paceline.workloads.read_report import RowError

# A row is held in memory whole. The longest prompts that models take, ten million tokens, fit.
MAX_ROW_BYTES = 64 * 1024 * 1024
_SKIP_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Line:
    """One line without its end. `at`, `size`: its bytes in the file; data: None where it is too long."""

    number: int
    at: int
    size: int
    data: bytes | None


def lines_of(file: BinaryIO, longest: int = MAX_ROW_BYTES) -> Iterator[Line]:
    """All lines, ended by LF or CRLF; the last may have no end. A byte order mark is no part of the first."""
    at = number = 0
    while data := file.readline(longest + 2):
        number += 1
        size = len(data)
        skipped = len(UTF8_BOM) if at == 0 and data.startswith(UTF8_BOM) else 0
        bare = data[skipped:].rstrip(b"\n").removesuffix(b"\r")
        if len(bare) > longest:
            while not data.endswith(b"\n") and (data := file.readline(_SKIP_BYTES)):
                size += len(data)
            yield Line(number, at, size, None)
        else:
            yield Line(number, at + skipped, len(bare), bare)
        at += size


def too_long(size: int, longest: int = MAX_ROW_BYTES) -> RowError:
    """The fault of a row that is not held."""
    return RowError(f"longer than {longest >> 20} MiB", f"{size:,} bytes")


def decoded(data: bytes) -> str:
    """The text of a row. Raises RowError for what is no UTF-8, and for bytes that no text has."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise RowError("not UTF-8", f"byte {error.start + 1} of the row") from None
    if "\0" in text:
        raise RowError("not text: has NUL bytes")
    return text


def checked_text(text: str) -> str:
    """The text, if it can be sent. Raises RowError for half characters, which JSON escapes can make."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise RowError("not text: has half of a surrogate pair") from None
    return text

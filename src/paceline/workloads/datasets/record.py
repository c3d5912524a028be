"""What a row says, whatever its format: its turns, and what else is known of it."""

from dataclasses import dataclass
from typing import Any, Literal, Protocol

from paceline.workloads.datasets.lines import checked_text
from paceline.workloads.lengths import MAX_TOKENS
from paceline.workloads.read_report import RowError

Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class Said:
    """One turn as the file has it."""

    role: Role
    text: str
    images: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Record:
    """A row that can be used.

    output_tokens: the limit that the row asks for. recorded_tokens: how long its answer was, where the row
    says so in tokens. time_ns: when it was sent, in Unix nanoseconds. unread_time: the time that the row has
    and nobody can read, in words; "" where there is none. group: the conversation that it is part of.
    changes: what is not sent as it stands, as reasons to count.
    """

    turns: tuple[Said, ...]
    output_tokens: int | None = None
    recorded_tokens: int | None = None
    time_ns: int | None = None
    unread_time: str = ""
    group: str | None = None
    changes: tuple[str, ...] = ()


class RowReader(Protocol):
    """Makes a record of a row, the same each time. Raises RowError for a row that cannot be used."""

    def read(self, row: Any) -> Record:
        """The record of a row as its container gives it."""


def value_at(row: Any, path: str) -> Any:
    """The value of a column; a dot leads into a nested object. None where there is none."""
    if not isinstance(row, dict):
        return None
    if path in row:
        return row[path]
    value: Any = row
    for part in path.split("."):
        if not isinstance(value, dict) or part not in value:
            return None
        value = value[part]
    return value


def text_at(row: Any, path: str) -> str:
    """The text of a column. Raises RowError where there is none."""
    value = value_at(row, path)
    if value is None:
        raise RowError(f"no `{path}`")
    if not isinstance(value, str):
        raise RowError(f"`{path}` is no text")
    if not value.strip():
        raise RowError(f"`{path}` is empty")
    return checked_text(value)


def tokens_at(row: Any, path: str) -> int:
    """The number of tokens of a column; CSV has it as text. Raises RowError."""
    value = value_at(row, path)
    if value is None or value == "":
        raise RowError(f"no `{path}`")
    tokens = whole_tokens(value)
    if tokens is None:
        raise RowError(f"`{path}` is no number of tokens")
    return tokens


def whole_tokens(value: Any) -> int | None:
    """A number of tokens from 1 to 10,000,000, or None."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return int(number) if number.is_integer() and 1 <= number <= MAX_TOKENS else None

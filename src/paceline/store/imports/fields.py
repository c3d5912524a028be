"""Read fields of a foreign document, and say plainly where one is not what it must be."""

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from paceline.errors import ConfigError
from paceline.whole_file import read_whole

HINT = "see docs/guides/import.md for the forms that are read"
# A document is held in memory whole, in some ten times its bytes: a million requests of AIPerf.
MOST_BYTES = 1 << 30
_LONGEST_ERROR = 500
# Beyond this no time (in s or ms), rate or count is meant.
_LARGEST = 1e12


def read_document(path: Path) -> Any:
    """The JSON document in a file. Raises ConfigError."""
    text = _read(path)
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: this is not JSON: {error}", HINT) from None


def read_lines(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each object of a file of JSON lines, with where it is. Raises ConfigError."""
    # Not splitlines: JSON may have U+2028 and the like within a text.
    for number, line in enumerate(_read(path).split("\n"), start=1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        try:
            document = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ConfigError(f"{where}: this is not JSON: {error}", HINT) from None
        if not isinstance(document, dict):
            raise ConfigError(f"{where}: this is no object", HINT)
        yield where, document


def _read(path: Path) -> str:
    try:
        # It is read more than once, and a pipe gives what it has only once.
        if path.exists() and not path.is_file():
            raise ConfigError(
                f"{path}: this is not a file, but a pipe, socket or device", "write it to a file"
            )
        return read_whole(path, MOST_BYTES).decode("utf-8")
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror or error}", "check the path") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: this is not UTF-8 text", HINT) from None


def bad(where: str, what: str) -> ConfigError:
    """The error for a field that is not what it must be."""
    return ConfigError(f"{where}: {what}", HINT)


def mapping(value: Any, where: str) -> dict[str, Any]:
    """An object; an empty one for null."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise bad(where, "this is no object")
    return value


def listing(value: Any, where: str) -> list[Any]:
    """A list; an empty one for null."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise bad(where, "this is no list")
    return value


def number(value: Any, where: str) -> float:
    """A finite number."""
    found = number_or_none(value, where)
    if found is None:
        raise bad(where, "the number is missing")
    return found


def number_or_none(value: Any, where: str) -> float | None:
    """A finite number, or None for null."""
    if value is None:
        return None
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise bad(where, f"{_shown(value)} is no number")
    # An integer may have more digits than a float can hold.
    if abs(value) > _LARGEST or not math.isfinite(value):
        raise bad(where, f"{_shown(value)} is no number that can be meant")
    return float(value)


def duration(value: Any, where: str) -> float:
    """A number that is not negative."""
    found = number(value, where)
    if found < 0.0:
        raise bad(where, f"{_shown(value)} is no duration")
    return found


def count_or_none(value: Any, where: str) -> int | None:
    """A whole number that is not negative, or None for null."""
    found = number_or_none(value, where)
    if found is None:
        return None
    if found < 0 or found != int(found):
        raise bad(where, f"{_shown(value)} is no count")
    return int(found)


def stamp(value: Any, where: str) -> int:
    """A Unix time in ns."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**63:
        raise bad(where, f"{_shown(value)} is no instant in ns")
    return value


def text_if(value: Any) -> str | None:
    """A text that can be stored; None for an empty one and for what is none."""
    # JSON can write half a character, which no UTF-8 holds.
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) and value else None


def positive_if(value: Any) -> float | None:
    """A rate or a number of streams; None for what cannot be one."""
    usable = isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= _LARGEST
    return float(value) if usable else None


def _shown(value: Any) -> str:
    return f"{value!r:.40}"


def name_if(value: Any) -> str | None:
    """A name or a message, which is shown to people: without what could steer a terminal."""
    found = text_if(value)
    return found and "".join(letter if letter.isprintable() else " " for letter in found)


def error_text(value: Any) -> str | None:
    """What went wrong, in one line and short."""
    words = " ".join(str(value).split()) if value else ""
    return name_if(words[:_LONGEST_ERROR])


def plain_url(value: Any) -> str | None:
    """A URL without credentials and without a query, which may hold a key; None for what is none."""
    if not isinstance(value, str) or "://" not in value:
        return None
    try:
        parts = urlsplit(value)
    except ValueError:
        return None
    return name_if(urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", "")))

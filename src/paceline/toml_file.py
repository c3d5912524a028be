"""Read a TOML file that a user wrote, and say what is wrong with it: where, on which line, and what to do."""

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from paceline.config import closest, known_keys
from paceline.errors import ConfigError
from paceline.toml_lines import Path as KeyPath
from paceline.toml_lines import key_lines
from paceline.whole_file import read_whole

_MOST_BYTES = 10_000_000
# Of a hint that says what keys there are.
_MOST_KEYS = 40


@dataclass(frozen=True)
class Problem:
    """Something wrong. Values are not repeated, since one may be a secret in the wrong place.

    line: in the file, from 1; None where no line is to blame. where: as in `offer "local-a": price.ref`.
    """

    where: str
    message: str
    hint: str | None = None
    line: int | None = None

    def said(self, file: Path) -> str:
        """`paceline.toml:12: offer "a": tier: ...`."""
        place = f"{file}:{self.line}" if self.line else str(file)
        return f"{place}: {self.where}: {self.message}" if self.where else f"{place}: {self.message}"

    def as_json(self) -> dict[str, str | int | None]:
        """One of `problems` in `paceline.check/1`."""
        return {"line": self.line, "where": self.where, "message": self.message, "hint": self.hint}


class TomlFileError(ConfigError):
    """The file cannot be read, or is not TOML: `problem`."""

    def __init__(self, file: Path, problem: Problem) -> None:
        super().__init__(problem.said(file), problem.hint)
        self.problem = problem


def read_toml(path: Path, missing_hint: str) -> tuple[dict[str, Any], dict[KeyPath, int]]:
    """What the file says, and on which line each table and key stands.

    Raises TomlFileError; `missing_hint`: what to do where there is no file.
    """

    def refused(message: str, hint: str | None, line: int | None = None) -> TomlFileError:
        return TomlFileError(path, Problem("", message, hint, line))

    if _is_there(path) and not path.is_file():
        # To open a pipe would wait for whoever writes to it, and what it held is gone at the next look.
        raise refused("it is no file", "give the path of a file: it is read again when it changes")
    try:
        text = read_whole(path, _MOST_BYTES).decode("utf-8")
    except (FileNotFoundError, NotADirectoryError):
        raise refused("there is no such file", missing_hint) from None
    except OSError as error:
        raise refused(f"it cannot be read: {error.strerror}", None) from None
    except UnicodeDecodeError:
        raise refused("it is not UTF-8", "save it as UTF-8") from None
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"line (\d+)", str(error))
        number = int(line.group(1)) if line else text.count("\n") + 1
        # What the parser says may quote a character of the text, and never more.
        reason = re.sub(r" \(at .*\)$", "", str(error))
        raise refused(f"not TOML: {reason}", "check quotes, brackets and = there", number) from None
    except RecursionError:
        raise refused("nested too deeply", "a config has at most four levels") from None
    return data, key_lines(text)


def problems_of(
    model: type[BaseModel], error: ValidationError
) -> list[tuple[tuple[str | int, ...], str, str | None]]:
    """Path within the model, message and hint of each thing that pydantic found wrong."""
    found = []
    for one in error.errors(include_url=False, include_input=False):
        path = tuple(part for part in one["loc"] if part != "[key]")
        found.append((path, *_words(model, one)))
    return found


def dotted(path: KeyPath) -> str:
    """`price.ref`, `aliases[1]`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def _words(model: type[BaseModel], error: ErrorDetails) -> tuple[str, str | None]:
    if error["type"] == "extra_forbidden":
        return "there is no such key", key_hint(str(error["loc"][-1]), known_keys(model, error["loc"][:-1]))
    if error["type"] == "missing":
        return "it must be given", None
    if error["type"] == "literal_error":
        expected = ", ".join(re.findall(r"'([^']*)'", error["ctx"]["expected"]))
        return "there is no such value", f"it is one of {expected}"
    message, _, hint = error["msg"].removeprefix("Value error, ").partition("; ")
    return message[:1].lower() + message[1:], hint or None


def key_hint(name: str, known: list[str]) -> str | None:
    """What was probably meant by a key that does not exist, or which there are."""
    near = closest(name, known)
    if near:
        return f"did you mean `{near}`?"
    return f"keys are: {', '.join(known[:_MOST_KEYS])}" if known else None


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        # Reading says why.
        return False

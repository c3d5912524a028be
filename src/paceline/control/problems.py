"""What is wrong with a config: all of it at once, each with its line and what to do."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from paceline.config import closest, known_keys
from paceline.control.toml_lines import Path as KeyPath
from paceline.errors import ConfigError

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


class GatewayConfigError(ConfigError):
    """The config is refused. `problems` has each reason, in the order of the file."""

    def __init__(self, file: Path, problems: Sequence[Problem]) -> None:
        self.file = file
        self.problems = tuple(sorted(problems, key=lambda one: one.line or 0))
        hints = dict.fromkeys(one.hint for one in self.problems if one.hint)
        super().__init__("; ".join(one.said(file) for one in self.problems), "; ".join(hints) or None)


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

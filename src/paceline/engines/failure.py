"""An engine that did not come up, or that ended by itself: the error, and its words."""

import re
from pathlib import Path

from paceline.control.plane import how_ended
from paceline.endpoints.target import printable
from paceline.engines.engine import Adapter, Failure
from paceline.errors import RunError

_STEERING = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?")
_LINES = 3
_MOST_LETTERS = 200
_SIGKILL = -9


class EngineError(RunError):
    """The engine failed. lasting: another start would end alike. engine_exit_code: None where it still ran.

    log_tail: the last that it said, with secrets hidden, as it came: make it harmless before it is printed.
    """

    def __init__(self, failure: Failure, engine_exit_code: int | None = None, log_tail: str = "") -> None:
        super().__init__(failure.message, failure.hint)
        self.failure = failure
        self.lasting = failure.lasting
        self.engine_exit_code = engine_exit_code
        self.log_tail = log_tail


def failure_of(adapter: Adapter, what: str, tail: str, exit_code: int | None, log: Path) -> Failure:
    """Why an engine failed, by what its adapter knows, else by its own last words; harmless to print.

    what: how it failed, as `ended before it was ready`. exit_code: None where it still ran.
    """
    known = adapter.failure(tail, exit_code)
    if known is not None:
        return Failure(_harmless_lines(known.message), _harmless_lines(known.hint), known.lasting)
    how = f" ({how_ended(exit_code)})" if exit_code is not None else ""
    lines = last_lines(tail, _LINES)
    said = "".join(f"\n  {line}" for line in lines)
    words = f"; it said last:{said}" if lines else "; it said nothing"
    hint = f"all that it said lies in {log}"
    if exit_code == _SIGKILL:
        hint = f"the kernel kills what takes more memory than there is (dmesg tells); {hint}"
    return Failure(f"{adapter.name} {what}{how}{words}", hint, False)


def last_lines(text: str, most: int) -> list[str]:
    """The last lines that hold anything, each harmless to print and of bounded length."""
    found: list[str] = []
    for line in reversed(text.splitlines()):
        plain = printable(_STEERING.sub("", line)).rstrip()
        if plain.strip():
            found.append(plain if len(plain) <= _MOST_LETTERS else f"{plain[: _MOST_LETTERS - 3]}...")
        if len(found) == most:
            break
    return found[::-1]


def _harmless_lines(text: str) -> str:
    return "\n".join(printable(_STEERING.sub("", line)) for line in text.splitlines())

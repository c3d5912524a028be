"""A reason to doubt a run, and when a figure is one."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from paceline.report.limits import LIMITS
from paceline.units import format_percentage

Severity = Literal["note", "suspect", "invalid"]


@dataclass(frozen=True)
class Reason:
    """`code` names the check; `text` has the figure, its limit, and what to do. A note demotes nothing."""

    code: str
    severity: Severity
    text: str

    def __str__(self) -> str:
        return f"note: {self.text}" if self.severity == "note" else self.text


def over(code: str, value: float | None, say: Callable[[str, str], str]) -> Iterator[Reason]:
    """A reason when `value` passes the limit named `code`; `say` gets the value and the limit as text."""
    if value is None:
        return
    limit = LIMITS[code]
    severity = limit.severity(value)
    if severity is not None:
        text = say(format_percentage(value), format_percentage(limit.passed(value)))
        yield Reason(code, "invalid" if severity == "invalid" else "suspect", text)

"""Rows that are logged requests: what a gateway or a client has written of each call."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from paceline.workloads.datasets.messages import read_content, read_turns
from paceline.workloads.datasets.record import Record, Said, tokens_at, value_at, whole_tokens
from paceline.workloads.read_report import RowError, shown

_REQUESTS = ("body", "request.body", "request", "request_body", "kwargs")
_RESPONSES = ("response.body", "response", "response_body")
_PROMPTS = ("messages", "input", "prompt")
_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
_TIMES = (
    "timestamp", "time", "ts", "created_at", "start_time", "startTime",
    "request_time", "requested_at", "request_created_at", "created",
)  # fmt: skip
_GROUPS = (
    "conversation_id", "session_id", "thread_id", "chat_id",
    "metadata.conversation_id", "metadata.session_id", "metadata.thread_id",
)  # fmt: skip
_USED_COUNTS = ("usage.completion_tokens", "usage.output_tokens", "completion_tokens", "output_tokens")

TOOLS_LEFT_OUT = "the tools that the request offers are left out"


@dataclass(frozen=True)
class LogReader:
    """`column` names the messages where they are not in one of the usual places."""

    column: str | None
    output_column: str | None

    def read(self, row: Any) -> Record:
        """The record of a row: one call with its messages as they were. Raises RowError."""
        if not isinstance(row, dict):
            raise RowError("not an object")
        request = request_of(row)
        if self.column is not None:
            prompt = value_at(row, self.column)
        else:
            prompt = next((request[key] for key in _PROMPTS if request.get(key) is not None), None)
        if prompt is None:
            raise RowError("no messages", f"looked for {', '.join(_PROMPTS)}" if self.column is None else "")
        said, changes = _said(prompt, request)
        if not any(turn.role == "user" for turn in said):
            raise RowError("no turn of the user")
        if request.get("tools") or request.get("functions"):
            changes.add(TOOLS_LEFT_OUT)
        if self.output_column is not None:
            limit: int | None = tokens_at(row, self.output_column)
        else:
            limit = _first(whole_tokens(request.get(key)) for key in _LIMITS)
        time_ns, unread_time = _time(row, request)
        return Record(
            tuple(said),
            output_tokens=limit,
            recorded_tokens=_answer_tokens(row),
            time_ns=time_ns,
            unread_time=unread_time,
            group=_group(row, request),
            changes=tuple(sorted(changes)),
        )


def request_of(row: dict[str, Any]) -> dict[str, Any]:
    """The request's body: nested, as an object or as its JSON; or the row itself."""
    for path in _REQUESTS:
        found = _object(value_at(row, path))
        if found is not None and any(key in found for key in _PROMPTS):
            return found
    return row


def looks_like_a_log(row: dict[str, Any]) -> bool:
    """A nested request, or messages beside what only a request or its log has."""
    if request_of(row) is not row:
        return True
    beside = ("model", "response", "usage", "temperature", "stream", *_LIMITS, *_TIMES)
    return "messages" in row and any(key in row for key in beside)


def _said(prompt: Any, request: dict[str, Any]) -> tuple[list[Said], set[str]]:
    changes: set[str] = set()
    if isinstance(prompt, str) and not prompt.lstrip().startswith("[{"):
        if not prompt.strip():
            raise RowError("an empty prompt")
        said = [Said("user", read_content(prompt, changes)[0])]
    else:
        said, changes = read_turns(prompt, "messages")
    # The messages and the responses protocol have the system prompt beside the turns.
    system = request.get("system") or request.get("instructions")
    if system:
        text, _ = read_content(system, changes)
        if text.strip():
            said.insert(0, Said("system", text))
    return said, changes


def _answer_tokens(row: dict[str, Any]) -> int | None:
    places = [_object(value_at(row, path)) for path in _RESPONSES] + [row]
    return _first(whole_tokens(value_at(place, path)) for place in places for path in _USED_COUNTS)


def _group(row: dict[str, Any], request: dict[str, Any]) -> str | None:
    for place in (row, request):
        for path in _GROUPS:
            found = value_at(place, path)
            if isinstance(found, str | int) and not isinstance(found, bool) and str(found):
                return str(found)
    return None


def _time(row: dict[str, Any], request: dict[str, Any]) -> tuple[int | None, str]:
    """The first time that can be read; without one, the first that cannot, in words."""
    unread = ""
    for place in (row, request):
        for path in _TIMES:
            value = value_at(place, path)
            found = unix_ns(value)
            if found is not None:
                return found, ""
            if value not in (None, "") and not unread:
                unread = f"`{path}` is {shown(value)}"
    return None, unread


def unix_ns(value: Any) -> int | None:
    """Unix nanoseconds of a time: ISO 8601 (without an offset it is UTC), or a number since 1970.

    The unit of a number is told by its size: in the years 2001 to 2262 seconds have ten digits, milliseconds
    thirteen, microseconds sixteen, nanoseconds nineteen. None for what is no time, or not of 1970 to 2262.
    """
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, datetime):
        return _of_datetime(value)
    if isinstance(value, str):
        try:
            return unix_ns(float(value)) if value.strip()[:1].isdigit() and _is_number(value) else _iso(value)
        except ValueError:
            return None
    # No float holds every whole number that JSON may have, and none of those that are out of range is a time.
    if not isinstance(value, int | float) or not 0 < value < 1e19:
        return None
    for factor in (10**9, 10**6, 10**3, 1):
        if 1e18 <= value * factor < 1e19:
            return _within(round(value * factor))
    return None


def _is_number(text: str) -> bool:
    return text.strip().replace(".", "", 1).isdigit()


def _iso(text: str) -> int | None:
    return _of_datetime(datetime.fromisoformat(text.strip()))


def _of_datetime(when: datetime) -> int | None:
    aware = when if when.tzinfo else when.replace(tzinfo=UTC)
    since = aware - datetime(1970, 1, 1, tzinfo=UTC)
    return _within((since.days * 86_400 + since.seconds) * 10**9 + since.microseconds * 1000)


def _within(time_ns: int) -> int | None:
    """What a column of 64 bits holds, and so the difference of any two."""
    return time_ns if 0 <= time_ns < 2**63 else None


def _object(value: Any) -> dict[str, Any] | None:
    """An object, which tables hold as JSON."""
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return None
    return value if isinstance(value, dict) else None


def _first(values: Iterator[int | None]) -> int | None:
    return next((value for value in values if value is not None), None)

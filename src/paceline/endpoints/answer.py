"""Judge an answer to a tiny request: is it a stream of the protocol, or a whole JSON answer?"""

import json
from dataclasses import dataclass
from typing import Any

from paceline.endpoints.client import Reply
from paceline.endpoints.shape import error_in, malformed, read_json
from paceline.endpoints.target import Target
from paceline.errors import EndpointError

_SHOWN_CHARACTERS = 200
_ERROR_HINT = "every request of a run would end so: look at the server's log"
_MALFORMED_HINT = "every request of a run would end as malformed: is this an OpenAI-compatible server?"


@dataclass(frozen=True)
class Answer:
    """What a tiny answer tells: the server's name for the model, if it sends usage, if a token came."""

    model: str | None
    usage: bool
    generated: bool


def read_answer(reply: Reply, target: Target, streaming: bool) -> Answer:
    """The answer of status 200; EndpointError when it is not what was asked for."""
    if streaming:
        return _combine(_stream_objects(reply, target), reply, target, streaming=True)
    try:
        whole = read_json(reply.body)
    except ValueError:
        raise EndpointError(
            f"{target.display}: the answer is not JSON ({_shown(reply, target)})", _wrong_place_hint(reply)
        ) from None
    return _combine([whole], reply, target, streaming=False)


def error_text(body: str) -> str:
    """The message in an error's body, in the shapes that servers use; else the start of the body."""
    try:
        data = read_json(body)
    except ValueError:
        return " ".join(body.split())[:_SHOWN_CHARACTERS]
    return _message(data)


def _message(data: Any) -> str:
    if isinstance(data, dict):
        error = data.get("error", data)
        if isinstance(error, dict):
            error = error.get("message") or error.get("detail") or error
        data = error
    if isinstance(data, str):
        return " ".join(data.split())[: 2 * _SHOWN_CHARACTERS]
    try:
        return json.dumps(data)[:_SHOWN_CHARACTERS]
    except RecursionError:
        return "(nested too deeply to be shown)"


def _stream_objects(reply: Reply, target: Target) -> list[Any]:
    """The JSON of each event. How the body begins decides, since servers label streams as they like."""
    lines = reply.body.replace("\r\n", "\n").split("\n")
    first = next((line for line in lines if line.strip()), "")
    if not first:
        raise EndpointError(
            f"{target.display}: the answer is empty (status 200)",
            "does this server generate for this model at all?",
        )
    if not first.startswith((":", "data:", "event:", "id:", "retry:")):
        if first.lstrip().startswith("{"):
            _refuse_error_object(reply, target)
            raise EndpointError(
                f"{target.display}: a stream was asked for, and the answer came whole, as JSON",
                "this server does not stream here: measure without streaming",
            )
        raise EndpointError(
            f"{target.display}: the answer is not a server-sent event stream ({_shown(reply, target)})",
            _wrong_place_hint(reply),
        )
    objects = []
    for data in _events(lines):
        try:
            objects.append(read_json(data))
        except ValueError:
            shown = target.redact(data[:_SHOWN_CHARACTERS])
            raise EndpointError(
                f"{target.display}: an event of the stream is not JSON: {shown}",
                "is this an OpenAI-compatible server?",
            ) from None
    return objects


def _events(lines: list[str]) -> list[str]:
    """The data of each event, without the end marker; several data lines of one event are one text."""
    events: list[str] = []
    data: list[str] = []
    for line in [*lines, ""]:
        if line.startswith("data:"):
            data.append(line.removeprefix("data:").removeprefix(" "))
        elif not line:
            events.append("\n".join(data).strip())
            data = []
    return [event for event in events if event and event != "[DONE]"]


def _combine(objects: list[Any], reply: Reply, target: Target, *, streaming: bool) -> Answer:
    model: str | None = None
    usage = generated = choices_seen = False
    for one in objects:
        _refuse_malformed(one, target, streaming=streaming)
        _refuse_error(one, target)
        model = model or one.get("model")
        usage = usage or isinstance(one.get("usage"), dict)
        choices = one.get("choices")
        if choices is not None:
            choices_seen = True
            generated = generated or any(_has_token(choice) for choice in choices)
    if not choices_seen:
        raise EndpointError(
            f"{target.display}: the answer has no choices ({_shown(reply, target)})",
            f"does the server speak {target.protocol} at {target.base_path or '/'}?",
        )
    return Answer(target.redact(model) if model else None, usage, generated)


def _refuse_malformed(document: Any, target: Target, *, streaming: bool) -> None:
    why = malformed(document, streaming=streaming)
    if why is not None:
        what = "an event of the stream" if streaming else "the answer"
        raise EndpointError(f"{target.display}: {what} is malformed: {why}", _MALFORMED_HINT)


def _refuse_error(document: dict[str, Any], target: Target) -> None:
    error = error_in(document)
    if error is not None:
        message = target.redact(_message(error))
        raise EndpointError(f"{target.display}: the server answered with an error: {message}", _ERROR_HINT)


def _has_token(choice: dict[str, Any]) -> bool:
    part = choice.get("delta") or choice.get("message") or choice
    fields = ("content", "reasoning_content", "reasoning", "tool_calls", "text")
    return isinstance(part, dict) and any(part.get(name) for name in fields)


def _refuse_error_object(reply: Reply, target: Target) -> None:
    try:
        data = read_json(reply.body)
    except ValueError:
        return
    if malformed(data, streaming=False) is None:
        _refuse_error(data, target)


def _shown(reply: Reply, target: Target) -> str:
    kind = target.redact(reply.headers.get("content-type", "none"))
    start = target.redact(" ".join(reply.body.split())[:80])
    return f"content-type: {kind}; it begins {start!r}"


def _wrong_place_hint(reply: Reply) -> str:
    if "html" in reply.headers.get("content-type", ""):
        return "this is a web page: give the base URL of the API, which often ends with /v1"
    return "is this an OpenAI-compatible server? give the base URL of its API, which often ends with /v1"

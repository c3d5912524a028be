"""Judge an answer to a tiny request by what the load generator would read in it."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from paceline.endpoints.client import Reply
from paceline.endpoints.json_text import read_json
from paceline.endpoints.target import Target
from paceline.errors import EndpointError
from paceline.protocols import PROTOCOLS, Protocol

Observed = dict[str, Any]
# (protocol, streaming, status, content type, pieces of the body) -> the row's columns that a response fills.
# There is one reader, `paceline._core.observe`; who may import it hands it in.
Reader = Callable[[Protocol, bool, int, str | None, list[bytes]], Observed]

_SHOWN_CHARACTERS = 200
_ERROR_HINT = "every request of a run would end so: look at the server's log"
_API_HINT = "is this the API's base URL? it often ends with /v1"


@dataclass(frozen=True)
class Answer:
    """What a tiny answer tells: the server's name for the model, if it sends usage, if a token came."""

    model: str | None
    usage: bool
    generated: bool


def read_answer(reply: Reply, target: Target, streaming: bool, reader: Reader) -> Answer:
    """The answer of status 200; EndpointError when it is not what was asked for."""
    if not reply.body.strip():
        raise EndpointError(
            f"{target.display}: the answer is empty (status 200)",
            "does this server generate for this model at all?",
        )
    seen = observed(reply, target, streaming, reader)
    _refuse(seen, reply, target, streaming, reader)
    usage = seen["prompt_tokens"] is not None or seen["completion_tokens"] is not None
    model = seen["server_model"]
    return Answer(target.redact(model) if model else None, usage, bool(seen["event_ns"]))


def observed(reply: Reply, target: Target, streaming: bool, reader: Reader) -> Observed:
    """The reader's account of a reply to a request of the target's protocol."""
    streaming = streaming and PROTOCOLS[target.protocol].streams
    return reader(
        target.protocol, streaming, reply.status, reply.headers.get("content-type"), list(reply.chunks)
    )


def _refuse(seen: Observed, reply: Reply, target: Target, streaming: bool, reader: Reader) -> None:
    """Raise what would make every request of a run fail. An answer without a token is not of that kind."""
    outcome = seen["outcome"]
    said = target.redact(seen["error"] or "")
    wrong = f"{target.display}: {said}"
    if outcome == "error_in_stream":
        raise EndpointError(f"{target.display}: the server answered with an error: {said}", _ERROR_HINT)
    if outcome == "malformed":
        raise EndpointError(wrong, _malformed_hint(reply, target, streaming, reader))
    # What we did not read to its end is no fault of the server's.
    if outcome == "truncated" and not reply.cut:
        raise EndpointError(wrong, "every request of a run would end as truncated: look at the server's log")
    if outcome == "empty" and seen["finish_reason"] is None and seen["completion_tokens"] is None:
        raise EndpointError(
            f"{wrong}, no finish reason and no usage ({_shown(reply, target)})",
            f"does the server speak {target.protocol} at {target.base_path or '/'}?",
        )


def _malformed_hint(reply: Reply, target: Target, streaming: bool, reader: Reader) -> str:
    if "html" in reply.headers.get("content-type", ""):
        return "this is a web page: give the base URL of the API, which often ends with /v1"
    other = observed(reply, target, not streaming, reader)["outcome"]
    if other in ("ok", "empty"):
        here = "does not stream" if streaming else "always streams"
        return f"this server {here} here: measure {'without' if streaming else 'with'} streaming"
    return f"every request of a run would end as malformed: {_API_HINT}"


def error_text(body: str, target: Target) -> str:
    """The message in an error's body, in the shapes that servers use; else the body's start; redacted."""
    try:
        data = read_json(body)
    except ValueError:
        return target.redact(" ".join(body.split()))[:_SHOWN_CHARACTERS]
    return _message(data, target)


def _message(data: Any, target: Target) -> str:
    if isinstance(data, dict):
        error = data.get("error", data)
        if isinstance(error, dict):
            error = error.get("message") or error.get("detail") or error
        data = error
    if isinstance(data, str):
        # Redacted before it is cut: of a secret that is cut in two nothing would be found.
        return target.redact(" ".join(data.split()))[: 2 * _SHOWN_CHARACTERS]
    try:
        return target.redact(json.dumps(data))[:_SHOWN_CHARACTERS]
    except RecursionError:
        return "(nested too deeply to be shown)"


def _shown(reply: Reply, target: Target) -> str:
    kind = target.redact(reply.headers.get("content-type", "none"))
    start = target.redact(" ".join(reply.body.split()))[:80]
    return f"content-type: {kind}; it begins {start!r}"

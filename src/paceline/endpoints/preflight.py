"""Ask an endpoint before any load whether it will answer, and learn what its server can do."""

import email.utils
import re
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from paceline.endpoints.answer import Answer, read_answer
from paceline.endpoints.client import Client, Reply
from paceline.endpoints.refusal import models_hint, no_model, refusal
from paceline.endpoints.shape import read_json
from paceline.endpoints.target import Target
from paceline.errors import EndpointError

MaxTokensField = Literal["max_tokens", "max_completion_tokens"]

_PROMPT = "Say hello."
# Some servers have a floor under the limit, and then one token cannot be asked for.
_HIGHER_LIMIT = 16


@dataclass(frozen=True)
class Facts:
    """What the preflight learnt.

    model: the name to ask for. models: what the server lists, None where it lists nothing. stream_options,
    max_tokens_field: how bodies must be written for this server. usage: the tiny answer carried usage.
    latency_ms: duration of the tiny request, from sending it to the end of its answer, on a connection that
    was open. clock_offset_ms: the server's Date header minus this machine's clock, exact to about half a
    second. notes: for people.
    """

    model: str
    models: tuple[str, ...] | None = None
    server: str | None = None
    server_model: str | None = None
    stream_options: bool = True
    max_tokens_field: MaxTokensField = "max_tokens"
    usage: bool = False
    latency_ms: float | None = None
    clock_offset_ms: float | None = None
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data for the manifest."""
        return asdict(self)


def check(
    target: Target,
    *,
    streaming: bool = True,
    stream_usage: bool = True,
    extra: Mapping[str, Any] | None = None,
    system: str | None = None,
    timeout_s: float = 60.0,
) -> Facts:
    """One GET of the models and one request for a single token, made as the run's requests will be.

    Raises EndpointError, with a hint, for whatever would make the run's requests fail: an unreachable host, a
    wrong path, model or key, an answer that is no stream of the protocol, a failing or limiting server. A
    server without a list of models is fine. `extra` and `system` are the workload's, since a server may
    refuse those.
    """
    with Client(target, timeout_s) as client:
        models, listing = _model_list(client)
        model = target.model or _only_model(client, models, listing)
        tiny = _Tiny(target.protocol, model, streaming, streaming and stream_usage, dict(extra or {}), system)
        reply, sent_unix_s = _ask(client, tiny)
        if reply.status != 200:
            raise refusal(reply, client, model, models)
        answer = read_answer(reply, target, streaming)
        return Facts(
            model=model,
            models=models,
            server=_server(reply, target),
            server_model=answer.model,
            stream_options=tiny.stream_options or not (streaming and stream_usage),
            max_tokens_field=tiny.max_tokens_field,
            usage=answer.usage,
            latency_ms=reply.elapsed_ms,
            clock_offset_ms=_clock_offset_ms(reply, sent_unix_s),
            notes=tuple(_notes(tiny, answer, models, streaming and stream_usage)),
        )


@dataclass
class _Tiny:
    """The tiny request, and what had to be changed for the server to take it."""

    protocol: str
    model: str
    streaming: bool
    stream_options: bool
    extra: dict[str, Any]
    system: str | None
    max_tokens_field: MaxTokensField = "max_tokens"
    limit: int = 1

    def body(self) -> dict[str, Any]:
        body: dict[str, Any] = {"model": self.model}
        if self.protocol == "openai-chat":
            system = [] if self.system is None else [{"role": "system", "content": self.system}]
            body["messages"] = [*system, {"role": "user", "content": _PROMPT}]
        else:
            body["prompt"] = _PROMPT
        body |= {self.max_tokens_field: self.limit, **self.extra, "stream": self.streaming}
        if self.stream_options:
            body["stream_options"] = {"include_usage": True}
        return body

    def adapt(self, reply: Reply) -> bool:
        """Change what the server says it does not know; False when its refusal is about something else."""
        if reply.status not in (400, 404, 422):
            return False
        said = reply.body
        if self.stream_options and re.search(r"stream_options|include_usage", said):
            self.stream_options = False
        elif (
            self.max_tokens_field == "max_tokens"
            and "max_completion_tokens" in said
            and self.protocol == "openai-chat"
        ):
            self.max_tokens_field = "max_completion_tokens"
        elif self.limit == 1 and re.search(
            r"max\w*_tokens.*(minimum|at least|>=|greater)", said, re.IGNORECASE | re.DOTALL
        ):
            self.limit = _HIGHER_LIMIT
        else:
            return False
        return True


def _ask(client: Client, tiny: _Tiny) -> tuple[Reply, float]:
    while True:
        sent_unix_s = time.time()
        reply = client.post(client.target.path, tiny.body(), tiny.streaming)
        # Each change can be made once, so this ends.
        if reply.status == 200 or not tiny.adapt(reply):
            return reply, sent_unix_s


def _model_list(client: Client) -> tuple[tuple[str, ...] | None, Reply]:
    """Names that the server lists; None when it lists nothing that can be read, which is no error."""
    reply = client.get(_models_path(client.target))
    if reply.status != 200:
        return None, reply
    try:
        data = read_json(reply.body)
    except ValueError:
        return None, reply
    listed = data.get("data") or data.get("models") if isinstance(data, dict) else data
    if not isinstance(listed, list):
        return None, reply
    names = [one.get("id") or one.get("name") if isinstance(one, dict) else one for one in listed]
    # What holds a control character is no name, and would steer the terminal of whoever reads it.
    fit = [name for name in names if isinstance(name, str) and name.isprintable()]
    return tuple(dict.fromkeys(fit)), reply


def _models_path(target: Target) -> str:
    return target.base_path + "/models" + (f"?{target.query}" if target.query else "")


def _only_model(client: Client, models: tuple[str, ...] | None, reply: Reply) -> str:
    """The server's only model, where none was asked for; EndpointError when that cannot be told."""
    target = client.target
    if models and len(models) == 1:
        return models[0]
    if models:
        raise EndpointError(
            f"{target.display}: no model is given, and the server has {len(models)}",
            f"give one with --model; {models_hint(models)}",
        )
    if reply.status in (401, 403, 429) or reply.status >= 500:
        raise refusal(reply, client, "", None)
    if reply.status in (404, 405):
        raise no_model(client, _models_path(target), reply.status)
    raise EndpointError(
        f"{target.display}: no model is given, and the server lists none", "give it with --model"
    )


def _server(reply: Reply, target: Target) -> str | None:
    name = reply.headers.get("server")
    return target.redact(name)[:100] if name else None


def _clock_offset_ms(reply: Reply, sent_unix_s: float) -> float | None:
    """Date is cut to whole seconds, so half a second is added. When it was written is not known better."""
    try:
        server_unix_s = email.utils.parsedate_to_datetime(reply.headers["date"]).timestamp()
    except (KeyError, ValueError, TypeError):
        return None
    middle_unix_s = sent_unix_s + reply.elapsed_ms / 2000
    return round((server_unix_s + 0.5 - middle_unix_s) * 1000, 1)


def _notes(tiny: _Tiny, answer: Answer, models: tuple[str, ...] | None, wanted_usage: bool) -> list[str]:
    notes = []
    if wanted_usage and not tiny.stream_options:
        notes.append("the server refuses stream_options, so requests go without; it may send no usage")
    elif wanted_usage and not answer.usage:
        notes.append("the server takes stream_options and sends no usage")
    if tiny.max_tokens_field != "max_tokens":
        notes.append("the server takes max_completion_tokens in place of max_tokens")
    if models and tiny.model not in models:
        named = f" as {answer.model!r}" if answer.model else ""
        notes.append(f"the server does not list {tiny.model!r}, yet answers{named}")
    if not answer.generated:
        notes.append("the answer to a request for one token carried no text")
    return notes

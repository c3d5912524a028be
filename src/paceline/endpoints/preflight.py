"""Ask an endpoint before any load whether it will answer, and learn what its server can do."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from paceline.endpoints.answer import Answer, Reader, read_answer
from paceline.endpoints.client import Client, Reply
from paceline.endpoints.clock import clock_offset
from paceline.endpoints.models import model_list, only_model
from paceline.endpoints.refusal import refusal
from paceline.endpoints.target import Target
from paceline.endpoints.tiny import HELLO, Tiny
from paceline.errors import EndpointError
from paceline.protocols import (
    DEFAULT_DIALECT,
    Dialect,
    ExactOutput,
    MaxTokensField,
    Message,
    Protocol,
)

# In which order protocols are tried where none is named; what only embeds is never guessed.
ASKING_ORDER: tuple[Protocol, ...] = (
    "openai-chat",
    "openai-responses",
    "anthropic-messages",
    "openai-completions",
)


@dataclass(frozen=True)
class Facts:
    """What the preflight learnt.

    model: the name to ask for. protocol: in which the server answered. models: what the server lists, None
    where it lists nothing. stream_options, max_tokens_field, exact_output: how bodies must be written for
    this server. usage: the tiny answer carried usage. latency_ms: duration of the tiny request, from sending
    it to the end of its answer, on a connection that was open. clock_offset_ms: the server's Date headers
    minus this machine's clock, exact to about half a second. notes: for people.
    """

    model: str
    protocol: Protocol = "openai-chat"
    models: tuple[str, ...] | None = None
    server: str | None = None
    server_model: str | None = None
    stream_options: bool = True
    max_tokens_field: MaxTokensField = "max_tokens"
    exact_output: ExactOutput | None = None
    usage: bool = False
    latency_ms: float | None = None
    clock_offset_ms: float | None = None
    notes: tuple[str, ...] = ()

    @property
    def dialect(self) -> Dialect:
        """How bodies must be written for this server."""
        return Dialect(self.stream_options, self.max_tokens_field, self.exact_output)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data for the manifest."""
        return asdict(self)


def check(
    target: Target,
    reader: Reader,
    *,
    streaming: bool = True,
    stream_usage: bool = True,
    exact_output: bool = False,
    extra: Mapping[str, Any] | None = None,
    system: str | None = None,
    temperature: float | None = None,
    dialect: Dialect = DEFAULT_DIALECT,
    timeout_s: float = 60.0,
) -> Facts:
    """One GET of the models and one request for a single token, made as the run's requests will be.

    Where no protocol was named and the server has no such path, the others are tried (ASKING_ORDER).
    exact_output: answers of exact lengths are wanted, so the request asks for one as well; a server that
    refuses the field is asked without, and that is noted. `extra`, `system` and `temperature` are the
    workload's, since a server may refuse those. `dialect` is what is already known of the server. Raises
    EndpointError, with a hint, for whatever would make the run's requests fail: an unreachable host, a wrong
    path, model or key, an answer that is none of the protocol, a failing or limiting server. A server
    without a list of models is fine.
    """
    if exact_output and dialect.exact_output is None:
        dialect = replace(dialect, exact_output="ignore_eos")
    with Client(target, timeout_s) as client:
        models, listing = model_list(client)
        tiny = Tiny(
            target.protocol,
            target.model or only_model(client, models, listing),
            streaming,
            HELLO if system is None else (Message("system", system), *HELLO),
            stream_usage,
            exact_output,
            temperature,
            extra or {},
            dialect,
        )
        tiny, reply = _first_that_answers(client, tiny)
        spoken = target.with_protocol(tiny.protocol)
        if reply.status != 200:
            raise refusal(reply, client, tiny.model, models)
        answer = read_answer(reply, spoken, streaming, reader)
    wanted_usage = "stream_options" in replace(tiny, dialect=DEFAULT_DIALECT).body()
    offset = clock_offset([listing, reply])
    return Facts(
        model=tiny.model,
        protocol=tiny.protocol,
        models=models,
        server=_server(reply, target),
        server_model=answer.model,
        stream_options=tiny.dialect.stream_options,
        max_tokens_field=tiny.dialect.max_tokens_field,
        exact_output=tiny.dialect.exact_output if exact_output else None,
        usage=answer.usage,
        latency_ms=reply.elapsed_ms,
        clock_offset_ms=None if offset is None else offset.value_ms,
        notes=tuple(_notes(tiny, answer, models, wanted_usage)),
    )


def _first_that_answers(client: Client, tiny: Tiny) -> tuple[Tiny, Reply]:
    """The answer in the target's protocol, or where the server lacks its path in one that it has."""
    first = tiny.ask(client, client.target)
    if first.status not in (404, 405) or client.target.protocol_named:
        return tiny, first
    for protocol in ASKING_ORDER:
        if protocol == tiny.protocol:
            continue
        other = replace(tiny, protocol=protocol)
        try:
            reply = other.ask(client, client.target)
        except EndpointError:
            continue
        if reply.status == 200:
            return other, reply
    return tiny, first


def _server(reply: Reply, target: Target) -> str | None:
    name = reply.headers.get("server")
    return target.redact(name)[:100] if name else None


def _notes(tiny: Tiny, answer: Answer, models: tuple[str, ...] | None, wanted_usage: bool) -> list[str]:
    notes = []
    if wanted_usage and not tiny.dialect.stream_options:
        notes.append("the server refuses stream_options, so requests go without; it may send no usage")
    elif wanted_usage and not answer.usage:
        notes.append("the server takes stream_options and sends no usage")
    if tiny.dialect.max_tokens_field != "max_tokens":
        notes.append("the server takes max_completion_tokens in place of max_tokens")
    if tiny.exact_output and tiny.dialect.exact_output is None and tiny.protocol != "openai-embeddings":
        notes.append("the server refuses ignore_eos and min_tokens, so answers may end before their length")
    if models and tiny.model not in models:
        named = f" as {answer.model!r}" if answer.model else ""
        notes.append(f"the server does not list {tiny.model!r}, yet answers{named}")
    if not answer.generated:
        notes.append("the answer to a request for one token carried no text")
    return notes

"""Find out what an endpoint speaks and can do, within bounds that are stated before.

Everything is asked with tiny requests. A server may hang, drip, lie or answer without end: each finding is
yes, no or unknown with its reason, and the whole is bounded in requests, tokens, bytes and time.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise

from paceline import __version__
from paceline.endpoints import features
from paceline.endpoints.answer import Reader
from paceline.endpoints.bounded import BoundedClient, Budget
from paceline.endpoints.client import Reply
from paceline.endpoints.clock import clock_offset
from paceline.endpoints.models import model_list, only_model
from paceline.endpoints.preflight import ASKING_ORDER
from paceline.endpoints.probe_record import (
    Cost,
    Features,
    Finding,
    Offset,
    Probe,
    ProtocolFindings,
)
from paceline.endpoints.questions import Questions, Said, no, unknown, yes
from paceline.endpoints.refusal import refusal
from paceline.endpoints.server_kind import server_kind
from paceline.endpoints.target import Target
from paceline.errors import EndpointError
from paceline.protocols import PROTOCOLS, ExactOutput, Protocol

# What the questions ask for at most, where the server counts as most do; the budget holds besides.
PROMPT_TOKENS = 5_000
ANSWER_TOKENS = 1_000
_PREFERENCE: tuple[Protocol, ...] = (*ASKING_ORDER, "openai-embeddings")
_RATE_LIMITS = ("x-ratelimit-", "anthropic-ratelimit-", "ratelimit-")
_MOST_RATE_LIMITS = 40

Watch = Callable[[str], None]


@dataclass
class _Spoken:
    """One protocol's answers."""

    ask: Questions
    stream: Said
    whole: Said
    findings: ProtocolFindings


@dataclass
class _Listed:
    """What the list of models gave."""

    models: tuple[str, ...] | None = None
    reply: Reply | None = None
    failure: EndpointError | None = None
    notes: list[str] = field(default_factory=list)


def probe(
    target: Target, reader: Reader, *, budget: Budget | None = None, watch: Watch = lambda _: None
) -> Probe:
    """Ask an endpoint everything, in each protocol; `watch` is told what is being asked.

    The target's protocol plays no part. Raises EndpointError where the endpoint cannot be reached at all, or
    no model is given and which to ask for cannot be told.
    """
    with BoundedClient(target, budget or Budget()) as client:
        watch("models")
        listed = _models(client)
        model = target.model or _model(client, listed)
        spoken: dict[Protocol, _Spoken] = {}
        for name, info in PROTOCOLS.items():
            watch(info.short)
            spoken[name] = _speak(Questions(client, reader, name, model))
            if listed.failure is not None and spoken[name].stream.reply is None:
                raise listed.failure
        preferred = next(
            (name for name in _PREFERENCE if spoken[name].findings.answers.answer == "yes"), None
        )
        watch("server")
        server, metrics = server_kind(client, listed.reply)
        found, exact = _features(client, spoken, preferred, metrics, watch)
        offset = clock_offset(client.heard)
        best = spoken[preferred or "openai-chat"]
        return Probe(
            version=__version__,
            probed_at=datetime.now(UTC).isoformat(timespec="seconds"),
            endpoint=endpoint_of(target),
            model=model,
            server_model=_redacted(target, best.stream.seen.get("server_model")),
            models=listed.models,
            preferred=preferred,
            protocols={name: one.findings for name, one in spoken.items()},
            features=found,
            exact_output=exact,
            rate_limits=_rate_limits(client),
            server=server,
            clock_offset=None
            if offset is None
            else Offset(value_ms=offset.value_ms, uncertainty_ms=offset.uncertainty_ms),
            cost=_cost(client),
            notes=(*listed.notes, *_nothing_answers(client, spoken, preferred, listed, model)),
        )


def endpoint_of(target: Target) -> str:
    """What a probe is filed under: origin and base path."""
    return target.origin + target.base_path


def _models(client: BoundedClient) -> _Listed:
    """The list; asked a second time in Anthropic's way where a key was not taken in the other."""
    target = client.target
    try:
        models, reply = model_list(client)
        other: Protocol = "openai-chat" if target.protocol == "anthropic-messages" else "anthropic-messages"
        if reply.status in (400, 401, 403) and target.api_key is not None:
            again, second = model_list(client, target.with_protocol(other))
            if second.status == 200:
                models, reply = again, second
    except EndpointError as error:
        return _Listed(failure=error)
    notes = [] if models is not None else ["the server lists no models"]
    return _Listed(models, reply, notes=notes)


def _model(client: BoundedClient, listed: _Listed) -> str:
    if listed.failure is not None or listed.reply is None:
        raise listed.failure or EndpointError("no model is given", "give it with --model")
    return only_model(client, listed.models, listed.reply)


def _speak(ask: Questions) -> _Spoken:
    """One protocol, as a stream and whole."""
    info = PROTOCOLS[ask.protocol]
    stream = ask.ask(streaming=True)
    # A stream that is refused for being none may still be answered whole; what is not there is not.
    gone = stream.reply is None or stream.reply.status in (401, 403, 404, 405, 429)
    whole = stream if not info.streams or gone else ask.ask(streaming=False)
    answered = stream.answered or whole.answered
    findings = ProtocolFindings(
        answers=yes() if answered else stream.otherwise(),
        streaming=_streaming(stream) if info.streams else no("the protocol has no streams"),
        whole=yes() if whole.answered else whole.otherwise(),
        usage_in_stream=_usage(stream) if info.streams else no("the protocol has no streams"),
        usage_whole=_usage(whole),
        stream_options=ask.dialect.stream_options,
        max_tokens_field=ask.dialect.max_tokens_field,
    )
    return _Spoken(ask, stream, whole, findings)


def _streaming(said: Said) -> Finding:
    if not said.answered:
        return said.otherwise()
    events = said.seen["event_ns"]
    if len(events) > 2 and len(set(events)) == 1:
        return yes(f"all {len(events)} events came in one piece: something may hold the stream back")
    return yes(value=len(events))


def _usage(said: Said) -> Finding:
    if not said.answered:
        return unknown("there was no such answer")
    return yes() if said.has_usage else no("the answer carries none")


def _features(
    client: BoundedClient,
    spoken: dict[Protocol, _Spoken],
    preferred: Protocol | None,
    metrics: Finding,
    watch: Watch,
) -> tuple[Features, ExactOutput | None]:
    """The further questions, in the preferred protocol."""
    generates = preferred is not None and preferred != "openai-embeddings"
    ordered = [spoken[name] for name in sorted(spoken, key=_PREFERENCE.index)]
    everything = [said for one in ordered for said in (one.stream, one.whole)]

    def asked(what: str, question: Callable[[_Spoken], Finding]) -> Finding:
        if preferred is None or not generates:
            return unknown("not asked: no protocol that generates answers")
        watch(what)
        return question(spoken[preferred])

    exact, exact_field = unknown("not asked: no protocol that generates answers"), None
    if preferred is not None and generates:
        watch("exact lengths")
        exact, exact_field = features.exact_output(spoken[preferred].ask)
    found = Features(
        per_chunk_usage=asked(
            "usage of each event", lambda one: features.per_chunk_usage(one.ask, one.stream)
        ),
        token_ids=asked("token ids", lambda one: features.token_ids(one.ask, one.stream)),
        log_probabilities=asked("log probabilities", lambda one: features.log_probabilities(one.ask)),
        reasoning=features.reasoning(everything),
        cache_reporting=asked("cached tokens", lambda one: features.cache_reporting(one.ask)),
        exact_output=exact,
        tools=asked("tools", lambda one: features.tools(one.ask)),
        images=asked("images", lambda one: features.images(one.ask, one.stream)),
        rate_limit_headers=_rate_limit_finding(client),
        keep_alive=_keep_alive(client),
        server_metrics=metrics,
    )
    return found, exact_field


def _rate_limits(client: BoundedClient) -> dict[str, str]:
    """The last value of each header that tells of limits."""
    found: dict[str, str] = {}
    for reply in client.heard:
        for name, value in reply.headers.items():
            wanted = name.startswith(_RATE_LIMITS) or name == "retry-after"
            if wanted and (name in found or len(found) < _MOST_RATE_LIMITS):
                found[client.target.redact(name)[:100]] = client.target.redact(value)[:100]
    return found


def _rate_limit_finding(client: BoundedClient) -> Finding:
    names = sorted(_rate_limits(client))
    return yes(value=names) if names else no("no answer has any")


def _keep_alive(client: BoundedClient) -> Finding:
    """Whether a connection was used again after answers that were read to their end, streamed and whole."""
    kept: dict[str, list[bool]] = {"streamed": [], "whole": []}
    for before, after in pairwise(client.heard):
        if before.ended:
            kept["streamed" if before.streamed else "whole"].append(after.reused)
    closes = [kind for kind, reused in kept.items() if reused and not any(reused)]
    if not any(kept.values()):
        return unknown("there were not two answers")
    if closes:
        every = all(reused == [] or kind in closes for kind, reused in kept.items())
        return no(f"it closes the connection after each {'' if every else closes[0] + ' '}answer")
    return yes()


def _cost(client: BoundedClient) -> Cost:
    spent = client.spent
    return Cost(
        requests=spent.requests,
        prompt_tokens=spent.prompt_tokens,
        completion_tokens=spent.answer_tokens,
        bytes_received=spent.bytes_received,
        duration_s=round(client.elapsed_s, 3),
    )


def _nothing_answers(
    client: BoundedClient,
    spoken: dict[Protocol, _Spoken],
    preferred: Protocol | None,
    listed: _Listed,
    model: str,
) -> list[str]:
    """Where nothing answers: what the preflight would say of the first refusal, and what to do."""
    if preferred is not None:
        return []
    refusals = [one.stream.reply for one in spoken.values() if one.stream.reply is not None]
    telling = [reply for reply in refusals if reply.status not in (200, 404, 405)] or [
        reply for reply in refusals if reply.status != 200
    ]
    if not telling:
        return ["no protocol answers as it should"]
    error = refusal(telling[0], client, model, listed.models)
    return [error.message.removeprefix(f"{client.target.display}: "), *([error.hint] if error.hint else [])]


def _redacted(target: Target, name: str | None) -> str | None:
    return None if name is None else target.redact(name)

"""One question to a server, and what its answer says."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from paceline.endpoints.answer import Observed, Reader, error_text, observed
from paceline.endpoints.bounded import BoundedClient, NothingLeftError
from paceline.endpoints.client import Reply
from paceline.endpoints.json_text import read_json
from paceline.endpoints.probe_record import Finding, Value
from paceline.endpoints.target import Target
from paceline.endpoints.tiny import HELLO, HIGHER_LIMIT, Tiny
from paceline.errors import EndpointError
from paceline.protocols import DEFAULT_DIALECT, PROTOCOLS, Dialect, Message, Protocol

_SHOWN_CHARACTERS = 160
# A refusal that says nothing about what the server can do.
_UNSUPPORTED = re.compile(r"not support|unsupported|not implemented", re.IGNORECASE)
_PASSING = (401, 403, 408, 409, 425, 429)


@dataclass(frozen=True)
class Said:
    """An answer. reply: None where none came. seen: what the reader saw in it, where its status is 2xx.

    why: for people, what went wrong; without secrets.
    """

    tiny: Tiny
    reply: Reply | None = None
    seen: Observed = field(default_factory=dict)
    why: str | None = None

    @property
    def answered(self) -> bool:
        """It is a complete answer of the protocol, with a token or at least a reason for having none."""
        outcome = self.seen.get("outcome")
        ended = self.seen.get("finish_reason") is not None or self.seen.get("completion_tokens") is not None
        # What was cut was cut by us.
        cut = self.reply is not None and self.reply.cut and bool(self.seen.get("event_ns"))
        return outcome == "ok" or (outcome == "empty" and ended) or (outcome == "truncated" and cut)

    @property
    def refused(self) -> bool:
        """The server understood, and will not."""
        status = 0 if self.reply is None else self.reply.status
        if status >= 500 and _UNSUPPORTED.search(self.why or ""):
            return True
        return (300 <= status < 500 and status not in _PASSING) or status == 501

    @property
    def has_usage(self) -> bool:
        """It carries token counts."""
        return self.seen.get("prompt_tokens") is not None or self.seen.get("completion_tokens") is not None

    def otherwise(self) -> Finding:
        """The finding where it did not answer: no for a refusal, unknown for what may pass."""
        if self.reply is not None and self.seen:
            return no(self.why)
        return no(self.why) if self.refused else unknown(self.why)

    def document(self) -> Any:
        """The whole answer as JSON; None where it is not."""
        try:
            return None if self.reply is None else read_json(self.reply.body)
        except ValueError:
            return None


def yes(reason: str | None = None, value: Value = None) -> Finding:
    """A finding."""
    return Finding(answer="yes", reason=reason, value=value)


def no(reason: str | None = None, value: Value = None) -> Finding:
    """A finding."""
    return Finding(answer="no", reason=reason, value=value)


def unknown(reason: str | None = None) -> Finding:
    """A finding that could not be made."""
    return Finding(answer="unknown", reason=reason)


@dataclass
class Questions:
    """Asks one protocol of one server, and never raises for what the server does."""

    client: BoundedClient
    reader: Reader
    protocol: Protocol
    model: str
    dialect: Dialect = DEFAULT_DIALECT
    limit: int = HIGHER_LIMIT

    def ask(
        self,
        *,
        streaming: bool,
        messages: Sequence[Message] = HELLO,
        limit: int | None = None,
        extra: Mapping[str, Any] | None = None,
        exact_output: bool = False,
        dialect: Dialect | None = None,
    ) -> Said:
        """The answer to a small request. What a refusal teaches is kept in `dialect` for the next."""
        tiny = Tiny(
            self.protocol,
            self.model,
            streaming and PROTOCOLS[self.protocol].streams,
            messages,
            exact_output=exact_output,
            extra=extra or {},
            dialect=dialect or self.dialect,
            limit=limit or self.limit,
        )
        target = self.client.target.with_protocol(self.protocol)
        try:
            reply = tiny.ask(self.client, target)
        except NothingLeftError as error:
            return Said(tiny, why=error.message)
        except EndpointError as error:
            # The endpoint's name stands above all findings already.
            return Said(tiny, why=self._short(error.message.removeprefix(f"{target.display}: ")))
        self.dialect = replace(tiny.dialect, exact_output=self.dialect.exact_output)
        if not 200 <= reply.status < 300:
            return Said(tiny, reply, why=self._short(_refusal(reply, target)))
        seen = observed(reply, target, tiny.streaming, self.reader)
        self.client.count_tokens(seen["prompt_tokens"], seen["completion_tokens"])
        return Said(tiny, reply, seen, self._short(seen["error"]) if seen["error"] else None)

    def _short(self, text: str) -> str:
        text = self.client.target.redact(text)
        return text if len(text) <= _SHOWN_CHARACTERS else f"{text[: _SHOWN_CHARACTERS - 3]}..."


def _refusal(reply: Reply, target: Target) -> str:
    if 300 <= reply.status < 400:
        to = reply.headers.get("location", "another place").partition("?")[0]
        return f"{reply.status}: it redirects to {to}"
    said = error_text(reply.body, target)
    return f"{reply.status}: {said}" if said else f"status {reply.status}"


def keys_of(document: Any, names: Sequence[str], *, deep: int = 12) -> set[str]:
    """Which of the names stand anywhere in a document with a value that says something."""
    found: set[str] = set()
    if deep == 0:
        return found
    if isinstance(document, dict):
        found |= {name for name in names if document.get(name)}
        for inner in document.values():
            found |= keys_of(inner, names, deep=deep - 1)
    elif isinstance(document, list):
        for inner in document[:1000]:
            found |= keys_of(inner, names, deep=deep - 1)
    return found

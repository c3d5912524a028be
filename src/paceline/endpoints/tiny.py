"""The tiny request by which a server is asked whether it answers, and how bodies must be written for it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from paceline.endpoints.client import Client, Reply
from paceline.endpoints.target import Target
from paceline.protocols import DEFAULT_DIALECT, Dialect, ExactOutput, Message, Protocol, request_body

HELLO = (Message("user", "Say hello."),)
# Some servers have a floor under the limit, and then one token cannot be asked for.
HIGHER_LIMIT = 16
# Two searches, each of time linear in what a server may say at length.
_LIMIT = re.compile(r"max(_completion|_output|_new)?_tokens", re.IGNORECASE)
_FLOOR = re.compile(r"minimum|at least|>=|greater", re.IGNORECASE)
# How an exact length is asked for, in the order in which it is tried.
_EXACT: dict[ExactOutput | None, ExactOutput | None] = {"ignore_eos": "min_tokens", "min_tokens": None}


@dataclass
class Tiny:
    """A small request; `dialect` and `limit` are what the server's refusals have made of it."""

    protocol: Protocol
    model: str
    streaming: bool
    messages: Sequence[Message] = HELLO
    stream_usage: bool = True
    exact_output: bool = False
    temperature: float | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    dialect: Dialect = DEFAULT_DIALECT
    limit: int = 1

    def body(self) -> dict[str, Any]:
        """The request as it now is."""
        return request_body(
            self.protocol,
            self.model,
            self.messages,
            max_tokens=self.limit,
            streaming=self.streaming,
            dialect=self.dialect,
            exact_output=self.exact_output,
            stream_usage=self.stream_usage,
            temperature=self.temperature,
            extra=self.extra,
        )

    def ask(self, client: Client, target: Target) -> Reply:
        """The answer; what the server says that it does not know is changed, and it is asked again."""
        target = target.with_protocol(self.protocol)
        while True:
            reply = client.post(target, self.body(), self.streaming)
            # Each change can be made once, so this ends.
            if reply.status == 200 or not self.adapt(reply):
                return reply

    def adapt(self, reply: Reply) -> bool:
        """Change what the server says it does not know; False when its refusal is about something else."""
        if reply.status not in (400, 404, 422):
            return False
        said, body, dialect = reply.body, self.body(), self.dialect
        options = dialect.stream_options and "stream_options" in body
        if options and re.search(r"stream_options|include_usage", said):
            self.dialect = replace(dialect, stream_options=False)
        elif dialect.exact_output in body and dialect.exact_output in said:
            self.dialect = replace(dialect, exact_output=_EXACT[dialect.exact_output])
        elif (
            self.protocol == "openai-chat"
            and dialect.max_tokens_field == "max_tokens"
            and "max_completion_tokens" in said
        ):
            self.dialect = replace(dialect, max_tokens_field="max_completion_tokens")
        elif self.limit < HIGHER_LIMIT and _speaks_of_floor(said):
            self.limit = HIGHER_LIMIT
        else:
            return False
        return True


def _speaks_of_floor(said: str) -> bool:
    """A refusal says that the limit of tokens is below a minimum."""
    limit = _LIMIT.search(said)
    return limit is not None and _FLOOR.search(said, limit.end()) is not None

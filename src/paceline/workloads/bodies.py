"""From messages to the bytes of a request: one place for plain requests and for the calls of jobs."""

import json
from collections.abc import Sequence

from paceline.errors import ConfigError
from paceline.protocols import PROTOCOLS, Dialect, Message, Protocol, request_body
from paceline.workloads.spec import WorkloadSpec


class BodyWriter:
    """Writes bodies of one model and protocol, with the fields that a workload gives each of them.

    `dialect` is what the preflight has found, since servers differ. Raises ConfigError for a protocol that
    there is not, and for a system prompt where the protocol has no place for one.
    """

    def __init__(self, spec: WorkloadSpec, model: str, protocol: Protocol, dialect: Dialect) -> None:
        if protocol not in PROTOCOLS:
            raise ConfigError(f"protocol {protocol!r} is unknown", "use " + " or ".join(PROTOCOLS))
        if protocol in ("openai-completions", "openai-embeddings") and spec.system is not None:
            raise ConfigError(
                f"a system prompt has no place in the {PROTOCOLS[protocol].short} protocol",
                "leave it out, or measure the chat protocol (openai-chat)",
            )
        self._spec = spec
        self._model = model
        self._protocol: Protocol = protocol
        self._dialect = dialect

    def write(
        self, messages: Sequence[Message], max_tokens: int | None, *, exact_output: bool = False
    ) -> bytes:
        """The whole HTTP body, in ASCII."""
        spec = self._spec
        body = request_body(
            self._protocol,
            self._model,
            messages,
            max_tokens=max_tokens,
            streaming=spec.streaming,
            dialect=self._dialect,
            exact_output=exact_output,
            stream_usage=spec.stream_usage,
            temperature=spec.temperature,
            extra=spec.extra,
        )
        return json.dumps(body).encode("ascii")

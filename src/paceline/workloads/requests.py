"""The requests of a run: HTTP bodies for the load generator, and a plan of what each one asks."""

import hashlib
import json
from collections.abc import Callable
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa

from paceline.errors import ConfigError
from paceline.workloads.lengths import Lengths
from paceline.workloads.spec import WorkloadSpec
from paceline.workloads.text import PromptWriter
from paceline.workloads.tokenizer import load_tokenizer

Protocol = Literal["openai-chat", "openai-completions"]
MaxTokensField = Literal["max_tokens", "max_completion_tokens"]

_PLAN_FIELDS: "list[pa.Field[Any]]" = [
    pa.field("request_index", pa.uint64(), nullable=False),
    pa.field("prompt_tokens_asked", pa.int64()),
    pa.field("output_tokens_asked", pa.int64()),
    pa.field("prompt_sha256", pa.utf8()),
]
BODY_SCHEMA = pa.schema([pa.field("body", pa.binary(), nullable=False)])
PLAN_SCHEMA = pa.schema(_PLAN_FIELDS)


class RequestSource:
    """Writes requests in order from any index; request k is the same however it is reached.

    `stream_options` and `max_tokens_field` come from the preflight (endpoints/preflight.py), since servers
    differ. Raises ConfigError when the tokenizer cannot be had, or the protocol has no place for a system
    prompt.
    """

    def __init__(
        self,
        spec: WorkloadSpec,
        model: str,
        protocol: Protocol = "openai-chat",
        *,
        start: int = 0,
        stream_options: bool = True,
        max_tokens_field: MaxTokensField = "max_tokens",
    ) -> None:
        if protocol not in get_args(Protocol):
            raise ConfigError(f"protocol {protocol!r} is unknown", "use " + " or ".join(get_args(Protocol)))
        if protocol == "openai-completions" and spec.system is not None:
            raise ConfigError(
                "a system prompt has no place in the completions protocol",
                "leave it out, or measure the chat protocol (openai-chat)",
            )
        self.spec = spec
        self.next_index = start
        self._writer = PromptWriter(
            load_tokenizer(spec.tokenizer),
            spec.seed,
            spec.shared_prefix_tokens,
            spec.unique_prefix,
            spec.prefix_salt,
        )
        self._body = _body_writer(spec, model, protocol, stream_options, max_tokens_field)

    @property
    def approximate(self) -> bool:
        """No tokenizer is known, so prompt lengths are estimates."""
        return self._writer.approximate

    @property
    def encodes_each(self) -> bool:
        """Each prompt has to be encoded, about a millisecond; better done before the clock starts."""
        return self._writer.encodes_each

    def take(self, n: int) -> tuple[pa.RecordBatch, pa.Table]:
        """The next n requests: bodies (column `body`, n rows) and plan (PLAN_SCHEMA, n rows, the same order).

        `prompt_tokens_asked` counts the shared text and the request's own; `output_tokens_asked` is null
        where the model ends by itself; `prompt_sha256` is of the user's text.
        """
        start = self.next_index
        spec = self.spec
        own_tokens = spec.prompt_tokens.sample(spec.seed, "prompt_tokens", start, n)
        limits = _output_limits(spec.output_tokens, spec.max_tokens, spec.seed, start, n)
        bodies: list[bytes] = []
        hashes: list[str] = []
        for place, (tokens, limit) in enumerate(zip(own_tokens.tolist(), limits, strict=True)):
            prompt = self._writer.write(start + place, tokens)
            hashes.append(hashlib.sha256(prompt.encode()).hexdigest())
            bodies.append(self._body(prompt, limit))
        self.next_index = start + n
        plan = pa.table(
            [
                pa.array(np.arange(start, start + n, dtype=np.uint64)),
                pa.array(own_tokens + spec.shared_prefix_tokens),
                pa.array(limits, type=pa.int64()),
                pa.array(hashes, type=pa.utf8()),
            ],
            schema=PLAN_SCHEMA,
        )
        return pa.record_batch([pa.array(bodies, type=pa.binary())], schema=BODY_SCHEMA), plan


def _output_limits(
    lengths: Lengths | None, max_tokens: int | None, seed: int, start: int, n: int
) -> list[int] | list[None]:
    if lengths is None:
        return [max_tokens] * n if max_tokens is not None else [None] * n
    drawn = lengths.sample(seed, "output_tokens", start, n)
    found: list[int] = (drawn if max_tokens is None else np.minimum(drawn, max_tokens)).tolist()
    return found


def _body_writer(
    spec: WorkloadSpec, model: str, protocol: Protocol, stream_options: bool, max_tokens_field: MaxTokensField
) -> Callable[[str, int | None], bytes]:
    """Everything that does not change is written once; a request adds its text and its limit."""
    head: dict[str, Any] = {"model": model}
    tail: dict[str, Any] = dict(spec.extra)
    if spec.temperature is not None:
        tail["temperature"] = spec.temperature
    tail["stream"] = spec.streaming
    if spec.streaming and spec.stream_usage and stream_options:
        tail["stream_options"] = {"include_usage": True}
    before = json.dumps(head)[:-1] + ", "
    if protocol == "openai-chat":
        system = "" if spec.system is None else json.dumps({"role": "system", "content": spec.system}) + ", "
        before += f'"messages": [{system}{{"role": "user", "content": '
        after = "}], " + json.dumps(tail)[1:]
    else:
        # The completions protocol knows only max_tokens.
        max_tokens_field = "max_tokens"
        before += '"prompt": '
        after = ", " + json.dumps(tail)[1:]
    limit_at = after.index('"', 0)
    after_first, after_rest = after[:limit_at], after[limit_at:]

    def write(prompt: str, limit: int | None) -> bytes:
        asked = "" if limit is None else f'"{max_tokens_field}": {limit}, '
        return f"{before}{json.dumps(prompt)}{after_first}{asked}{after_rest}".encode()

    return write

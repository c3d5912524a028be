"""The requests of a run: HTTP bodies for the load generator, and a plan of what each one asks."""

import hashlib

import numpy as np
import pyarrow as pa

from paceline.protocols import DEFAULT_DIALECT, Dialect, Message, Protocol
from paceline.workloads.bodies import BodyWriter
from paceline.workloads.lengths import Lengths
from paceline.workloads.plan import plan_table
from paceline.workloads.spec import WorkloadSpec
from paceline.workloads.text import PromptWriter
from paceline.workloads.tokenizer import load_tokenizer

BODY_SCHEMA = pa.schema([pa.field("body", pa.binary(), nullable=False)])


class RequestSource:
    """Writes requests in order from any index; request k is the same however it is reached.

    `dialect` comes from the preflight (endpoints/preflight.py), since servers differ. Raises ConfigError when
    the tokenizer cannot be had, or the protocol has no place for a system prompt.
    """

    def __init__(
        self,
        spec: WorkloadSpec,
        model: str,
        protocol: Protocol = "openai-chat",
        dialect: Dialect = DEFAULT_DIALECT,
        *,
        start: int = 0,
    ) -> None:
        self.spec = spec
        self.next_index = start
        self._body = BodyWriter(spec, model, protocol, dialect)
        self._system = () if spec.system is None else (Message("system", spec.system),)
        self._writer = PromptWriter(load_tokenizer(spec.tokenizer), spec.seed, spec.prefix_salt)

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
        limits = output_limits(spec.output_tokens, spec.max_tokens, spec.seed, start, n)
        bodies: list[bytes] = []
        hashes: list[str] = []
        for place, (tokens, limit) in enumerate(zip(own_tokens.tolist(), limits, strict=True)):
            prompt = self._prompt(start + place, tokens)
            hashes.append(hashlib.sha256(prompt.encode()).hexdigest())
            messages = [*self._system, Message("user", prompt)]
            bodies.append(self._body.write(messages, limit, exact_output=spec.exact_output))
        self.next_index = start + n
        columns = {
            "request_index": np.arange(start, start + n, dtype=np.uint64),
            "prompt_tokens_asked": own_tokens + spec.shared_prefix_tokens,
            "output_tokens_asked": limits,
            "prompt_sha256": hashes,
        }
        plan = plan_table(columns, n)
        return pa.record_batch([pa.array(bodies, type=pa.binary())], schema=BODY_SCHEMA), plan

    def _prompt(self, index: int, tokens: int) -> str:
        spec = self.spec
        common = spec.shared_prefix_tokens
        if spec.cached_share:
            common = min(round(tokens * spec.cached_share), tokens - 1)
            tokens -= common
        return self._writer.write(index, tokens, common_tokens=common, unique=spec.unique_prefix)


def output_limits(
    lengths: Lengths | None, max_tokens: int | None, seed: int, start: int, n: int
) -> list[int] | list[None]:
    """The limit on the answer of requests start..start+n-1; None where the model ends by itself."""
    if lengths is None:
        return [max_tokens] * n if max_tokens is not None else [None] * n
    drawn = lengths.sample(seed, "output_tokens", start, n)
    found: list[int] = (drawn if max_tokens is None else np.minimum(drawn, max_tokens)).tolist()
    return found

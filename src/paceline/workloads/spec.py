"""`paceline.workload/1`: what the jobs of a run look like. Stored whole with each run."""

import json
import secrets
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from paceline.config import validate
from paceline.workloads.calls import CallSpec, check_calls
from paceline.workloads.capability.spec import ProbeSpec
from paceline.workloads.datasets.spec import DataSpec
from paceline.workloads.equivalence_spec import EquivalenceSpec
from paceline.workloads.lengths import MAX_TOKENS, Lengths
from paceline.workloads.traces.spec import TraceSpec

# The workload itself decides these, so a second value would contradict it.
_DECIDED_BY = {
    "model": "--model",
    "messages": "prompt_tokens and system",
    "prompt": "prompt_tokens",
    "stream": "streaming",
    "stream_options": "stream_usage",
    "max_tokens": "max_tokens or output_tokens",
    "max_completion_tokens": "max_tokens or output_tokens",
    "max_output_tokens": "max_tokens or output_tokens",
    "input": "prompt_tokens",
    "temperature": "temperature",
}
# Several answers in one stream, or the prompt in the answer, would make every token count and time
# meaningless.
_UNMEASURABLE = ("n", "best_of", "echo")

_Tokens = Annotated[int, Field(ge=1, le=MAX_TOKENS)]
_Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]


def check_origin(*, calls: bool, data: bool, trace: bool, shared: bool, probe: bool = False) -> None:
    """ValueError where jobs would come from two places, or generated text be mixed into a file's."""
    given = {"call": calls, "data": data, "trace": trace, "probe": probe}
    origins = [name for name, one in given.items() if one]
    if len(origins) > 1:
        raise ValueError(f"jobs come from one place: give one of `{'`, `'.join(origins)}`")
    if shared and (data or trace or probe):
        raise ValueError(
            "`shared_prefix_tokens` and `cached_share` are of generated text, and "
            f"`{origins[0]}` brings its own"
        )


class WorkloadSpec(BaseModel):
    """What the jobs of a run look like; a pure function of this and an index gives a job.

    Without `call` a job is one request. prompt_tokens: the length of each request's own text, without
    `shared_prefix_tokens`, the system prompt and the chat template. output_tokens: how long each answer is
    asked to be; it is sent as the limit, so an answer may still be shorter unless `exact_output` is set and
    the server can be told. max_tokens: an upper limit on every answer. cached_share: this share of the text
    that begins a conversation is the same in all jobs; shared_prefix_tokens: so much text, the same in all
    jobs, comes before it. unique_prefix: each job's own text begins with words that no other job of the seed
    and salt begins with, so that no other job's cache helps. prefix_salt: changes those words and nothing
    else; a server that remembers an earlier run of the same seed and salt would answer the same prompts from
    its cache. extra: further fields of the body, as the server knows them. call: the calls of a job. slo and
    job_slo: limits by metric, of calls and of jobs. reading_tok_s: the reader's pace for fluidity.
    jobs_per_day, worth_usd_per_hour: how many there are, and what an hour saved is worth. data, trace: the
    jobs come from a file. probe: they are problems of a capability probe, whose answers have no limit but
    `max_tokens`. equivalence: prompts, each asked more than once.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    schema_: Literal["paceline.workload/1"] = Field(default="paceline.workload/1", alias="schema")
    name: Annotated[str, Field(min_length=1, max_length=100)] | None = None
    about: Annotated[str, Field(max_length=2000)] | None = None
    prompt_tokens: Lengths = Lengths("fixed", (512,))
    output_tokens: Lengths | None = Lengths("fixed", (128,))
    max_tokens: _Tokens | None = None
    exact_output: bool = False
    shared_prefix_tokens: Annotated[int, Field(ge=0, le=MAX_TOKENS)] = 0
    cached_share: Annotated[float, Field(ge=0, lt=1, allow_inf_nan=False)] = 0.0
    unique_prefix: bool = True
    prefix_salt: Annotated[int, Field(ge=0, lt=2**63)] = 0
    system: str | None = None
    tokenizer: str | None = None
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    temperature: Annotated[float, Field(ge=0, le=10, allow_inf_nan=False)] | None = None
    streaming: bool = True
    stream_usage: bool = True
    extra: dict[str, Any] = Field(default_factory=dict)
    slo: dict[str, _Positive] = Field(default_factory=dict)
    job_slo: dict[Literal["job_ms", "job_from_intended_ms"], _Positive] = Field(default_factory=dict)
    reading_tok_s: _Positive | None = None
    jobs_per_day: _Positive | None = None
    worth_usd_per_hour: _Positive | None = None
    call: tuple[CallSpec, ...] = ()
    data: DataSpec | None = None
    trace: TraceSpec | None = None
    probe: ProbeSpec | None = None
    equivalence: EquivalenceSpec | None = None

    @field_validator("extra")
    @classmethod
    def _only_further_fields(cls, extra: dict[str, Any]) -> dict[str, Any]:
        for key in extra:
            if key in _DECIDED_BY:
                raise ValueError(f"`{key}` is set by {_DECIDED_BY[key]}")
            if key in _UNMEASURABLE:
                raise ValueError(
                    f"`{key}` cannot be measured: times and tokens would no longer be of one answer"
                )
        try:
            json.dumps(extra, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise ValueError(f"not JSON: {error}") from error
        return extra

    @model_validator(mode="after")
    def _hangs_together(self) -> Self:
        check_calls(self.call)
        check_origin(
            calls=bool(self.call),
            data=self.data is not None,
            trace=self.trace is not None,
            probe=self.probe is not None,
            shared=bool(self.cached_share or self.shared_prefix_tokens),
        )
        if self.equivalence is not None and (self.call or self.trace is not None):
            raise ValueError("`equivalence` asks prompts that stand alone: it takes no `call` and no `trace`")
        if self.cached_share and self.shared_prefix_tokens:
            raise ValueError("`cached_share` and `shared_prefix_tokens` say the same in two ways; give one")
        for call in self.call:
            if call.hang_up_ms is not None and not self.streaming:
                raise ValueError(
                    f"call {call.name!r} hangs up in the midst of a stream; `streaming` is false"
                )
            if call.repeat_prompt and call.output_tokens is None and self.output_tokens is None:
                raise ValueError(
                    f"call {call.name!r} repeats a share of an answer without a length; give `output_tokens`"
                )
        return self

    @classmethod
    def parse(
        cls, data: dict[str, Any], where: str = "workload", options: Mapping[str, str] | None = None
    ) -> "WorkloadSpec":
        """From a dictionary; ConfigError names each wrong key, or the one of `options` that gave it."""
        return validate(cls, data, where, options)

    def fresh(self) -> "WorkloadSpec":
        """The same workload with a random salt. It is part of the stored spec, so a run can resume."""
        return self.model_copy(update={"prefix_salt": secrets.randbits(62)})

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data under the schema's own names; `parse` reads it back to an equal spec."""
        return self.model_dump(mode="json", by_alias=True)

"""`paceline.workload/1`: what the requests of a run look like. Stored whole with each run."""

import json
import secrets
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from paceline.config import validate
from paceline.workloads.lengths import MAX_TOKENS, Lengths

# The workload itself decides these, so a second value would contradict it.
_DECIDED_BY = {
    "model": "--model",
    "messages": "prompt_tokens and system",
    "prompt": "prompt_tokens",
    "stream": "streaming",
    "stream_options": "stream_usage",
    "max_tokens": "max_tokens or output_tokens",
    "max_completion_tokens": "max_tokens or output_tokens",
    "temperature": "temperature",
}
# Several answers in one stream, or the prompt in the answer, would make every token count and time
# meaningless.
_UNMEASURABLE = ("n", "best_of", "echo")

_Tokens = Annotated[int, Field(ge=1, le=MAX_TOKENS)]


class WorkloadSpec(BaseModel):
    """What the requests of a run look like; a pure function of this and an index gives a request's body.

    prompt_tokens: the length of each request's own text, without `shared_prefix_tokens`, the system prompt
    and the chat template. output_tokens: how long each answer is asked to be; it is sent as the limit, so an
    answer may still be shorter unless `extra` has `ignore_eos`. max_tokens: an upper limit on every answer.
    unique_prefix: each request's own text begins with words that no other request of the seed and salt begins
    with, so that no prefix cache helps. prefix_salt: changes those words and nothing else; a server that
    remembers an earlier run of the same seed and salt would answer the same prompts from its cache. extra:
    further fields of the body, as the server knows them.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    schema_: Literal["paceline.workload/1"] = Field(default="paceline.workload/1", alias="schema")
    prompt_tokens: Lengths = Lengths("fixed", (512,))
    output_tokens: Lengths | None = Lengths("fixed", (128,))
    max_tokens: _Tokens | None = None
    shared_prefix_tokens: Annotated[int, Field(ge=0, le=MAX_TOKENS)] = 0
    unique_prefix: bool = True
    prefix_salt: Annotated[int, Field(ge=0, lt=2**63)] = 0
    system: str | None = None
    tokenizer: str | None = None
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    temperature: Annotated[float, Field(ge=0, le=10, allow_inf_nan=False)] | None = None
    streaming: bool = True
    stream_usage: bool = True
    extra: dict[str, Any] = Field(default_factory=dict)

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

    @classmethod
    def parse(cls, data: dict[str, Any], where: str = "workload") -> "WorkloadSpec":
        """From a dictionary; ConfigError names each wrong key, with a hint."""
        return validate(cls, data, where)

    def fresh(self) -> "WorkloadSpec":
        """The same workload with a random salt. It is part of the stored spec, so a run can resume."""
        return self.model_copy(update={"prefix_salt": secrets.randbits(62)})

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data under the schema's own names; `parse` reads it back to an equal spec."""
        return self.model_dump(mode="json", by_alias=True)

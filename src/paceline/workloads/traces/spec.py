"""`[trace]` of a workload file: a recorded load that is to be replayed."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from paceline.workloads.lengths import MAX_TOKENS

TraceFormat = Literal["azure", "mooncake"]

_Tokens = Annotated[int, Field(ge=1, le=MAX_TOKENS)]
_Seconds = Annotated[float, Field(ge=0, le=366 * 24 * 3600, allow_inf_nan=False)]


class TraceSpec(BaseModel):
    """A trace replayed with its arrival times, lengths and shared prefixes.

    path: the file. format: `azure` (CSV with TIMESTAMP, ContextTokens, GeneratedTokens) or `mooncake` (JSONL
    with timestamp, input_length, output_length, hash_ids); found by its first line. speed: 2 replays in half
    the time. start_s, end_s: the window, in seconds of the trace after its first request; its beginning is
    the beginning of the run, its end is not in it. max_input_tokens, max_output_tokens: of a longer request;
    over: it is skipped, or clipped to the limit. limit: use so many requests. block_tokens: tokens of a block
    of `hash_ids`. sha256: of the file that the run was begun with.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: Annotated[str, Field(min_length=1)]
    format: TraceFormat | None = None
    speed: Annotated[float, Field(ge=0.001, le=100_000, allow_inf_nan=False)] = 1.0
    start_s: _Seconds = 0.0
    end_s: _Seconds | None = None
    max_input_tokens: _Tokens | None = None
    max_output_tokens: _Tokens | None = None
    over: Literal["skip", "clip"] = "skip"
    limit: Annotated[int, Field(ge=1)] | None = None
    block_tokens: Annotated[int, Field(ge=8, le=65_536)] = 512
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")] | None = None

    @model_validator(mode="after")
    def _has_a_window(self) -> "TraceSpec":
        if self.end_s is not None and self.end_s <= self.start_s:
            raise ValueError(
                f"the window is empty: end_s {self.end_s:g} is not after start_s {self.start_s:g}"
            )
        return self

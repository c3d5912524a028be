"""`[[call]]` of a workload file: one kind of call in a job, made once or several times."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from paceline.workloads.durations import Durations
from paceline.workloads.lengths import Lengths
from paceline.workloads.plan import MAX_CALLS

MAX_IMAGES = 16
MAX_IMAGE_PX = 4096

_Side = Annotated[int, Field(ge=1, le=MAX_IMAGE_PX)]


class ImagesSpec(BaseModel):
    """Generated images beside a call's text: how many, and their size in pixels."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    count: Annotated[int, Field(ge=1, le=MAX_IMAGES)] = 1
    width_px: _Side = 512
    height_px: _Side = 512


class CallSpec(BaseModel):
    """One kind of call.

    repeat: how often it is made in a job; `parallel`: all at once, else one after the other. after: the calls
    that must have ended first; None: the call before it in the file; an empty list: it begins with the job.
    Where it waits for several, its text is followed by the answer of each. prompt_tokens: its own new text,
    None: the workload's `prompt_tokens`; output_tokens likewise. wait_ms: between the end of what it waits
    for and this call, spent on a tool or by a person thinking (`wait`). history: `all` carries the
    conversation on, with the model's own answers; `none` begins a new one. hang_up_ms: the client hangs up
    so long after the first token. repeat_prompt: this share of the answer is asked to repeat the prompt.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
    repeat: Lengths = Lengths("fixed", (1,))
    parallel: bool = False
    after: tuple[str, ...] | None = None
    prompt_tokens: Lengths | None = None
    output_tokens: Lengths | None = None
    wait_ms: Durations = Durations("fixed", (0,))
    wait: Literal["tool", "think"] = "think"
    history: Literal["all", "none"] = "all"
    hang_up_ms: Durations | None = None
    repeat_prompt: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = 0.0
    images: ImagesSpec | None = None

    @field_validator("repeat")
    @classmethod
    def _bounded(cls, repeat: Lengths) -> Lengths:
        if repeat.kind in ("normal", "lognormal"):
            raise ValueError(
                f"{repeat.kind} has no upper end; write a number, uniform:LOW:HIGH or choice:A,B"
            )
        return repeat


def check_calls(calls: tuple[CallSpec, ...]) -> None:
    """ValueError where calls cannot be put in order: a name twice, a name that is not before, too many."""
    seen: list[str] = []
    for call in calls:
        if call.name in seen:
            raise ValueError(f"there are two calls {call.name!r}; each has a name of its own")
        for name in call.after or ():
            if name not in seen:
                before = ", ".join(seen) or "none"
                raise ValueError(f"call {call.name!r} is after {name!r}; the calls before it are: {before}")
        seen.append(call.name)
    most = sum(round(call.repeat.greatest()) for call in calls)
    if most > MAX_CALLS:
        raise ValueError(f"a job may have {most:,} calls; at most {MAX_CALLS:,} are possible: lower `repeat`")

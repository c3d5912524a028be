"""`[data]` of a workload file: where prompts, conversations or logged requests come from."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from paceline.workloads.durations import Durations
from paceline.workloads.lengths import MAX_TOKENS

Format = Literal["text", "blocks", "jsonl", "json", "csv", "parquet"]
Rows = Literal["prompt", "conversation", "log"]

_Tokens = Annotated[int, Field(ge=1, le=MAX_TOKENS)]
_Name = Annotated[str, Field(min_length=1)]


class DataSpec(BaseModel):
    """Rows of a file, as jobs; what is left out is found out from the file, and said in the run's notes.

    path: the file. format: how it is written; `text` is a prompt a line, `blocks` are prompts parted by blank
    lines. rows: what a row is: a prompt, a whole conversation, or a logged request. column: where the prompt
    or the conversation is; a dot leads into nested objects. output_column: tokens of the answer.
    image_column: pictures of the prompt. order: as in the file, or shuffled by the workload's seed. limit:
    use so many rows. answers: a conversation carries on what the model answers, or the answers of the file.
    output_lengths: `recorded` asks for answers as long as those of the file, where it has them. think_ms:
    between an answer and the next turn. min_prompt_tokens, max_prompt_tokens: shorter and longer prompts are
    left out; a conversation that grows beyond is cut. group: logged requests of one conversation are one
    job, or each is one; by default each is one where the log has times. unique_prefix: four words before
    each job's first turn, which no other job begins with. on_end: after the last row begin again, or end the
    run. sha256: of the file that the run was begun with.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: _Name
    format: Format | None = None
    rows: Rows | None = None
    column: _Name | None = None
    output_column: _Name | None = None
    image_column: _Name | None = None
    order: Literal["file", "shuffle"] = "file"
    limit: Annotated[int, Field(ge=1)] | None = None
    answers: Literal["model", "recorded"] = "model"
    output_lengths: Literal["workload", "recorded"] = "workload"
    think_ms: Durations | None = None
    min_prompt_tokens: _Tokens | None = None
    max_prompt_tokens: _Tokens | None = None
    group: Literal["conversation", "none"] | None = None
    unique_prefix: bool = False
    on_end: Literal["repeat", "stop"] = "repeat"
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")] | None = None

    @model_validator(mode="after")
    def _fits_together(self) -> "DataSpec":
        low, high = self.min_prompt_tokens, self.max_prompt_tokens
        if low is not None and high is not None and low > high:
            raise ValueError(f"min_prompt_tokens {low} is above max_prompt_tokens {high}")
        if self.format in ("text", "blocks"):
            for name in ("column", "output_column", "image_column"):
                if getattr(self, name) is not None:
                    raise ValueError(f"`{name}`: the format {self.format} has no columns")
            if self.rows not in (None, "prompt"):
                raise ValueError(f"`rows`: the rows of the format {self.format} are prompts")
        return self

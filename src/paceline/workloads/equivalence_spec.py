"""`[equivalence]` of a workload file: prompts that are asked more than once, whoever is asked."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

MOST_PROMPTS = 100_000


class EquivalenceSpec(BaseModel):
    """Which prompts, and how often.

    texts: generated prompts, a text and an instruction each. What the workload's `probe` or `data` has comes
    on top. passes: how often each prompt is asked; all are asked once before any is asked again.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    texts: Annotated[int, Field(ge=0, le=MOST_PROMPTS)] = 30
    passes: Annotated[int, Field(ge=1, le=100)] = 2

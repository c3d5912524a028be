"""`[probe]` of a workload file: problems of a capability probe, as jobs of one request each."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, field_validator

from paceline.config import closest
from paceline.workloads.capability.families import DEFAULT_FAMILIES, FAMILIES

MOST_ITEMS = 100_000


class ProbeSpec(BaseModel):
    """Which problems are asked.

    families: their kinds, dealt in turn, so that each has equally many items, or one more. items: how many
    problems in all. seed: of the problems; None: a fresh one, which is then stored. library, config_sha256:
    what made the problems of a run that has begun; another library or another setting of a family makes
    others, and is refused.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    families: Annotated[tuple[str, ...], Field(min_length=1)] = DEFAULT_FAMILIES
    items: Annotated[int, Field(ge=1, le=MOST_ITEMS)] = 100
    seed: Annotated[int, Field(ge=0, lt=2**63)] | None = None
    library: Annotated[str, Field(min_length=1, max_length=100)] | None = None
    config_sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")] | None = None

    @field_validator("families")
    @classmethod
    def _known(cls, families: tuple[str, ...]) -> tuple[str, ...]:
        for name in families:
            if name not in FAMILIES:
                near = closest(name, list(FAMILIES))
                meant = f"did you mean {near}? " if near else ""
                raise ValueError(f"there is no family {name!r}: {meant}there are {', '.join(FAMILIES)}")
        if len(set(families)) < len(families):
            raise ValueError("a family is named twice")
        # The order is of no meaning, and versions are told apart by it otherwise.
        return tuple(name for name in FAMILIES if name in families)

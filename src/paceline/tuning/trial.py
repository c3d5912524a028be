"""One setting under trial, and what was measured of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from paceline.engines.engine import Settings


@dataclass(frozen=True, slots=True)
class Measured:
    """One start of the engine and what was measured on it: a block.

    values: the goal's metric of each request, keyed by the request's place in the workload, so that settings
    are held against each other prompt by prompt (a metric of the whole load has the one key 0). curve:
    figures a load level, for the trade-off. run_ids: in the store. failure: why the engine did not come up,
    or the run is invalid. place: which block of the tuning it was, from 0: a machine's pace drifts, and
    blocks that are near in time share it. ready_s: what the engine's start took.
    """

    values: Mapping[int, float]
    run_ids: tuple[str, ...] = ()
    curve: tuple[Mapping[str, float], ...] = ()
    failure: str | None = None
    place: int = 0
    ready_s: float = 0.0


@dataclass(slots=True)
class Trial:
    """A setting and its blocks. number 0: the engine's defaults. stopped: why it was given up."""

    number: int
    settings: Settings
    blocks: list[Measured] = field(default_factory=list)
    stopped: str | None = None

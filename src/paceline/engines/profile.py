"""What the tuner found for a model on a machine: settings that `serve` takes, and the evidence for them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from paceline.engines.engine import EngineName, Settings, Tier

SCHEMA = "paceline.profile/1"


@dataclass(frozen=True, slots=True)
class Gain:
    """The winner against the engine's defaults, by fresh prompts in turn: a ratio above 1 is better.

    default, tuned: the metric's values. rounds: of both, each after a start of its own.
    """

    metric: str
    default: float
    tuned: float
    ratio: float
    lo: float
    hi: float
    rounds: int
    requests: int


@dataclass(frozen=True, slots=True)
class Sameness:
    """Greedy answers of the tier beside those at `standard` settings.

    verdict: of `advisor.equivalence`. differing: of `prompts`; first_difference: tokens (or words) in common
    before the first difference, median over the differing ones; None where none differ. unit: `tokens` or
    `words`.
    run_ids: of both sides, in the store. against: settings of the other side.
    """

    verdict: str
    prompts: int
    differing: int
    first_difference: float | None
    unit: str
    run_ids: tuple[str, str]
    against: Settings = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Profile:
    """One tuned tier. model_fingerprint: of the headers; machine: fingerprint of `measure.host`.

    workload, goal: what it was tuned for. evidence: runs and the trade-off curve, for reports.
    """

    engine: EngineName
    engine_version: str | None
    model_name: str
    model_fingerprint: str
    machine: str
    tier: Tier
    goal: str
    workload: str
    settings: Settings
    made_at: datetime
    gain: Gain
    sameness: Sameness | None = None
    evidence: Mapping[str, Any] = field(default_factory=dict)

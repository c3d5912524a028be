"""Tunings for tests: a bench whose truth is known, and journals as they lie on the disk."""

import json
import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from paceline.engines.engine import Settings
from paceline.engines.profile import Sameness
from paceline.engines.space import Choice
from paceline.tuning.bench import Interrupted
from paceline.tuning.goal import Goal, parse_goal
from paceline.tuning.journal import Journal, Tuning
from paceline.tuning.trial import Measured
from paceline.tuning.tune import Tuner, Watch

CHOICES = (
    Choice("spec-type", (None, "ngram-simple", "ngram-mod"), "drafts"),
    Choice("spec-ngram-mod-n-match", (8, 16, 24), "words before a draft", ("spec-type", ("ngram-mod",))),
    Choice("threads", (None, 1, 2), "cores"),
)
SAME = Sameness("same", 16, 0, None, "tokens", ("a", "b"), {"parallel": 4})


@dataclass
class PlannedBench:
    """Answers as an engine would whose speed is `faster(settings)` times the defaults'.

    Blocks differ by a share `starts`, requests by `spread`; `ends_at`: the block in which the user ends it.
    """

    faster: Callable[[Settings], float]
    goal: Goal
    requests: int = 1
    levels: tuple[int, ...] = (1,)
    starts: float = 0.02
    spread: float = 0.05
    ends_at: int | None = None
    seen: list[tuple[dict[str, Any], int, str]] = field(default_factory=list)
    plan: Any = None
    sets: int | None = None

    def block(self, settings: Settings, prompts: int, name: str) -> Measured:
        if self.ends_at is not None and len(self.seen) >= self.ends_at:
            raise Interrupted
        self.seen.append((dict(settings), prompts, name))
        dice = random.Random(f"{sorted(settings.items(), key=str)}/{prompts}/{name}")
        factor = self.faster(settings)
        if math.isnan(factor):
            return Measured({}, failure="out of memory")
        start = math.exp(dice.gauss(0.0, self.starts))
        values = {0: 5.0 * factor * start} if not self.goal.one_stream else {}
        for request in range(self.requests if self.goal.one_stream else 0):
            prompt = random.Random(f"{prompts}/{request}").lognormvariate(0.0, 0.3)
            chance = start * math.exp(dice.gauss(0.0, self.spread))
            values[prompts * 100 + request] = 20.0 * prompt * chance / factor
        curve = tuple({"concurrency": level, "output_tok_s": 50.0 * factor} for level in self.levels)
        return Measured(values, (f"run-{len(self.seen)}",), curve, ready_s=0.0)


def new_tuning(goal: str = "min itl_ms", *, budget_s: float = 1000.0, **changes: Any) -> Tuning:
    return Tuning(
        engine="llama.cpp",
        engine_version="1.0",
        binary=None,
        model="/models/tiny.gguf",
        model_name="tiny",
        model_fingerprint="0123456789abcdef",
        machine="fedcba9876543210",
        tier="fast",
        goal=goal,
        budget_s=budget_s,
        seed=3,
        requests=3,
        levels=[1],
        asked={"workload": {"name": "code-edit", "temperature": 0.0}, "load": {}, "protocol": None},
    ).model_copy(update=changes)


class Clock:
    """Stands in for `time`: each look is so many seconds later, so that a block takes a known time."""

    def __init__(self, step_s: float) -> None:
        self.now, self.step_s = 0.0, step_s

    def monotonic(self) -> float:
        self.now += self.step_s
        return self.now


def tuner_of(journal: Journal, bench: PlannedBench, home: Path) -> Tuner:
    return Tuner(
        journal=journal,
        bench=bench,  # type: ignore[arg-type]
        goal=parse_goal(journal.tuning.goal),
        choices=CHOICES,
        first=({}, {"spec-type": "ngram-mod", "spec-ngram-mod-n-match": 16}),
        standard=None,  # type: ignore[arg-type]
        watch=Watch(),
        home=home,
    )


def read_json(path: Path) -> Any:
    return json.loads(path.read_text())


__all__ = ["CHOICES", "SAME", "Clock", "PlannedBench", "new_tuning", "read_json", "replace", "tuner_of"]

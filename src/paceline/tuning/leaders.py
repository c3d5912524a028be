"""How the settings of a search stand beside the engine's defaults, for those who look on."""

import math
from dataclasses import dataclass

from paceline.engines.engine import Value
from paceline.tuning.goal import Goal
from paceline.tuning.journal import Tuning
from paceline.tuning.standing import figures, standing


@dataclass(frozen=True, slots=True)
class Leader:
    """One setting of the search. value: the metric, `Goal.middle` of all its values; None without a figure.

    ratio: how many times better than the defaults, by all blocks at once; error: a standard error of its log.
    What the search saw of its best is too good (the best of many), and so is no result.
    """

    number: int
    settings: dict[str, Value]
    blocks: int
    value: float | None
    ratio: float | None
    error: float | None
    stopped: str | None


def leaders(tuning: Tuning, goal: Goal) -> list[Leader]:
    """All settings that were tried, the best first, those without a figure last."""
    trials = [entry.trial() for entry in tuning.trials]
    known = standing(trials, goal)
    places = {number: place for place, number in enumerate(known.numbers)}
    found = []
    for entry, trial in zip(tuning.trials, trials, strict=True):
        values = [value for block in trial.blocks for value in figures(block, goal).values()]
        ratio = error = None
        if entry.number in places and 0 in places:
            ahead, error = known.difference(places[entry.number], places[0])
            ratio = math.exp(ahead)
        found.append(
            Leader(
                number=entry.number,
                settings=entry.settings,
                blocks=len(trial.blocks),
                value=goal.middle(values) if values else None,
                ratio=ratio,
                error=error,
                stopped=entry.stopped,
            )
        )
    return sorted(found, key=lambda one: (one.ratio is None, -(one.ratio or 0.0), one.number))

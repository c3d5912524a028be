"""Which trial gets the next block, which is given up, and when the search ends.

A trial is given up only where the blocks show, whenever one looks, that another is better: by a sequential
test that stays valid at any number of looks (a mixture of likelihood ratios: Robbins 1970; Howard, Ramdas,
McAuliffe and Sekhon 2021), its error shared out among the trials, so that the best one is given up in at most
5 % of tunings: exact where the spreads of starts and requests are known, and, with those of standing.py, what
simulations bear out (benches/tune_truth.py). All else that is not promising is just not repeated.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from paceline.tuning.goal import Goal
from paceline.tuning.standing import Standing, figures, standing
from paceline.tuning.trial import Trial

MARGIN = 0.03
# Of tunings in which the best trial may be given up.
_ERROR = 0.05
# Trials that share the error.
_PAIRS = 64
# Differences that the sequential test is sharpest for: their spread, as a share.
_MIXTURE = 0.2
# The defaults are measured again when so many blocks have passed: what all else is compared with, and the
# machine's pace.
_CONTROL_EVERY = 10
# Of the search's time, what is kept for repeats of the leading trials.
_REPEATS = 0.2
# Blocks that a pick has at least, and that are given to one trial at most.
_FEWEST, _MOST = 3, 8
# A lead that is this likely needs no further block.
_SURE = 0.95
# What a single start may be off by, as a share, though no other start has shown it (a busy machine, a hot
# core): one block alone gives up only what is far behind.
_ONE_START = 0.1
# Starts that may fail before a trial that has also come up is given up; the defaults never are.
_MOST_FAILED = 2


@dataclass(frozen=True, slots=True)
class Step:
    """What to do next. `block`: measure trial number `trial` on set `prompts` of the workload's prompts.

    `new`: ask the search for new settings; `done`: the search ends. given_up: trial numbers that are to be
    stopped first, each with the reason. why: in a few words.
    """

    kind: Literal["block", "new", "done"]
    trial: int | None = None
    prompts: int = 0
    why: str = ""
    given_up: Mapping[int, str] = field(default_factory=dict)


class Race:
    """Decides from the trials alone, and so the same after a resumption.

    margin: differences below this share are of no interest.
    """

    def __init__(self, goal: Goal, margin: float = MARGIN) -> None:
        self.goal = goal
        self.margin = margin

    def next(self, trials: Sequence[Trial], left: float, *, exhausted: bool = False) -> Step:
        """left: of the search's budget, 0 to 1. exhausted: the search has nothing more to propose."""
        known = standing(trials, self.goal)
        given_up = self._given_up(trials, known)
        live = [trial for trial in trials if trial.stopped is None and trial.number not in given_up]
        kind, trial, why = self._decide(live, known, left, exhausted=exhausted)
        prompts = len(trial.blocks) if trial else 0
        return Step(kind, trial.number if trial else None, prompts, why, given_up)

    def pick(self, trials: Sequence[Trial]) -> int | None:
        """The number of the best trial that is not given up; None where none has a figure.

        One that has been measured once only is not picked where another than the defaults has been measured
        more often: it may owe its figure to a lucky start.
        """
        known = standing(trials, self.goal)
        live = [trial.number for trial in trials if trial.stopped is None]
        often = [n for n, blocks in zip(known.numbers, known.blocks, strict=True) if blocks > 1 and n in live]
        place = known.leader(often if any(often) else live)
        return None if place is None else known.numbers[place]

    def _given_up(self, trials: Sequence[Trial], known: Standing) -> dict[int, str]:
        """Of trials that are still in the race: those that do not come up, and those shown to be worse."""
        live = [trial for trial in trials if trial.stopped is None and trial.number]
        reasons = {trial.number: reason for trial in live if (reason := self._failing(trial))}
        racing = [t.number for t in trials if t.stopped is None and t.number not in reasons]
        leader = known.leader(racing)
        for place, number in enumerate(known.numbers):
            if leader is None or number not in racing or number == 0 or place == leader:
                continue
            ahead, error = known.difference(leader, place)
            alone = min(known.blocks[place], known.blocks[leader]) == 1
            if evidence(ahead, math.hypot(error, _ONE_START if alone else 0.0)) >= _PAIRS / _ERROR:
                best = f"trial {known.numbers[leader]} is {math.exp(ahead):.3g} times better"
                reasons[number] = f"{best}, and that is no chance"
        return reasons

    def _failing(self, trial: Trial) -> str | None:
        failed = [block for block in trial.blocks if not figures(block, self.goal)]
        if not failed or (len(failed) < len(trial.blocks) and len(failed) < _MOST_FAILED):
            return None
        return failed[-1].failure or f"no request gave a value of {self.goal.metric}"

    def _decide(
        self, live: Sequence[Trial], known: Standing, left: float, *, exhausted: bool
    ) -> tuple[Literal["block", "new", "done"], Trial | None, str]:
        if left <= 0.0:
            return "done", None, "the search's time is over"
        fresh = next((trial for trial in live if not trial.blocks), None)
        if fresh is not None:
            return "block", fresh, "its first block"
        if self._control_due(live):
            return "block", live[0], "again, as a control"
        checked = self._promising(live, known)
        if checked is not None:
            return "block", checked, "looks like the best: once more"
        if left > _REPEATS and not exhausted:
            return "new", None, "settings not tried yet"
        repeated = self._contender(live, known)
        if repeated is not None:
            return "block", repeated, "among the best: to tell them apart"
        if exhausted:
            return "done", None, "no other setting is likely to be better"
        return "new", None, "the best is clear: settings not tried yet"

    def _control_due(self, live: Sequence[Trial]) -> bool:
        """The defaults come second too, so that the spread of starts is seen early."""
        if not live or live[0].number or (len(live[0].blocks) > 1 and not self._measured(live[0])):
            return False
        place = max(block.place for trial in live for block in trial.blocks)
        last = max(block.place for block in live[0].blocks)
        return len(live[0].blocks) < 2 or place - last >= _CONTROL_EVERY

    def _measured(self, trial: Trial) -> int:
        return sum(1 for block in trial.blocks if figures(block, self.goal))

    def _promising(self, live: Sequence[Trial], known: Standing) -> Trial | None:
        """The best by now, where it was measured once only: what the search builds on must be sure."""
        leader = known.leader([trial.number for trial in live])
        best = next((t for t in live if leader is not None and t.number == known.numbers[leader]), None)
        # A start that failed beside one that did not is made up for once.
        once = best is not None and self._measured(best) == 1 and len(best.blocks) <= _MOST_FAILED
        return best if once and best is not None and best.number else None

    def _contender(self, live: Sequence[Trial], known: Standing) -> Trial | None:
        """The leader or who is likeliest to be better than it (top two), whichever has fewer blocks.

        None where the leader has enough blocks and nothing is likely to be better by more than the margin.
        """
        by_number = {trial.number: trial for trial in live}
        leader = known.leader(list(by_number))
        if leader is None:
            return None
        first = by_number[known.numbers[leader]]
        chances = []
        for place, number in enumerate(known.numbers):
            if number in by_number and place != leader and known.blocks[place] < _MOST:
                ahead, error = known.difference(place, leader)
                chances.append((_chance(ahead - math.log1p(self.margin), error), number))
        chance, number = max(chances, default=(0.0, -1))
        if chance > 1.0 - _SURE:
            second = by_number[number]
            return min(first, second, key=lambda trial: (len(trial.blocks), trial.number))
        return first if self._measured(first) < _FEWEST and len(first.blocks) < _MOST else None


def evidence(ahead: float, error: float) -> float:
    """How many times likelier it is, by what was seen, that a difference is above 0 than that it is 0.

    ahead: its estimate; error: the estimate's standard error. Against half-normal differences of spread
    _MIXTURE. Where the difference is 0 or below, the chance that it ever reaches x is at most 1 / x, however
    often one looks (Ville 1939; Robbins 1970).
    """
    from scipy.special import log_ndtr

    if error == 0.0:
        return math.inf if ahead > 0.0 else 0.0
    known = _MIXTURE**2 / (_MIXTURE**2 + error**2)
    z = ahead / error
    log = math.log(2.0) + float(log_ndtr(z * math.sqrt(known))) + 0.5 * (math.log1p(-known) + known * z * z)
    return math.exp(min(log, 700.0))


def _chance(ahead: float, error: float) -> float:
    from scipy.special import ndtr

    return float(ndtr(ahead / error)) if error else float(ahead > 0.0)

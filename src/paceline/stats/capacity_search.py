"""Where to measure next when a capacity is sought, and what has been found."""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from paceline.stats.capacity import Posterior, Step, posterior
from paceline.stats.capacity_margin import Closeness, chance_to_miss

Verdict = Literal["found", "not enough data", "above the range", "below the range"]

# Steps beside the expected capacity tell its slope as well as its place.
_BESIDE = 1.08
_QUANTILES = (0.15, 0.85)
# A round is of about three steps; fewer rounds than this are no evidence.
_FEWEST_ROUNDS = 4
_STEPS_A_ROUND = 3
# Each load of the first walk upward is so many times the one before.
_STRIDE = 2.0
# A load is not tried again when the capacity lies above it with less than this probability.
_HOPELESS = 0.05
# The walk upward ends at a step that missed more than would happen by chance with this probability.
_BY_CHANCE = 0.05


@dataclass(frozen=True)
class Asked:
    """What is sought: the highest load in `lowest`..`highest` at which `share` of requests meet them all.

    `whole`: loads are whole numbers. `confidence`: the load found is above the capacity with a probability of
    at most 1 - confidence. `tolerance`: the search ends when the interval is no wider than this share.
    """

    share: float
    lowest: float
    highest: float
    whole: bool = False
    confidence: float = 0.95
    tolerance: float = 0.05

    @property
    def tail(self) -> float:
        """What the interval leaves out at each end: a third of what is allowed, for the model may err."""
        return (1.0 - self.confidence) / 3.0

    def rounded(self, load: float) -> float:
        """A load that can be asked for: whole, or of three digits; within the range."""
        if self.whole:
            return float(min(max(math.floor(load + 1e-9), math.ceil(self.lowest)), math.floor(self.highest)))
        return min(max(float(f"{load:.3g}"), self.lowest), self.highest)


@dataclass(frozen=True)
class Observation:
    """One step: `met` has, for each criterion, the number of `attempted` requests that met it.

    `close`: for each criterion, how close they came to the limit, where that is known.
    """

    load: float
    attempted: int
    met: tuple[int, ...]
    close: tuple[Closeness | None, ...] | None = None

    def passes(self, share: float) -> bool:
        """Whether it met every criterion, by itself."""
        return all(met >= share * self.attempted for met in self.met)

    def fails(self, share: float) -> bool:
        """Whether it missed more than chance explains: one of three requests may well fail."""
        from scipy.special import bdtrc

        worst = self.attempted - min(self.met)
        return worst > 0 and float(bdtrc(worst - 1, self.attempted, 1.0 - share)) < _BY_CHANCE

    @property
    def clear(self) -> bool:
        """Whether every criterion was met by a wide margin."""
        return self.close is not None and all(one is not None and one.clear for one in self.close)


@dataclass(frozen=True)
class Finding:
    """`load`: the highest load shown to meet. `lo`..`hi`: the interval of the capacity, from `load` on.

    `estimate`: the median of the capacity. `needs_share`: with `not enough data`, time that is still needed,
    as a share of what was spent on steps near the capacity. `inflation`: requests that tell as much as one.
    """

    verdict: Verdict
    load: float | None
    lo: float
    hi: float
    estimate: float
    needs_share: float | None = None
    inflation: float = 1.0


def finding(observations: Sequence[Observation], asked: Asked) -> Finding:
    """What the steps show, of which there is at least one."""
    known = _known(tuple(observations), asked)
    lo, hi, middle = known.lo, known.hi, known.middle
    inflation = known.inflation
    if known.above(asked.highest) >= 1.0 - asked.tail:
        return Finding("above the range", asked.highest, lo, hi, middle, inflation=inflation)
    if known.above(asked.lowest) <= asked.tail:
        return Finding("below the range", None, lo, hi, middle, inflation=inflation)
    rounds = len(observations) - _bracketing(observations, asked)
    narrow = hi <= lo * (1.0 + asked.tolerance)
    if narrow and lo >= asked.lowest and rounds >= _FEWEST_ROUNDS * _STEPS_A_ROUND:
        return Finding("found", lo, lo, hi, middle, inflation=inflation)
    wide = math.log(max(known.raw_hi / known.raw_lo, 1.0 + 1e-9)) / math.log1p(asked.tolerance)
    needs = max(wide**2 - 1.0, (_FEWEST_ROUNDS * _STEPS_A_ROUND - rounds) / max(rounds, 1), 0.1)
    load = lo if lo >= asked.lowest else None
    return Finding("not enough data", load, lo, hi, middle, needs, inflation)


def next_loads(observations: Sequence[Observation], asked: Asked, seed: int) -> list[float]:
    """The loads of the next round in the order in which to measure them; none when the search is over."""
    if not observations:
        return [asked.rounded(asked.lowest)]
    if finding(observations, asked).verdict != "not enough data":
        return []
    if not any(one.fails(asked.share) for one in observations):
        top = max(one.load for one in observations)
        return [asked.rounded(top * _STRIDE)] if top < asked.highest else [top]
    if max(one.load for one in observations) <= asked.lowest:
        return [asked.rounded(asked.lowest)]
    known = _known(tuple(observations), asked)
    ceiling = min(
        [
            _STRIDE * max(one.load for one in observations),
            *(
                one.load
                for one in observations
                if not one.passes(asked.share) and known.above(one.load) < _HOPELESS
            ),
        ]
    )
    middle = known.middle_raw
    wanted = [
        min(known.quantile(_QUANTILES[0]), middle / _BESIDE),
        middle,
        max(known.quantile(_QUANTILES[1]), middle * _BESIDE),
    ]
    if asked.whole:
        wall = _wall(observations)
        below = math.floor(middle if wall is None else wall)
        # Between two neighbours lies the capacity of a wall.
        beside = [] if _contrast(observations, asked, below) else [wanted[0], math.ceil(wanted[2])]
        wanted = [*beside, middle, math.floor(middle) + 1.0, below, below + 1.0]
    loads = sorted({asked.rounded(min(load, ceiling)) for load in wanted})
    random.Random(f"{seed}/{len(observations)}").shuffle(loads)
    return loads


def _wall(observations: Sequence[Observation]) -> float | None:
    """Where the metric passes its limit, between the loads nearest to it on either side; None where unknown.

    A guess of where to measure, and no evidence.
    """
    below: tuple[float, float] | None = None
    above: tuple[float, float] | None = None
    for one in sorted(observations, key=lambda one: one.load):
        if one.close is None or any(close is None for close in one.close):
            continue
        high = max(close.high for close in one.close if close is not None)
        if high <= 0.0:
            below = (math.log(one.load), high)
        elif above is None:
            above = (math.log(one.load), high)
    if below is None or above is None or above[0] <= below[0]:
        return None
    part = -below[1] / (above[1] - below[1])
    return math.exp(below[0] + part * (above[0] - below[0]))


def _contrast(observations: Sequence[Observation], asked: Asked, load: float) -> bool:
    """Whether all steps at the load met by a wide margin and all at the next whole number failed."""
    here = [one for one in observations if one.load == load]
    beyond = [one for one in observations if one.load == load + 1.0]
    return (
        bool(here and beyond)
        and all(one.clear for one in here)
        and all(one.fails(asked.share) for one in beyond)
    )


def _bracketing(observations: Sequence[Observation], asked: Asked) -> int:
    """How many steps the first walk upward took: up to the first that failed."""
    for place, one in enumerate(observations):
        if one.fails(asked.share):
            return place + 1
    return len(observations)


@dataclass(frozen=True)
class _Known:
    """The posteriors of all criteria: the capacity is the lowest of theirs."""

    posteriors: tuple[Posterior, ...]
    asked: Asked

    def quantile(self, p: float) -> float:
        return min(one.quantile(p) for one in self.posteriors)

    def above(self, load: float) -> float:
        return min(one.above(load) for one in self.posteriors)

    @property
    def raw_lo(self) -> float:
        return self.quantile(self.asked.tail)

    @property
    def raw_hi(self) -> float:
        return self.quantile(1.0 - self.asked.tail)

    @property
    def middle_raw(self) -> float:
        return self.quantile(0.5)

    @property
    def lo(self) -> float:
        return self._shown(self.raw_lo)

    @property
    def hi(self) -> float:
        return self._shown(self.raw_hi)

    @property
    def middle(self) -> float:
        return self._shown(self.middle_raw)

    @property
    def inflation(self) -> float:
        return max(one.inflation for one in self.posteriors)

    def _shown(self, load: float) -> float:
        """A capacity in whole requests is the last whole number under it."""
        return float(math.floor(load + 1e-9)) if self.asked.whole else load


@lru_cache(maxsize=512)
def _known(observations: tuple[Observation, ...], asked: Asked) -> _Known:
    criteria = len(observations[0].met)
    return _Known(
        tuple(
            posterior(
                [Step(one.load, one.attempted, one.met[criterion]) for one in observations],
                asked.share,
                asked.lowest,
                asked.highest,
                _by_margin(observations, asked, criterion),
            )
            for criterion in range(criteria)
        ),
        asked,
    )


def _by_margin(
    observations: tuple[Observation, ...], asked: Asked, criterion: int
) -> tuple[float, float] | None:
    """The highest whole load that meets by its margin, under all that failed; the chance that it does not."""
    if not asked.whole:
        return None
    failed = min((one.load for one in observations if not one.passes(asked.share)), default=math.inf)
    for load in sorted({one.load for one in observations if one.load < failed}, reverse=True):
        steps = [
            (one.attempted, one.met[criterion], None if one.close is None else one.close[criterion])
            for one in observations
            if one.load == load
        ]
        chance = chance_to_miss(steps, asked.share)
        if chance is not None and chance <= asked.tail:
            return load, chance
    return None

"""The pick against the defaults on fresh prompts, in turn: is the gain real?

What the search saw of its pick is too good, as the best of many noisy figures is. Here both sides are
measured anew, each round after a start of its own, and a round counts once however many requests it has: what
starts differ by does not shrink with requests.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from paceline.engines.profile import Gain
from paceline.tuning.goal import Goal
from paceline.tuning.trial import Measured
from paceline.units import format_number

Floats = npt.NDArray[np.float64]
Side = Literal["default", "tuned"]
FEWEST_ROUNDS = 3
# Of a tuning, however long its budget is; a gain that takes more is not asked for.
MOST_ROUNDS = 100
# Of intervals that are called 95 %: a little more pays for what Student's rests on, and few rounds of a
# drifting machine are not: normal and independent. Simulated, they cover 95 to 97 % (benches/tune_truth.py).
_NOMINAL = 0.96
# Rounds that agree to the last digit do not prove that the next one would: the spread between rounds is never
# taken for less than this share.
_LEAST_SPREAD = 0.002
# Of the rounds that are said to be needed, this share of tunings finds the gain with them.
_POWER = 0.8


@dataclass(frozen=True, slots=True)
class Finding:
    """gain: None where fewer than three rounds are whole. real: the interval is clear of 1, to the good, and
    the tuned side failed in no more rounds than the defaults.

    sentence: all of it in words. rounds_needed: rounds in all that would show a gain of the size seen; None
    where it is shown, where there is none, or where more than MOST_ROUNDS would be needed.
    """

    gain: Gain | None
    real: bool
    sentence: str
    rounds_needed: int | None


@dataclass(frozen=True, slots=True)
class _Rounds:
    """default, tuned: the metric, a round each, float64[n], over the prompts that both sides answered.

    requests: values of both sides in them. unpaired: values left out for want of a partner. lost: rounds left
    out. failed: rounds in which the tuned side failed and the defaults did not, less those the other way.
    """

    default: Floats
    tuned: Floats
    requests: int
    unpaired: int
    lost: int
    failed: int


@dataclass(frozen=True, slots=True)
class _Interval:
    ratio: float
    lo: float
    hi: float
    # Size of the effect, and spread between rounds, on the scale that was tested.
    effect: float
    spread: float


def round_order(seed: int, number: int) -> tuple[Side, Side]:
    """Which side goes first in a round. Of each two rounds one is drawn and the next is its mirror.

    So a machine that grows steadily faster or slower favours neither side.
    """
    first: Side = "default" if np.random.default_rng((seed, number // 2)).random() < 0.5 else "tuned"
    if number % 2:
        first = "tuned" if first == "default" else "default"
    return ("default", "tuned") if first == "default" else ("tuned", "default")


def gain(
    default_blocks: Sequence[Measured], tuned_blocks: Sequence[Measured], goal: Goal, *, looks: int = 1
) -> Finding:
    """What rounds show: `default_blocks[i]` and `tuned_blocks[i]` are the blocks of round i.

    A round's figure is the mean log ratio over the prompts that both sides answered; the interval is
    Student's over rounds. For a metric of the whole load, where a block may be worth 0, it is the ratio of
    means over rounds with Fieller's interval (1954), open above where the defaults' figure is not clear of 0.

    looks: how often the question is asked in one tuning, this time included: with more than one chance the
    intervals are widened (Bonferroni), so that all chances together err in 5 %.
    """
    rounds = _rounds(default_blocks, tuned_blocks, goal)
    count = len(rounds.default)
    if count < FEWEST_ROUNDS:
        least = f"{count} whole {'round' if count == 1 else 'rounds'} of {FEWEST_ROUNDS} at least"
        return Finding(None, False, f"no verdict: {least}{_aside(rounds)}", FEWEST_ROUNDS)
    if not (rounds.default.any() or rounds.tuned.any()):
        return Finding(None, False, f"no verdict: {goal.metric} is 0 on both sides{_aside(rounds)}", None)
    found = _of_logs(rounds, goal, looks) if goal.one_stream else _of_means(rounds, looks)
    result = Gain(
        goal.metric,
        goal.middle(rounds.default),
        goal.middle(rounds.tuned),
        found.ratio,
        found.lo,
        found.hi,
        count,
        rounds.requests,
    )
    clear = found.lo > 1.0 or (math.isinf(found.ratio) and found.lo >= 1.0)
    if clear and rounds.failed > 0:
        more = f"{rounds.failed} more {'round' if rounds.failed == 1 else 'rounds'} than the defaults"
        sentence = f"no gain, however fast: the tuned settings failed in {more}{_aside(rounds)}"
        return Finding(result, False, sentence, None)
    real, needed = clear, None if clear else _rounds_needed(found, count, looks)
    return Finding(result, real, _sentence(result, goal, needed, real=real) + _aside(rounds), needed)


def _rounds(default_blocks: Sequence[Measured], tuned_blocks: Sequence[Measured], goal: Goal) -> _Rounds:
    defaults, tuned = [], []
    requests = unpaired = lost = failed = 0
    for a, b in zip(default_blocks, tuned_blocks, strict=False):
        shared = sorted(a.values.keys() & b.values.keys()) if a.failure is b.failure is None else []
        pairs = [(a.values[key], b.values[key]) for key in shared]
        whole = [(x, y) for x, y in pairs if goal.counts(x) and goal.counts(y)]
        if not whole:
            lost += 1
            failed += _came_to_nothing(b, goal) - _came_to_nothing(a, goal)
            continue
        unpaired += len(a.values.keys() | b.values.keys()) - len(whole)
        requests += 2 * len(whole)
        defaults.append(goal.middle(x for x, _ in whole))
        tuned.append(goal.middle(y for _, y in whole))
    lost += abs(len(default_blocks) - len(tuned_blocks))
    return _Rounds(np.array(defaults), np.array(tuned), requests, unpaired, lost, failed)


def _came_to_nothing(block: Measured, goal: Goal) -> bool:
    return block.failure is not None or not any(map(goal.counts, block.values.values()))


def _reach(count: int, looks: int) -> float:
    from scipy.special import stdtrit

    return -float(stdtrit(count - 1, (1.0 - _NOMINAL) / 2.0 / looks))


def _of_logs(rounds: _Rounds, goal: Goal, looks: int) -> _Interval:
    sign = -1.0 if goal.direction == "min" else 1.0
    logs = sign * (np.log(rounds.tuned) - np.log(rounds.default))
    effect = float(logs.mean())
    spread = max(float(logs.std(ddof=1)), _LEAST_SPREAD)
    reach = _reach(len(logs), looks) * spread / math.sqrt(len(logs))
    return _Interval(math.exp(effect), math.exp(effect - reach), math.exp(effect + reach), effect, spread)


def _of_means(rounds: _Rounds, looks: int) -> _Interval:
    """Fieller's interval of a ratio of means: all R for which the mean of tuned - R default may be 0."""
    default, tuned = float(rounds.default.mean()), float(rounds.tuned.mean())
    spread = max(float((rounds.tuned - rounds.default).std(ddof=1)), _LEAST_SPREAD * max(default, tuned))
    square = _reach(len(rounds.default), looks) ** 2 / len(rounds.default)
    covariance = np.cov(rounds.default, rounds.tuned)
    a = default**2 - square * max(float(covariance[0, 0]), (_LEAST_SPREAD * default) ** 2)
    b = default * tuned - square * float(covariance[0, 1])
    c = tuned**2 - square * max(float(covariance[1, 1]), (_LEAST_SPREAD * tuned) ** 2)
    lo, hi = 0.0, math.inf
    if default == 0.0:
        # Any ratio to nothing is infinite: all that can be said is whether the tuned figure is clear of 0.
        lo = 1.0 if c > 0.0 else 0.0
    else:
        root = math.sqrt(max(b * b - a * c, 0.0))
        if a > 0.0:
            lo, hi = max((b - root) / a, 0.0), (b + root) / a
        elif c > 0.0 and a < 0.0:
            lo = (b - root) / a
    return _Interval(tuned / default if default else math.inf, lo, hi, tuned - default, spread)


def _rounds_needed(found: _Interval, count: int, looks: int) -> int | None:
    """Rounds in all that find an effect of this size and spread in _POWER of tunings; None: too many."""
    from scipy.special import ndtri

    if found.effect <= 0.0:
        return None
    for more in range(count + 1, MOST_ROUNDS + 1):
        reach = (_reach(more, looks) + float(ndtri(_POWER))) * found.spread / math.sqrt(more)
        if reach <= found.effect:
            return more
    return None


def _sentence(gain: Gain, goal: Goal, needed: int | None, *, real: bool) -> str:
    figures = (
        f"{goal.metric} {format_number(gain.tuned)} {goal.unit} against {format_number(gain.default)} at the "
        f"defaults, over {gain.rounds} rounds"
    )
    if math.isinf(gain.ratio):
        shown = "the gain is real" if real else "not enough to call it a gain"
        return f"{shown}: {figures}; the defaults never met the limits, so there is no ratio"
    above = f"{gain.hi:.3g}" if math.isfinite(gain.hi) else "no bound"
    ratio = f"{gain.ratio:.3g} times better (95 % interval {gain.lo:.3g} to {above})"
    if real:
        return f"the gain is real: {ratio}; {figures}"
    if gain.hi < 1.0:
        return f"worse than the defaults: {ratio}; {figures}"
    more = ""
    if needed is not None:
        more = f"; about {needed} rounds in all (a longer budget) would show a gain of this size"
    elif gain.ratio > 1.0:
        more = f"; not even {MOST_ROUNDS} rounds would show a gain of this size"
    return f"no gain shown, the interval holds 1: {ratio}; {figures}{more}"


def _aside(rounds: _Rounds) -> str:
    words = []
    if rounds.lost:
        words.append(f"{rounds.lost} {'round' if rounds.lost == 1 else 'rounds'} left out (a side failed)")
    if rounds.unpaired:
        words.append(f"{rounds.unpaired} requests left out (no figure on one side)")
    return "".join(f"; {word}" for word in words)

"""What each kind of evidence shows of two endpoints being one model."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from paceline.stats.agreement import Agreement, exact
from paceline.stats.binomial import PairedShares, mcnemar_p, paired_difference
from paceline.stats.compare import Interval

Outcome = Literal["same", "different", "not enough data"]
# One-sided. Whole texts, beginnings, and silence to either side each have so much: 5 % in all.
_CHANCE = 0.0125
# Below this a side's answers are so seldom the same twice that the verdict leans on few of them.
LOW_REPEATS = 0.5
_MOST_NEEDED = 1_000_000


@dataclass(frozen=True)
class Finding:
    """What one kind of evidence shows. needs_more: about so many more prompts would decide; None: unknown."""

    outcome: Outcome
    words: str
    needs_more: int | None = None


@dataclass(frozen=True)
class Scores:
    """Of probe items in the first pass: the share that each side solved, and the difference B - A."""

    a: Interval
    b: Interval
    difference: PairedShares


def texts_finding(texts: Agreement, beginnings: Agreement, margin: float, *, once: bool) -> Finding:
    """Of the answers' texts. Whole answers decide; where they repeat too seldom to, their beginnings do."""
    if texts.n == 0:
        return Finding("not enough data", "no prompt was answered each time by both")
    if once:
        return _once(texts, margin)
    whole, begun = _outcome(texts, margin), _outcome(beginnings, margin)
    noise = _noise(texts)
    if whole == "same":
        return Finding(
            "same",
            f"A and B agree as each does with itself: {_lost(texts)} of what one repeats the other does "
            f"not say{noise}",
        )
    if whole == "different":
        return Finding(
            "different",
            f"A and B agree less than each with itself: {_lost(texts)} of what one repeats the other does "
            f"not say{noise}",
        )
    if begun == "different":
        return Finding(
            "different",
            f"answers of A and B part earlier than those of one side do: {_lost(beginnings)} of what one "
            f"begins alike the other does not{noise}",
        )
    if begun == "same" and not texts.lost.value > margin:
        return Finding(
            "same",
            f"answers are too seldom repeated whole to tell, but they begin alike in A and B as in each: "
            f"{_lost(beginnings)} of what one begins alike the other does not{noise}",
        )
    needs = [
        *(one.more_for_same(margin) for one in (texts, beginnings)),
        *(one.more_for_different() for one in (texts, beginnings)),
    ]
    return Finding(
        "not enough data",
        f"texts do not decide: {_lost(texts)} of what one repeats the other does not say{noise}",
        min((n for n in needs if n is not None), default=None),
    )


def answered_finding(only_a: int, only_b: int) -> Finding | None:
    """Of prompts that one side leaves unanswered; None where that shows nothing."""
    if not only_a + only_b or mcnemar_p(only_a, only_b) > 2 * _CHANCE:
        return None
    who, other, n, m = ("A", "B", only_a, only_b) if only_a > only_b else ("B", "A", only_b, only_a)
    return Finding(
        "different",
        f"{other} leaves {n:,} prompts unanswered that {who} answers"
        + (f", and {who} {m:,} that {other} answers" if m else ""),
    )


def scores_of(a: Mapping[str, Sequence[bool]], b: Mapping[str, Sequence[bool]]) -> Scores | None:
    """Of the first pass over the prompts that both were scored on; None without any."""
    both = [prompt for prompt in a if prompt in b and a[prompt] and b[prompt]]
    if not both:
        return None
    counts = {(one, other): 0 for one in (False, True) for other in (False, True)}
    for prompt in both:
        counts[bool(a[prompt][0]), bool(b[prompt][0])] += 1
    n = len(both)
    return Scores(
        exact(counts[True, True] + counts[True, False], n),
        exact(counts[True, True] + counts[False, True], n),
        paired_difference(counts[True, True], counts[True, False], counts[False, True], counts[False, False]),
    )


def scores_finding(scores: Scores, margin: float) -> Finding:
    """Of the difference of scores."""
    apart = scores.difference
    ends = f"{100.0 * apart.lo:+.1f} to {100.0 * apart.hi:+.1f}"
    said = f"B's score is {100.0 * apart.difference:+.1f} points ({ends}) against A's"
    detail = (
        f"{said}, over {apart.n:,} items: {apart.only_a} solved by A alone, {apart.only_b} by B alone"
        f" (McNemar p {apart.p_value:.2g})"
    )
    if apart.lo > margin or apart.hi < -margin:
        return Finding("different", detail)
    if -margin <= apart.lo and apart.hi <= margin:
        return Finding("same", detail)
    return Finding("not enough data", detail, _more_items(apart, margin))


def _outcome(one: Agreement, margin: float) -> Outcome:
    if one.lost.hi is not None and one.lost.hi <= margin:
        return "same"
    if one.lost.lo is not None and one.lost.lo > 0.0 and one.p_value <= _CHANCE:
        return "different"
    return "not enough data"


def _once(texts: Agreement, margin: float) -> Finding:
    said = f"{_share(texts.ab)} of answers are the same"
    if _outcome(texts, margin) == "same":
        return Finding("same", f"{said}, which no repetition could better by more than the margin")
    return Finding(
        "not enough data",
        f"{said}, and how often each side agrees with itself is unknown: ask each prompt twice",
        texts.more_for_same(margin),
    )


def _more_items(apart: PairedShares, margin: float) -> int | None:
    """If the difference stays and the interval shrinks as 1 / sqrt(n)."""
    size = abs(apart.difference)
    half = (apart.hi - apart.lo) / 2.0
    room = abs(margin - size)
    if room <= 0.0:
        return None
    more = apart.n * ((half / room) ** 2 - 1.0)
    return max(math.ceil(more), 1) if more < _MOST_NEEDED else None


def _noise(texts: Agreement) -> str:
    if math.isnan(texts.repeats) or texts.repeats >= LOW_REPEATS:
        return ""
    return f"; a side repeats itself in only {_percent(texts.repeats)} of prompts, so that texts say little"


def _lost(one: Agreement) -> str:
    if math.isnan(one.lost.value):
        return "nothing is repeated"
    lo, hi = one.lost.lo, one.lost.hi
    ends = f" ({_percent(lo)} to {_percent(hi)})" if lo is not None and hi is not None else ""
    return f"{_percent(one.lost.value)}{ends}"


def _share(one: Interval) -> str:
    if one.lo is None or one.hi is None:
        return "-"
    return f"{_percent(one.value)} ({_percent(one.lo)} to {_percent(one.hi)})"


def _percent(value: float) -> str:
    return f"{100.0 * max(value, 0.0):.0f}%" if value <= 0.0 or value >= 0.1 else f"{100.0 * value:.1f}%"

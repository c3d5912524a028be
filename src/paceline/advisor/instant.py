"""Does it feel instant? A verdict for each way of using an answer, by limits from the literature.

Judged are 95 of 100 requests: what happens to one in twenty is what people remember. A grade is given when
the whole interval of that share's time lies within its limit.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from paceline.advisor.digest import CUT
from paceline.advisor.evidence import OfferEvidence
from paceline.catalogue.thresholds import limit_ms, pace_tok_s
from paceline.stats.quantiles import Estimate, quantile_estimate

Floats = npt.NDArray[np.float64]
ModeName = Literal["read", "listen", "type", "wait"]
Grade = Literal["instant", "fluent", "noticeable", "slow", "too slow", "not enough data", "no answers"]

SHARE = 0.95
SENTENCE_TOKENS = 20
"""A first sentence: 15 words at 0.75 words a token, about what is read or said in one go."""


@dataclass(frozen=True)
class Mode:
    """A way of using an answer.

    usable_tokens: tokens of the answer that must be there before it is of use; None: all of them. limits: of
    the time until then, the grade and the threshold's name, the best first; beyond the last it is too slow.
    pace: the threshold that text has to keep up with afterwards; None: nobody follows it.
    """

    name: ModeName
    about: str
    usable_tokens: int | None
    limits: tuple[tuple[Grade, str], ...]
    pace: str | None


MODES: dict[ModeName, Mode] = {
    mode.name: mode
    for mode in (
        Mode(
            "read",
            "a person reads along (chat): of use from the first token",
            1,
            (("instant", "direct"), ("fluent", "flow"), ("slow", "attention")),
            "reading",
        ),
        Mode(
            "listen",
            "a person listens (voice): of use from the first sentence, at the pace of speech",
            SENTENCE_TOKENS,
            (("instant", "turn"), ("noticeable", "silence")),
            "speech",
        ),
        Mode(
            "type",
            "a person goes on typing (completion): of use when it is whole",
            None,
            (("instant", "direct"), ("fluent", "rapid"), ("noticeable", "flow")),
            None,
        ),
        Mode(
            "wait",
            "a person or program waits for the whole (a step of an agent, a form): of use when it is whole",
            None,
            (("instant", "direct"), ("fluent", "flow"), ("slow", "attention")),
            None,
        ),
    )
}


@dataclass(frozen=True)
class InstantVerdict:
    """One mode. usable_ms: the 95th percentile of the time to a usable answer. limit: the threshold of the grade.

    pace_share: requests whose text came at least at the mode's pace, None without one. pace_times: the median
    rate over the pace. stall_ms: the 95th percentile of the longest gap, None where nobody follows the text.
    needs_n: further requests that may settle it, where there is not enough data. In words:
    `report.instant_text`.
    """

    mode: Mode
    grade: Grade
    usable_ms: Estimate | None
    limit: str | None
    pace_share: float | None
    pace_times: float | None
    stall_ms: Estimate | None
    needs_n: int | None


def instant(evidence: OfferEvidence, modes: Sequence[ModeName] = tuple(MODES)) -> list[InstantVerdict]:
    """How an offer feels in each mode, by the pooled requests of its runs."""
    return [_verdict(evidence, MODES[name]) for name in modes]


def usable_ms(evidence: OfferEvidence, mode: Mode) -> tuple[Floats, Floats]:
    """The time to a usable answer of the requests that have one, in order, and lower bounds of those cut.

    TTFT of the answer, and the mode's further tokens at the request's own rate; no later than its end.
    Without a stream, and where all of the answer is needed, its end.
    """
    columns = evidence.columns
    whole_ms = columns["e2e_ms"]
    first_ms = np.where(np.isnan(columns["ttfat_ms"]), whole_ms, columns["ttfat_ms"])
    if mode.usable_tokens is None:
        found = whole_ms
    elif mode.usable_tokens == 1:
        found = first_ms
    else:
        more_ms = (mode.usable_tokens - 1) * 1000.0 / columns["output_tok_s"]
        found = np.fmin(np.where(np.isnan(more_ms), whole_ms, first_ms + more_ms), whole_ms)
    cut = (columns["outcome"] == CUT) & np.isnan(found)
    return found[evidence.well & ~np.isnan(found)], columns["elapsed_ms"][cut]


def _verdict(evidence: OfferEvidence, mode: Mode) -> InstantVerdict:
    values, cut = usable_ms(evidence, mode)
    if not len(values):
        return InstantVerdict(mode, "no answers", None, None, None, None, None, None)
    time = quantile_estimate(values, SHARE, censored=cut)
    grade, limit, needs_n = _grade(mode, time, len(values) + len(cut))
    share, times = _pace(evidence, mode)
    stall = evidence.quantile("longest_stall_ms", SHARE) if mode.pace else None
    if stall is not None and not stall.n:
        stall = None
    return InstantVerdict(mode, grade, time, limit, share, times, stall, needs_n)


def _grade(mode: Mode, time: Estimate, n: int) -> tuple[Grade, str | None, int | None]:
    """The grade that the whole interval lies in, its threshold, and how many requests a grade needs."""
    if not time.enough or time.lo is None or time.hi is None:
        # Where even the lower bound is beyond all limits, more requests change nothing.
        if time.lo is not None and time.lo > limit_ms(mode.limits[-1][1]):
            return "too slow", mode.limits[-1][1], None
        return "not enough data", None, max((time.needs_n or 2 * n) - n, 1)
    for grade, name in mode.limits:
        if time.hi <= limit_ms(name):
            return grade, name, None
        if time.lo <= limit_ms(name):
            return "not enough data", name, _more(time, limit_ms(name), n)
    return "too slow", mode.limits[-1][1], None


def _more(time: Estimate, limit: float, n: int) -> int:
    """Further requests until the interval leaves the limit, if it shrinks as 1 / sqrt(n)."""
    assert time.lo is not None
    assert time.hi is not None
    reach = time.hi - time.value if time.value <= limit else time.value - time.lo
    apart = abs(limit - time.value)
    return max(int(np.ceil(n * ((reach / max(apart, 1e-9)) ** 2 - 1.0))), 1)


def _pace(evidence: OfferEvidence, mode: Mode) -> tuple[float | None, float | None]:
    rates = evidence.values("output_tok_s")
    if mode.pace is None or not len(rates):
        return None, None
    pace = pace_tok_s(mode.pace)
    return float(np.mean(rates >= pace)), float(np.median(rates) / pace)


def feel(evidence: OfferEvidence) -> str:
    """In a word how it feels to read along; without a stream, to wait for."""
    mode: ModeName = "read" if evidence.digests[-1].streaming else "wait"
    grade = instant(evidence, [mode])[0].grade
    return {"not enough data": "?", "no answers": ""}.get(grade, grade)

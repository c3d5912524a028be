"""Does it feel instant? A verdict for each way of using an answer, by limits from the literature.

Judged are 95 of 100 requests: what happens to one in twenty is what people remember. A grade is given when
it is shown, at 95 % confidence and with what requests have in common reckoned in, that so many are within its
limit.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from paceline.advisor.digest import CUT
from paceline.advisor.evidence import OfferEvidence
from paceline.catalogue.thresholds import limit_ms, pace_tok_s
from paceline.stats.clustered_share import ShareEstimate, share_estimate
from paceline.stats.quantiles import Estimate, quantile_estimate

Floats = npt.NDArray[np.float64]
ModeName = Literal["read", "listen", "type", "wait"]
Grade = Literal["instant", "fluent", "noticeable", "slow", "too slow", "not enough data", "no answers"]

SHARE = 0.95
ERROR = 0.05
"""A grade is wrong at most so often."""
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
    """One mode. grade: the best that is shown. usable_ms: the 95th percentile of the time to a usable answer.

    limit: the threshold of the grade; where there is not enough data, the nearest that may be met. within:
    requests of the sample that were, of n. maybe: a better grade that is not excluded. pace_share: requests
    whose text came at least at the mode's pace, None without one. pace_times: the median rate over the pace.
    stall_ms: the 95th percentile of the longest gap, None where nobody follows the text. needs_more: further
    requests that may settle it, where there is not enough data; None: too close to call. In words:
    `report.instant_text`.
    """

    mode: Mode
    grade: Grade
    usable_ms: Estimate | None = None
    limit: str | None = None
    within: int = 0
    n: int = 0
    maybe: Grade | None = None
    pace_share: float | None = None
    pace_times: float | None = None
    stall_ms: Estimate | None = None
    needs_more: int | None = None


def instant(evidence: OfferEvidence, modes: Sequence[ModeName] = tuple(MODES)) -> list[InstantVerdict]:
    """How an offer feels in each mode, by the pooled requests of its runs."""
    return [_verdict(evidence, MODES[name]) for name in modes]


def usable_ms(evidence: OfferEvidence, mode: Mode) -> Floats:
    """The time to a usable answer of each request of the sample, float64[n]; nan where it never came.

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
    return np.where(evidence.well, found, np.nan)


def _verdict(evidence: OfferEvidence, mode: Mode) -> InstantVerdict:
    times = usable_ms(evidence, mode)
    # Failures are nothing to feel; who was cut off had waited in vain.
    felt = ~np.isnan(times) | (evidence.columns["outcome"] == CUT)
    if np.isnan(times).all():
        return InstantVerdict(mode, "no answers")
    jobs = evidence.jobs_of(felt)
    waited = np.where(np.isnan(times), np.inf, times)[felt]
    runs = evidence.runs_of(felt)
    shares = {name: share_estimate(waited / limit_ms(name), SHARE, jobs, runs) for _, name in mode.limits}
    grade, name, maybe = _grade(mode, shares)
    needs_more = None
    if grade == "not enough data":
        needs_more = shares[name].more_needed(SHARE, above_error=ERROR, below_error=ERROR)
    known = ~np.isnan(times)
    share, times_pace = _pace(evidence, mode)
    stall = evidence.quantile("longest_stall_ms", SHARE) if mode.pace else None
    return InstantVerdict(
        mode=mode,
        grade=grade,
        usable_ms=quantile_estimate(
            times[known],
            SHARE,
            censored=evidence.columns["elapsed_ms"][felt & ~known],
            jobs=evidence.jobs_of(known),
            runs=evidence.runs_of(known),
        ),
        limit=name,
        within=int(shares[name].met),
        n=len(waited),
        maybe=maybe,
        pace_share=share,
        pace_times=times_pace,
        stall_ms=stall if stall is not None and stall.n else None,
        needs_more=needs_more,
    )


def _grade(mode: Mode, shares: Mapping[str, ShareEstimate]) -> tuple[Grade, str, Grade | None]:
    """The best grade that is shown, the threshold to speak of, and a better grade that is not excluded."""
    shown = next((one for one in mode.limits if shares[one[1]].lower(ERROR) >= SHARE), None)
    possible = next((one for one in mode.limits if shares[one[1]].upper(ERROR) >= SHARE), None)
    if shown is not None:
        return *shown, possible[0] if possible is not None and possible[0] != shown[0] else None
    if possible is None:
        return "too slow", mode.limits[-1][1], None
    likely = next((name for _, name in mode.limits if (shares[name].value or 0.0) >= SHARE), possible[1])
    return "not enough data", likely, None


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

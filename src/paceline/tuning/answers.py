"""Whether a gain comes of worse answers: shorter ones end sooner, failed ones leave more to the others."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from paceline.tuning.confirm import Finding
from paceline.tuning.goal import Goal
from paceline.tuning.trial import Measured
from paceline.units import format_number

# What an answer's length goes into; all else is a rate by the token, or over before the answer is.
_BY_LENGTH = ("e2e_ms", "goodput")
# A difference of mean lengths that is worth a word: answers of other settings differ by chance, too.
_OTHER_LENGTH = 0.1
# Of requests: more failures than those of the defaults by this share are no chance slip.
_MORE_FAILED = 0.01


@dataclass(frozen=True, slots=True)
class Answers:
    """Of one side's rounds. attempted, failed: requests. tokens: of an answer on average; None: not known."""

    attempted: int
    failed: int
    tokens: float | None

    @classmethod
    def of(cls, blocks: Iterable[Measured]) -> "Answers":
        """By the figures a level of blocks that did not fail."""
        points = [point for block in blocks if block.failure is None for point in block.curve]
        attempted = sum(_count(point, "attempted") for point in points)
        well = [(_count(point, "ok"), *_rates(point)) for point in points]
        known = [(ok, tok_s / requests_s) for ok, tok_s, requests_s in well if ok and requests_s > 0.0]
        answered = sum(ok for ok, _ in known)
        tokens = sum(ok * each for ok, each in known) / answered if answered else None
        return cls(attempted, attempted - sum(ok for ok, _, _ in well), tokens)

    @property
    def failing(self) -> float:
        """Share of the requests that failed."""
        return self.failed / self.attempted if self.attempted else 0.0


def checked(finding: Finding, default: Sequence[Measured], tuned: Sequence[Measured], goal: Goal) -> Finding:
    """The finding, real only where no more answers fail and they are not merely shorter."""
    if not finding.real or finding.gain is None:
        return finding
    before, after = Answers.of(default), Answers.of(tuned)
    if after.failing > before.failing + _MORE_FAILED:
        return replace(
            finding,
            real=False,
            sentence=f"no gain, however fast: {after.failed} of {after.attempted} requests failed at the "
            f"tuned settings, {before.failed} of {before.attempted} at the defaults",
        )
    if goal.metric in _BY_LENGTH and before.tokens and after.tokens is not None:
        shorter = before.tokens / after.tokens if after.tokens else float("inf")
        if shorter > 1.0 and finding.gain.lo <= shorter:
            return replace(
                finding,
                real=False,
                sentence=f"no gain shown: {_lengths(before.tokens, after.tokens)}, and shorter answers alone "
                "may explain it",
            )
    return finding


def other_lengths(default: Sequence[Measured], tuned: Sequence[Measured]) -> str | None:
    """What is to be said where the two sides' answers are not of like length; None where they are."""
    before, after = Answers.of(default).tokens, Answers.of(tuned).tokens
    if not before or after is None or abs(after / before - 1.0) <= _OTHER_LENGTH:
        return None
    return _lengths(before, after)


def _lengths(before: float, after: float) -> str:
    return (
        f"answers at the tuned settings have {format_number(after)} tokens on average, "
        f"{format_number(before)} at the defaults"
    )


def _count(point: Mapping[str, Any], name: str) -> int:
    return int(point.get(name) or 0)


def _rates(point: Mapping[str, Any]) -> tuple[float, float]:
    return float(point.get("output_tok_s") or 0.0), float(point.get("requests_s") or 0.0)

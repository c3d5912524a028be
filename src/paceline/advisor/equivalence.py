"""Are two endpoints the same model? From the answers of two runs to a verdict with its reasons."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from paceline.advisor.answer_pairs import Divergence, Example, gather_pairs
from paceline.advisor.answer_sides import SideFacts, side_facts
from paceline.advisor.answers import Answers
from paceline.advisor.equivalence_findings import (
    Finding,
    Outcome,
    Scores,
    answered_finding,
    scores_finding,
    scores_of,
    texts_finding,
)
from paceline.report.figures import json_text
from paceline.stats.agreement import Agreement
from paceline.stats.compare import Comparison, Interval
from paceline.stats.divergence import Pieces, Words

SCHEMA = "paceline.equivalence/1"
MARGIN = 0.1
SCORE_MARGIN = 0.1
EXAMPLES = 3

Solved = Mapping[str, Sequence[bool]]
"""By the hash of a prompt: whether each pass solved it."""


@dataclass(frozen=True)
class Equivalence:
    """How two runs' answers to the same prompts compare.

    prompts: asked of both. compared: with two answers from each side (`once`: one each). once: one run or
    both asked each prompt a single time, so that what each repeats is unknown. texts: of whole answers that
    are equal. beginnings: of the share of an answer before the first difference. divergence: by pair of
    sides, `a`, `b`, `ab`. only_a, only_b: prompts that one side alone answered. scores: None without a probe.
    speed: of the first pass. findings: by kind, `texts`, `answered`, `scores`.
    """

    a: SideFacts
    b: SideFacts
    margin: float
    score_margin: float
    prompts: int
    compared: int
    once: bool
    texts: Agreement
    beginnings: Agreement
    divergence: Mapping[str, Divergence]
    unit: str
    only_a: int
    only_b: int
    scores: Scores | None
    findings: Mapping[str, Finding]
    examples: tuple[Example, ...]
    notes: tuple[str, ...] = ()
    speed: tuple[Comparison, ...] = ()

    @property
    def verdict(self) -> Outcome:
        """`different` where anything shows it, `same` where texts or, if they cannot tell, scores do."""
        outcomes = {name: one.outcome for name, one in self.findings.items()}
        if "different" in outcomes.values():
            return "different"
        if outcomes["texts"] == "same" or outcomes.get("scores") == "same":
            return "same"
        return "not enough data"

    @property
    def needs_more(self) -> int | None:
        """About how many more prompts would settle it; None where it is settled or cannot be told."""
        if self.verdict != "not enough data":
            return None
        return min((one.needs_more for one in self.findings.values() if one.needs_more), default=None)

    @property
    def reasons(self) -> tuple[str, ...]:
        """One sentence for each kind of evidence, those that decide first."""
        order = sorted(self.findings.values(), key=lambda one: one.outcome != self.verdict)
        return tuple(one.words for one in order)

    @property
    def text(self) -> str:
        """The verdict in words."""
        if self.needs_more is not None:
            return f"not enough data (needs {self.needs_more:,} more prompts)"
        return self.verdict

    def with_speed(self, speed: Sequence[Comparison]) -> "Equivalence":
        """The same, with how fast B is against A."""
        return replace(self, speed=tuple(speed))

    def with_prompts(self, prompts: Mapping[int, str]) -> "Equivalence":
        """The same, with what was asked in the examples; `prompts`: by A's request index."""
        told = (replace(one, prompt=prompts.get(one.index)) for one in self.examples)
        return replace(self, examples=tuple(told))

    def to_dict(self) -> dict[str, Any]:
        """`paceline.equivalence/1` (docs/reference/equivalence.md), without NaN: None instead."""
        scores = self.scores
        return {
            "schema": SCHEMA,
            "verdict": {
                "outcome": self.verdict,
                "text": self.text,
                "needs_more": self.needs_more,
                "reasons": list(self.reasons),
                "findings": {
                    name: {"outcome": one.outcome, "needs_more": one.needs_more, "text": one.words}
                    for name, one in self.findings.items()
                },
            },
            "margin": self.margin,
            "score_margin": self.score_margin,
            "a": self.a.to_dict(),
            "b": self.b.to_dict(),
            "prompts": self.prompts,
            "compared": self.compared,
            "asked_once": self.once,
            "texts": _agreement(self.texts),
            "beginnings": _agreement(self.beginnings),
            "divergence": {
                "unit": self.unit,
                **{name: one.to_dict() for name, one in self.divergence.items()},
            },
            "answered": {"only_a": self.only_a, "only_b": self.only_b},
            "scores": None
            if scores is None
            else {
                "a": _interval(scores.a),
                "b": _interval(scores.b),
                "difference": _interval(
                    Interval(scores.difference.difference, scores.difference.lo, scores.difference.hi)
                ),
                "p_value": scores.difference.p_value,
                "only_a": scores.difference.only_a,
                "only_b": scores.difference.only_b,
                "n": scores.difference.n,
            },
            "speed": [one.to_dict() for one in self.speed],
            "examples": [one.to_dict() for one in self.examples],
            "notes": list(self.notes),
        }

    def to_json(self) -> str:
        """The document as text, with a line end."""
        return json_text(self.to_dict())


@dataclass(frozen=True)
class Limits:
    """What counts as the same: the share of repeated texts that may be lost, and of solved items."""

    margin: float = MARGIN
    score_margin: float = SCORE_MARGIN


def judge(
    a: Answers,
    b: Answers,
    *,
    limits: Limits | None = None,
    pieces: Pieces | None = None,
    unit: str = "words",
    solved: tuple[Solved, Solved] | None = None,
    examples: int = EXAMPLES,
    notes: Sequence[str] = (),
) -> Equivalence:
    """Hold two runs' answers to the same prompts against each other.

    `pieces`: words or tokens by which the place of the first difference is counted, named `unit`. `solved`:
    of A and of B, where the prompts are a probe's items. Prompts are the same where their hashes are; what
    only one run was asked is left out, and noted.
    """
    allowed = limits or Limits()
    pairs = gather_pairs(a, b, pieces or Words(), examples)
    texts, beginnings = pairs.agreements()
    scores = None if solved is None else scores_of(*solved)
    findings = {"texts": texts_finding(texts, beginnings, allowed.margin, once=pairs.once)}
    silent = answered_finding(pairs.only_a, pairs.only_b)
    if silent is not None:
        findings["answered"] = silent
    if scores is not None:
        findings["scores"] = scores_finding(scores, allowed.score_margin)
    return Equivalence(
        a=side_facts(a, set(pairs.prompts)),
        b=side_facts(b, set(pairs.prompts)),
        margin=allowed.margin,
        score_margin=allowed.score_margin,
        prompts=len(pairs.prompts),
        compared=texts.n,
        once=pairs.once,
        texts=texts,
        beginnings=beginnings,
        divergence=pairs.divergence,
        unit=unit,
        only_a=pairs.only_a,
        only_b=pairs.only_b,
        scores=scores,
        findings=findings,
        examples=pairs.examples,
        notes=(*notes, *pairs.notes),
    )


def _interval(one: Interval) -> dict[str, float | None]:
    return {"value": None if math.isnan(one.value) else one.value, "lo": one.lo, "hi": one.hi}


def _agreement(one: Agreement) -> dict[str, Any]:
    return {
        "n": one.n,
        **{name: _interval(getattr(one, name)) for name in ("a", "b", "ab", "lost")},
        "p_value": one.p_value,
        "seen": one.seen,
    }

"""A gain that comes of answers that are shorter, or that fail."""

from collections.abc import Sequence

import pytest

from paceline.engines.profile import Gain
from paceline.tuning.answers import Answers, checked, other_lengths
from paceline.tuning.confirm import Finding
from paceline.tuning.goal import parse_goal
from paceline.tuning.trial import Measured

GOODPUT = "max goodput @ ttft_ms<=500"


def blocks(tokens: float, *, ok: int = 10, of: int = 10, rounds: int = 4) -> Sequence[Measured]:
    """At one and at two streams, the latter with twice the requests."""
    points = tuple(
        {
            "concurrency": level,
            "attempted": of * level,
            "ok": ok * level,
            "output_tok_s": tokens * 3.0 * level,
            "requests_s": 3.0 * level,
        }
        for level in (1, 2)
    )
    return [Measured({0: 1.0}, curve=points) for _ in range(rounds)]


def finding_of(lo: float, *, real: bool = True) -> Finding:
    return Finding(Gain("x", 1.0, 2.0, lo + 0.1, lo, lo + 0.2, 4, 8), real, "the gain is real", None)


def test_what_answers_were_is_counted_over_rounds_and_levels() -> None:
    found = Answers.of(blocks(50.0, ok=9))
    assert (found.attempted, found.failed) == (120, 12)
    assert found.tokens == pytest.approx(50.0)
    assert Answers.of([Measured({}, failure="gone")]) == Answers(0, 0, None)
    assert Answers.of(blocks(50.0, ok=0)).tokens is None


@pytest.mark.parametrize(
    ("goal", "lo", "tokens", "real"),
    [
        ("min e2e_ms", 1.8, 50.0, False),
        ("min e2e_ms", 2.1, 50.0, True),
        ("min e2e_ms", 1.8, 100.0, True),
        ("min e2e_ms", 1.8, 130.0, True),
        ("min e2e_ms", 9.0, 0.0, False),
        (GOODPUT, 1.8, 50.0, False),
        (GOODPUT, 2.1, 50.0, True),
        ("min itl_ms", 1.8, 50.0, True),
        ("min ttft_ms", 1.8, 50.0, True),
        ("max throughput", 1.8, 50.0, True),
    ],
)
def test_shorter_answers_explain_what_ends_with_them(goal: str, lo: float, tokens: float, real: bool) -> None:
    finding = checked(finding_of(lo), blocks(100.0), blocks(tokens), parse_goal(goal))
    assert finding.real is real
    assert real or "tokens on average, 100 at the defaults" in finding.sentence


@pytest.mark.parametrize(
    ("default", "tuned", "real"), [(10, 10, True), (10, 7, False), (7, 7, True), (7, 10, True)]
)
def test_settings_that_fail_more_requests_gain_nothing(default: int, tuned: int, real: bool) -> None:
    finding = checked(
        finding_of(1.8), blocks(100.0, ok=default), blocks(100.0, ok=tuned), parse_goal("max throughput")
    )
    assert finding.real is real
    if not real:
        assert finding.sentence == (
            "no gain, however fast: 36 of 120 requests failed at the tuned settings, 0 of 120 at the defaults"
        )


def test_what_was_no_gain_stays_as_it_was() -> None:
    finding = finding_of(0.9, real=False)
    assert checked(finding, blocks(100.0), blocks(1.0), parse_goal("min e2e_ms")) is finding


def test_lengths_that_differ_are_said() -> None:
    assert other_lengths(blocks(100.0), blocks(95.0)) is None
    assert other_lengths(blocks(100.0), []) is None
    assert other_lengths(blocks(100.0), blocks(130.0)) == (
        "answers at the tuned settings have 130 tokens on average, 100 at the defaults"
    )

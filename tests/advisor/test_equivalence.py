"""Verdicts on models whose sameness was planted."""

import json
import math

import pytest

from paceline.advisor.equivalence import Equivalence, Limits, judge
from paceline.advisor.equivalence_findings import answered_finding, scores_of
from tests.support.twins import Model, answer, answers, asked

SEEDS = 40


def verdict(a: Model, b: Model, seed: int, prompts: int = 60) -> str:
    sides = (asked(model, prompts, 2 * seed + place, world=seed) for place, model in enumerate((a, b)))
    return judge(*sides).verdict


def test_two_that_always_say_the_same_are_the_same() -> None:
    found = judge(asked(Model(), 60, 1), asked(Model(), 60, 2))
    assert found.verdict == "same"
    assert found.text == "same"
    assert found.needs_more is None
    assert "A and B agree as each does with itself" in found.reasons[0]
    assert (found.texts.a.value, found.texts.ab.value, found.texts.lost.value) == (1.0, 1.0, 0.0)
    assert found.divergence["ab"].parted == 0
    assert math.isnan(found.divergence["ab"].pieces_p50)
    assert found.examples == ()


def test_too_few_prompts_are_said_to_be_too_few() -> None:
    found = judge(asked(Model(), 12, 1), asked(Model(), 12, 2))
    assert found.verdict == "not enough data"
    assert found.needs_more is not None
    assert 20 <= found.needs_more <= 30
    assert found.text == f"not enough data (needs {found.needs_more} more prompts)"
    more = 12 + found.needs_more
    assert judge(asked(Model(), more, 1), asked(Model(), more, 2)).verdict == "same"


def test_another_answer_to_every_tenth_prompt_is_found_with_enough_of_them() -> None:
    other = Model(other=0.1)
    assert verdict(Model(), other, 1, prompts=200) == "different"
    few = [verdict(Model(), other, seed, prompts=20) for seed in range(SEEDS // 4)]
    # With twenty of them two are expected, which chance may explain.
    assert few.count("same") == 0
    assert few.count("not enough data") > few.count("different")


@pytest.mark.parametrize("flips", [0.002, 0.01, 0.05])
def test_a_noisy_server_is_not_told_from_itself(flips: float) -> None:
    noisy = Model(flips=flips)
    found = [verdict(noisy, noisy, seed) for seed in range(SEEDS)]
    # Each of two tests errs in 2.5 %: 5 % at most, and what chance adds over so many seeds.
    assert found.count("different") <= 0.05 * SEEDS + 4 * math.sqrt(0.05 * 0.95 * SEEDS) / 2


@pytest.mark.parametrize("flips", [0.002, 0.01])
def test_another_model_is_found_behind_noise(flips: float) -> None:
    found = [verdict(Model(flips=flips), Model(weights=2, flips=flips), seed) for seed in range(20)]
    assert found == ["different"] * 20


def test_a_model_within_the_margin_is_hardly_ever_called_the_same_beyond_it() -> None:
    found = [verdict(Model(), Model(other=0.14), seed) for seed in range(SEEDS)]
    assert found.count("same") <= 0.05 * SEEDS


def test_beginnings_tell_where_whole_answers_never_repeat() -> None:
    noisy = Model(flips=0.02, length=200)
    found = judge(asked(noisy, 200, 1), asked(noisy, 200, 2))
    assert found.texts.repeats < 0.1
    assert found.verdict != "different"
    assert "a side repeats itself in only" in found.reasons[0]
    apart = judge(asked(noisy, 60, 1), asked(Model(weights=3, flips=0.02, length=200), 60, 2))
    assert apart.verdict == "different"


def test_two_that_never_repeat_themselves_are_not_called_the_same() -> None:
    found = [verdict(Model(flips=0.9), Model(weights=7, flips=0.9), seed) for seed in range(20)]
    assert "same" not in found


def test_asked_once_it_is_said_that_once_is_not_enough() -> None:
    a, b = asked(Model(), 60, 1, passes=1), asked(Model(other=0.3), 60, 2, passes=1)
    found = judge(a, b)
    assert found.once
    assert found.verdict == "not enough data"
    assert "ask each prompt twice" in found.reasons[0]
    assert judge(a, a).verdict == "same"
    # Twice of one side alone tells no more.
    assert judge(asked(Model(), 60, 1), b).once


def test_scores_decide_where_texts_cannot() -> None:
    noisy = Model(flips=0.9)
    a, b = asked(noisy, 400, 1), asked(noisy, 400, 2)
    marks = {prompt: [place % 10 != 0] * 2 for place, prompt in enumerate(a.by_prompt)}
    found = judge(a, b, solved=(marks, marks))
    assert found.findings["texts"].outcome == "not enough data"
    assert found.verdict == "same"
    assert found.reasons[0].startswith("B's score is +0.0 points (")


def test_nine_in_ten_against_seven_in_ten() -> None:
    a, b = asked(Model(flips=0.9), 400, 1), asked(Model(flips=0.9), 400, 2)
    better = {prompt: [place % 10 != 0] * 2 for place, prompt in enumerate(a.by_prompt)}
    worse = {prompt: [place % 10 > 2] * 2 for place, prompt in enumerate(a.by_prompt)}
    found = judge(a, b, solved=(better, worse))
    assert found.verdict == "different"
    assert found.scores is not None
    assert (found.scores.a.value, found.scores.b.value) == (0.9, 0.7)
    assert found.scores.difference.difference == pytest.approx(-0.2)
    assert found.scores.difference.p_value < 1e-6
    few = {prompt: marks for place, (prompt, marks) in enumerate(worse.items()) if place < 30}
    undecided = judge(a, b, solved=(better, few)).findings["scores"]
    assert undecided.outcome == "not enough data"
    assert undecided.needs_more is not None


def test_the_same_scores_do_not_undo_other_texts() -> None:
    a, b = asked(Model(), 60, 1), asked(Model(weights=2), 60, 2)
    marks = {prompt: [True, True] for prompt in a.by_prompt}
    found = judge(a, b, solved=(marks, marks), limits=Limits(score_margin=0.2))
    assert found.verdict == "different"
    assert found.findings["scores"].outcome == "same"


def test_silence_is_a_difference_and_failures_are_none() -> None:
    a = asked(Model(), 60, 1)
    spoken = [[one.text for one in given] for given in a.by_prompt.values()]
    silent = [[answer("", kind="empty")] * 2 if place < 20 else given for place, given in enumerate(spoken)]
    found = judge(a, answers(silent))
    assert found.verdict == "different"
    assert found.only_a == 20
    assert "B leaves 20 prompts unanswered that A answers" in found.reasons[0]
    assert found.compared == 40
    failed = [[answer("", kind="failed")] * 2 if place < 20 else given for place, given in enumerate(spoken)]
    found = judge(a, answers(failed))
    assert found.verdict == "same"
    assert found.b.by_kind["failed"] == 40
    assert answered_finding(1, 1) is answered_finding(0, 0) is answered_finding(4, 0) is None


def test_nothing_was_answered() -> None:
    nothing = answers([[answer("", kind="failed")] * 2] * 10)
    found = judge(nothing, asked(Model(), 10, 1))
    assert found.verdict == "not enough data"
    assert found.needs_more is None
    assert found.reasons == ("no prompt was answered each time by both",)
    json.loads(found.to_json())


def test_what_one_side_was_not_asked_is_left_out_and_noted() -> None:
    found = judge(asked(Model(), 60, 1), asked(Model(), 50, 2))
    assert found.prompts == 50
    assert found.notes == ("10 prompts of A and 0 of B were asked of one side only, and are left out",)


def test_examples_show_the_place() -> None:
    a = answers([["one two three four"] * 2, ["all alike"] * 2, ["one five", "one six"]])
    b = answers([["one two other words"] * 2, ["all alike"] * 2, ["one seven"] * 2])
    found = judge(a, b, examples=5)
    assert [(one.at, one.repeated) for one in found.examples] == [(8, True), (4, False)]
    assert found.divergence["ab"].pieces_p50 == 1.5
    assert judge(a, b, examples=0).examples == ()


def test_no_score_without_items_in_common() -> None:
    assert scores_of({"x": [True]}, {"y": [True]}) is None


def test_the_document_has_no_nan() -> None:
    found: list[Equivalence] = [
        judge(asked(Model(), 5, 1), asked(Model(weights=2), 5, 2)),
        judge(asked(Model(flips=0.9), 5, 1), asked(Model(flips=0.9), 5, 2)),
        judge(asked(Model(), 5, 1, passes=1), asked(Model(), 5, 2)),
    ]
    for one in found:
        assert json.loads(one.to_json())["schema"] == "paceline.equivalence/1"

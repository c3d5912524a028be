"""The equivalence of two endpoints in words, as text, Markdown and HTML."""

import json

import pytest

from paceline.advisor.equivalence import Equivalence, judge
from paceline.report.equivalence_html import render_html
from paceline.report.equivalence_text import render_markdown, render_text
from paceline.report.equivalence_words import example_parts, share_cell, speed_sentence, title
from paceline.stats.compare import Comparison, Interval, Verdict
from tests.report.test_html import Page
from tests.report.walk import rows_of
from tests.support.twins import Model, answer, answers, asked


def faster(metric: str, ratio: float) -> Comparison:
    return Comparison(
        metric=metric,
        statistic="p50",
        better="higher" if metric == "output_tok_s" else "lower",
        a=100.0,
        b=100.0 * ratio,
        ratio=Interval(ratio, ratio - 0.01, ratio + 0.01),
        difference=Interval(100.0 * ratio - 100.0, None, None),
        verdict=Verdict("faster", 0.05),
        n_a=60,
        n_b=60,
        blocks_a=10,
        blocks_b=10,
    )


@pytest.fixture(scope="module")
def same() -> Equivalence:
    found = judge(asked(Model(), 60, 1), asked(Model(), 60, 2))
    return found.with_speed([faster("ttft_ms", 0.5), faster("output_tok_s", 2.4), faster("e2e_ms", 0.6)])


@pytest.fixture(scope="module")
def other() -> Equivalence:
    a, b = asked(Model(flips=0.005), 40, 1), asked(Model(weights=2, flips=0.005), 40, 2)
    marks = {prompt: [True, True] for prompt in a.by_prompt}
    found = judge(a, b, solved=(marks, marks), notes=("a note with <b>markup</b>",))
    return found.with_prompts({one.index: "What of <i>it</i>? " * 40 for one in found.examples})


def test_the_sentence_that_is_wanted(same: Equivalence) -> None:
    assert speed_sentence(same) == (
        "Same answers; B's TTFT is 0.50 times A's (0.49 to 0.51) and decode rate is 2.40 times A's "
        "(2.39 to 2.41)."
    )
    assert title(same) == "SAME"


def test_the_terminal(same: Equivalence, other: Equivalence) -> None:
    few = judge(asked(Model(), 9, 1), asked(Model(), 9, 2))
    nothing = judge(answers([[answer("", kind="failed")] * 2] * 3), asked(Model(), 3, 1))
    for found in (same, other, few, nothing):
        lines = render_text(found).splitlines()
        assert all(len(line) <= 80 for line in lines)
        assert lines[0] == title(found)
    text = render_text(other)
    assert "A with A" in text
    assert "Solved" in text
    assert "texts cannot tell these apart" in " ".join(text.split())
    assert "Prompt " in text
    assert ">>" in text
    assert title(few).startswith("NOT ENOUGH DATA (needs about ")
    assert "So few repeated answers" not in render_text(same)
    assert "So few repeated answers (2 prompts)" in render_text(
        judge(asked(Model(), 2, 1), asked(Model(), 2, 2))
    )


def test_markdown(other: Equivalence) -> None:
    text = render_markdown(other)
    assert text.startswith("# Are A and B the same model?\n\n**DIFFERENT**\n")
    assert "| agreement | A with A | B with B | A with B |" in text
    assert "a note with \\<b>markup\\</b>" in text


def test_the_page(other: Equivalence) -> None:
    page = Page(render_html(other))
    charts = json.loads(page.scripts["charts"])
    assert set(charts) == {"alike"} == {a["data-chart"] for _, a in page.tags if "data-chart" in a}
    rows = rows_of(charts["alike"], "pair")
    assert {row["pair"] for row in rows} == {"A with A", "B with B", "A with B"}
    for row in rows:
        assert 0.0 <= row["alike"] <= 1.0
    # What the curve ends at is the share of equal texts.
    last = [row for row in rows if row["pair"] == "A with A"][-1]
    assert last["alike"] == pytest.approx(other.texts.a.value)
    assert json.loads(page.scripts["report"]) == other.to_dict()
    assert "<b>markup</b>" in page.text
    assert "Different" in page.text
    assert not [a for _, a in page.tags if "src" in a or "href" in a]
    assert not [tag for tag, _ in page.tags if tag == "i"]


def test_a_page_without_any_difference_has_no_curve(same: Equivalence) -> None:
    page = Page(render_html(same))
    assert json.loads(page.scripts["charts"]) == {}
    assert "Answers that differ" not in page.text


def test_shares_are_never_said_to_be_all_or_none() -> None:
    assert share_cell(Interval(0.999, 0.99, 1.0)) == "99.9% (99 to 100)"
    assert share_cell(Interval(0.002, 0.0, 0.01)) == "0.2% (0 to 1)"
    assert share_cell(Interval(float("nan"), None, None)) == "-"


def test_what_stands_around_a_difference() -> None:
    assert example_parts("one two", 4) == ("one ", "two")
    before, after = example_parts("x" * 100 + "\x1b[2Jafter" * 60, 100)
    assert before == "..." + "x" * 50
    assert "\x1b" not in after
    assert after.endswith("...")
    assert example_parts("one", 3) == ("one", "")

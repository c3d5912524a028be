from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from paceline.advisor.board import Board, BoardQuery, Choice, Elsewhere
from paceline.advisor.digests import Problem
from paceline.advisor.figures import Figure
from paceline.advisor.identity import OfferKey
from paceline.catalogue.price import PriceUnknown
from paceline.report.board_notes import (
    bill_lines,
    choice_lines,
    elsewhere_lines,
    head_words,
    mark_notes,
    missing_notes,
    next_steps,
    problem_lines,
    see_words,
    short_note,
)
from tests.report.board_samples import START, TRUTHS, board, empty_board, row


def of(*ttft_ms: Figure, **fields: Any) -> Board:
    """A board of as many offers, with these figures of TTFT."""
    rows = [
        row(truth, figures={"ttft_p50_ms": figure}) for truth, figure in zip(TRUTHS, ttft_ms, strict=False)
    ]
    return board(rows=rows, **fields)


def test_the_head_says_which_board_it_is() -> None:
    told = head_words(
        of(Figure(1.0, 1.0, 1.0, 9), query=BoardQuery(since=START, at=datetime(2026, 12, 1, tzinfo=UTC)))
    )
    assert told == (
        "coding-agent, closed 4: 1 offer, 3 runs, 900 requests, since 2026-11-02 09:00 UTC, prices of "
        "2026-12-01. Sorted by TTFT p50, the best first."
    )


@pytest.mark.parametrize(
    ("second", "said"),
    [
        (
            Figure(180.0, 171.0, 189.0, 100),
            "; gpt-oss-120b @ wafer (fast) has 1.80 times (1.68 to 1.93) that.",
        ),
        (
            Figure(104.0, 98.0, 110.0, 100),
            "; gpt-oss-120b @ wafer (fast) may be no worse: 1.04 times (0.96 to 1.12) that.",
        ),
        (Figure(200.0, n=3, needs_n=9), "; too little data to tell it from gpt-oss-120b @ wafer (fast)."),
        (Figure(None, note="no samples"), "."),
    ],
)
def test_the_line_that_says_what_to_see_says_how_sure_it_is(second: Figure, said: str) -> None:
    told = see_words(of(Figure(100.0, 95.0, 105.0, 100), second))
    assert told == f"Lowest TTFT p50: gpt-oss-120b @ cerise, 100 ms (95.0 to 105){said}"


def test_without_a_figure_or_an_offer_there_is_nothing_to_see() -> None:
    assert see_words(of(Figure(None, note="no samples"))) == "No offer has a figure for TTFT p50 yet."
    assert see_words(empty_board()) == ""


def test_marks_are_explained_where_they_stand_and_live_figures_say_as_of() -> None:
    plain = board(rows=[row(TRUTHS[0])])
    assert mark_notes(plain) == []
    marked = board(rows=[row(TRUTHS[0], marks=("suspect", "live"), verdict="suspect")])
    told = mark_notes(marked)
    assert told[0].startswith("! of a suspect run")
    assert told[1].startswith("^ live traffic")
    assert any("as of 2026-11-04" in line for line in told)
    assert told[-1].startswith("Suspect: 20261102-090000-")
    assert told[-1].count("2026") == 3


def test_each_reason_for_nothing_is_said_once_with_its_offers() -> None:
    nothing = {"capability": Figure(None, note="not probed: do it")}
    rows = [row(truth, figures=nothing) for truth in TRUTHS[:3]]
    assert missing_notes(board(rows=rows)) == ["capability: not probed: do it (all offers)."]
    unpriced = Figure(None, note="state it")
    rows[0] = row(TRUTHS[0], figures={**nothing, "usd_per_job": unpriced, "tok_s_per_usd": unpriced})
    assert missing_notes(board(rows=rows))[1:] == [
        "USD/job and tok/s per USD: state it (gpt-oss-120b @ cerise)."
    ]


def test_prices_that_are_not_known_are_asked_for_once() -> None:
    rows = []
    for truth in TRUTHS[:2]:
        hint = f'state it in prices.toml: [[price]] with model = "{truth.model}", and as_of'
        why = f"genai-prices knows no price of {truth.model} at {truth.provider}"
        unpriced = Figure(None, note=f"unknown: {why}; {hint}")
        one = row(truth, figures={"usd_per_job": unpriced, "tok_s_per_usd": unpriced})
        rows.append(replace(one, price=PriceUnknown(why, hint)))
    assert missing_notes(board(rows=rows)) == [
        "USD/job and tok/s per USD: unknown: genai-prices knows no price; state it in prices.toml: [[price]] "
        "with model, and as_of (all offers)."
    ]


def test_a_figure_without_an_interval_is_explained() -> None:
    assert short_note(of(Figure(1.0, 1.0, 1.0, 9))) == []
    assert "not enough data" in short_note(of(Figure(1.0, n=3, needs_n=9)))[0]


def test_bills_of_so_many_jobs_a_day() -> None:
    day, month = Figure(12.0, 11.0, 13.0, 9), Figure(360.0, 330.0, 390.0, 9)
    one = row(TRUTHS[0])
    priced = replace(one, bill=replace(one.bill, usd_per_day=day, usd_per_month=month))
    unpriced = replace(one, bill=replace(one.bill, usd_per_day=Figure(None), usd_per_month=Figure(None)))
    assert bill_lines(board(rows=[priced, unpriced])) == [
        "gpt-oss-120b @ cerise: 12.00 USD a day, 360.00 a month (330.00 to 390.00)"
    ]


def test_lists_say_how_many_more_there_are() -> None:
    several = [Problem(f"run-{n}", "bad\x1b[2J") for n in range(10)]
    problems = (*several, Problem("", "scores.json: bad"))
    one = board(problems=problems)
    assert problem_lines(one, 2) == ["run-0: bad [2J", "run-1: bad [2J", "and 9 more: --json - has all"]
    assert problem_lines(one)[-1] == "scores.json: bad"
    assert len(problem_lines(one)) == 11


def test_what_was_measured_otherwise_and_how_to_see_it() -> None:
    one = board(
        elsewhere=(Elsewhere(OfferKey("kimi", "moon", "fast"), "chat", "closed 1", 1, START),),
        choices=(
            Choice("coding-agent", "5f2a9c0e11d34b7a", "closed 4", 12, 10_800),
            Choice("it's chat", "aa", "closed 1", 1, 240),
            Choice("512 in, 32 out", "bb", "closed 1", 1, 240),
            Choice("512 in, 32 out", "cc", "closed 1", 2, 240),
        ),
    )
    assert elsewhere_lines(one) == ["kimi @ moon (fast): chat, closed 1, 1 request"]
    assert choice_lines(one) == [
        "--workload 'it'\"'\"'s chat' --load 'closed 1': 1 offer, 240 requests",
        "--workload bb --load 'closed 1' (512 in, 32 out): 1 offer, 240 requests",
        "--workload cc --load 'closed 1' (512 in, 32 out): 2 offers, 240 requests",
    ]


def test_what_to_do_next() -> None:
    assert next_steps(board()) == []
    assert next_steps(board(rows=[row(TRUTHS[0])]))[0].startswith("One offer stands alone")
    assert next_steps(empty_board())[0].startswith("No offer was measured yet")
    since = replace(empty_board(), query=BoardQuery(since=START))
    assert next_steps(since)[0].startswith("No run since 2026-11-02 09:00 UTC: leave --since out")
    bad = replace(empty_board(), problems=(Problem("x", "invalid"),))
    assert next_steps(bad)[0].startswith("No run has figures")

import re
from dataclasses import replace

import pytest

from paceline.advisor.board import Board
from paceline.advisor.figures import FIGURES, Figure
from paceline.advisor.identity import OfferKey
from paceline.report.board_text import board_markdown, board_text
from tests.report.board_samples import TRUTHS, board, empty_board, row


@pytest.fixture(scope="module")
def whole() -> Board:
    return board()


@pytest.mark.parametrize(("width", "tables"), [(80, 3), (120, 2), (250, 1)])
def test_it_fits_and_takes_what_room_there_is(whole: Board, width: int, tables: int) -> None:
    text = board_text(whole, width)
    assert max(len(line) for line in text.splitlines()) <= width
    assert text.count("\nOFFER ") == tables
    assert not any(line.endswith(" ") for line in text.splitlines())
    heads = [re.split(r"  +", line) for line in text.splitlines() if line.startswith("OFFER")]
    labels = [label for head in heads for label in head[1:]]
    assert labels == [*(info.label for info in FIGURES.values()), "feels"]


def test_piped_it_is_as_wide_as_a_small_terminal(whole: Board) -> None:
    assert board_text(whole, None) == board_text(whole, 80) == board_text(whole, 40)


def test_a_value_stands_over_its_interval_and_units_in_the_head() -> None:
    figures = {
        "ttft_p50_ms": Figure(212.0, 205.0, 219.0, 400),
        "ttft_p95_ms": Figure(2480.4, 1390.0, 3611.0, 400),
        "success_share": Figure(0.985, 0.97, 0.99, 400),
    }
    lines = board_text(board(rows=[row(TRUTHS[1], figures=figures)]), 80).splitlines()
    at = next(place for place, line in enumerate(lines) if line.startswith("OFFER"))
    head, units, values, spread = (lines[at + place] for place in range(4))
    assert head.split()[:5] == ["OFFER", "TTFT", "p50", "TTFT", "p95"]
    assert units.split()[:2] == ["ms", "ms"]
    assert values.split()[:3] == ["gpt-oss-120b", "212", "2,480"]
    assert spread.split()[:5] == ["@", "wafer", "(fast)", "205-219", "1,390-3,611"]
    end = head.index("TTFT p50") + len("TTFT p50")
    assert values[:end].endswith("212")
    assert units[:end].endswith("ms")
    text = "\n".join(lines)
    assert re.search(r"98\.5 ", text)
    assert "97.0-99.0" in text


def test_a_figure_without_enough_data_says_how_many_more() -> None:
    figures = {
        "ttft_p50_ms": Figure(212.0, n=5, needs_n=9),
        "ttft_p95_ms": Figure(480.0, 400.0, None, 30, 92),
        "capability": Figure(None, note="not probed: probe it"),
    }
    text = board_text(board(rows=[row(TRUTHS[0], figures=figures)]), 80)
    assert "~212" in text
    assert "4 more" in text
    assert ">=400" in text
    assert "62 more" in text
    assert "not enough data" in text
    assert "capability: not probed: probe it (gpt-oss-120b @ cerise)." in text


def test_published_claims_have_a_table_of_their_own(whole: Board) -> None:
    text = board_text(whole, 80)
    measured, claims = text.split("Published elsewhere: claims, not measured here")
    assert "press" not in measured
    assert "glm-5.2 (ultra)" not in measured
    assert "glm-5.2 (ultra)     1,000  up to; press, vendor figure, 2026" in claims


def test_problems_and_what_was_measured_otherwise_stand_below(whole: Board) -> None:
    text = board_text(whole, 80)
    assert "Runs without figures:\n  20261104-101500-00aa: invalid: the client was late" in text
    assert "Measured otherwise only, so not to be held against these:\n  kimi-k3 @ moon" in text
    assert "Other boards:\n  --workload support-chat --load 'closed 1': 1 offer, 240 requests" in text


def test_an_empty_board_says_what_to_do() -> None:
    assert board_text(empty_board()).startswith(
        "No offer was measured yet. Measure one: paceline measure URL"
    )


def test_names_of_others_cannot_steer_the_terminal_and_are_cut() -> None:
    strange = replace(row(TRUTHS[0]), key=OfferKey("m\x1b[2J" + "x" * 90, "p\n" + "y" * 90, "fast"))
    text = board_text(board(rows=[strange]), 80)
    assert "\x1b" not in text
    assert max(len(line) for line in text.splitlines() if not line.startswith("Lowest")) <= 200
    assert re.search(r"^  @ p y+\.\.\. \(fast\)", text, re.M)


def test_markdown_has_one_table_and_all_that_the_text_says(whole: Board) -> None:
    text = board_markdown(whole)
    head = next(line for line in text.splitlines() if line.startswith("| offer |"))
    assert head.count("|") == len(FIGURES) + 3
    rows = [line for line in text.splitlines() if line.startswith("| ") and " @ " in line]
    assert len(rows) == len(TRUTHS)
    assert all(line.count("|") == head.count("|") for line in rows)
    assert "## Published elsewhere" in text
    assert "- 20261104-101500-00aa: invalid" in text
    assert board_markdown(empty_board()).startswith("# Board\n\n\nNo offer")

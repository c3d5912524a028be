import pytest

from paceline.advisor.figures import FIGURES, Figure
from paceline.report.board_table import table_context
from tests.report.board_samples import TRUTHS, board, empty_board, row


def test_every_offer_and_every_figure_is_in_the_table() -> None:
    of = board()
    table = table_context(of)
    assert [one["full"] for one in table["rows"]] == [str(one.key) for one in of.rows]
    assert [one["number"] for one in table["rows"]] == list(range(1, len(TRUTHS) + 1))
    assert [column["name"] for column in table["columns"]] == list(FIGURES)
    assert all([cell["name"] for cell in one["cells"]] == list(FIGURES) for one in table["rows"])


def test_units_stand_in_the_head_and_once() -> None:
    columns = {column["name"]: column for column in table_context(board())["columns"]}
    assert (columns["ttft_p50_ms"]["label"], columns["ttft_p50_ms"]["unit"]) == ("TTFT p50", "ms")
    assert columns["output_tok_s"]["unit"] == ""
    assert (columns["usd_per_job"]["label"], columns["usd_per_job"]["unit"]) == ("bill of 1,000", "USD")


def test_a_value_without_an_interval_says_what_is_missing() -> None:
    few = row(TRUTHS[0], figures={"ttft_p50_ms": Figure(300.0, None, None, 4, needs_n=6)})
    (cell, *_) = table_context(board(rows=[few]))["rows"][0]["cells"]
    assert (cell["text"], cell["span"], cell["note"]) == ("~300", "", "not enough data (2 more)")
    assert cell["value"] == "300.0"


def test_a_figure_that_is_not_known_says_why_and_sorts_last() -> None:
    (local,) = [one for one in table_context(board())["rows"] if one["full"] == "gpt-oss-20b @ local"]
    cell = {one["name"]: one for one in local["cells"]}["usd_per_job"]
    assert (cell["text"], cell["value"], cell["bar"]) == ("no price known", "", None)
    assert (cell["note"], cell["whole_note"]) == ("", "no price known: add it to prices.toml")


def test_the_best_of_a_column_are_all_that_may_be_it() -> None:
    """TTFT has one best; the capabilities of 83 % and 79 %, known to 3.5 %, may be the same."""
    rows = table_context(board())["rows"]
    place = {name: number for number, name in enumerate(FIGURES)}
    assert [one["full"] for one in rows if one["cells"][place["ttft_p50_ms"]]["best"]] == [
        "gemma-4-e2b @ local"
    ]
    solved = [one["full"] for one in rows if one["cells"][place["capability"]]["best"]]
    assert sorted(solved) == [
        "claude-haiku-5 @ anthropic",
        "claude-haiku-5 @ anthropic (fast)",
        "qwen3.7-max @ lantern",
        "qwen3.7-max @ lantern (fast)",
    ]


def test_none_is_best_where_all_are_alike() -> None:
    alike = board(rows=[row(TRUTHS[0]), row(TRUTHS[0])])
    assert not any(cell["best"] for one in table_context(alike)["rows"] for cell in one["cells"])


def test_bars_lie_within_their_cells() -> None:
    bars = [cell["bar"] for one in table_context(board())["rows"] for cell in one["cells"] if cell["bar"]]
    assert bars
    for bar in bars:
        assert 0.0 <= float(bar["from"]) <= float(bar["from"]) + float(bar["wide"]) <= 72.0 + 1e-9
        assert 0.0 <= float(bar["at"]) <= 72.0


@pytest.mark.parametrize("mark", ["suspect", "approximate", "live", "running"])
def test_marks_are_words_with_their_meaning(mark: str) -> None:
    (one,) = table_context(board(rows=[row(TRUTHS[0], marks=(mark,))]))["rows"]
    assert one["marks"][0]["name"] == mark
    assert len(one["marks"][0]["about"]) > 10


def test_an_empty_board_has_an_empty_table() -> None:
    assert table_context(empty_board())["rows"] == []


@pytest.mark.parametrize(
    ("why", "said"),
    [
        ("unknown: genai-prices knows no price of it; state it in prices.toml", "unknown"),
        ("not probed: paceline capability run URL --model M", "not probed"),
        ("beyond what was waited for", "beyond what was waited for"),
    ],
)
def test_a_cell_says_in_few_words_that_a_figure_is_missing_and_all_beside_it(why: str, said: str) -> None:
    one = row(TRUTHS[0], figures={"usd_per_job": Figure(None, note=why)})
    cell = {cell["name"]: cell for cell in table_context(board(rows=[one]))["rows"][0]["cells"]}[
        "usd_per_job"
    ]
    assert (cell["text"], cell["note"], cell["whole_note"]) == (said, "", why)

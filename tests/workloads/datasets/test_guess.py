"""What rows are, and which column: found, and said; or asked for, with the columns that there are."""

from pathlib import Path
from typing import Any

import pytest

from paceline.errors import ConfigError
from tests.workloads.datasets.support import source, texts, write_jsonl

TURNS = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"id": 1, "prompt": "x", "text": "y"}, "rows are prompts, in column `prompt`"),
        ({"Question": "x"}, "rows are prompts, in column `Question`"),
        (
            {"conversations": [{"from": "human", "value": "q"}]},
            "rows are conversations, in column `conversations`",
        ),
        ({"messages": TURNS}, "rows are conversations, in column `messages`"),
        ({"messages": TURNS, "model": "m"}, "rows are logged requests"),
        ({"body": {"messages": TURNS}}, "rows are logged requests"),
        ({"request": {"body": {"prompt": "x"}}}, "rows are logged requests"),
    ],
)
def test_what_rows_are(tmp_path: Path, row: dict[str, Any], said: str) -> None:
    found = source(write_jsonl(tmp_path / "a.jsonl", [{"unknown": 1}, row]))
    assert said in found.report.said
    assert found.report.used == 1


def test_what_is_given_goes_over_what_would_be_found(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "a.jsonl", [{"prompt": "x", "my": {"text": "y"}, "messages": TURNS}])
    assert texts(source(path, column="my.text")) == ["y"]
    assert "rows are conversations, in column `messages`" in source(path).report.said
    assert texts(source(path, rows="prompt")) == ["x"]


def test_a_column_that_is_not_there(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "a.jsonl", [{"a": 1, "b": "x"}])
    with pytest.raises(ConfigError, match="there is no column `prompt`") as error:
        source(path, column="prompt")
    assert error.value.hint == "columns are: a, b"
    with pytest.raises(ConfigError, match="no column is named as one of a prompt: prompt, question") as error:
        source(path)
    assert "--data-column" in (error.value.hint or "")


def test_nothing_that_can_be_used_is_an_error_with_the_first_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("one\ntwo\nthree\nfour\n")
    with pytest.raises(
        ConfigError, match=r"none of its 4 rows can be used: 4 \(not JSON\): line 1: Expecting"
    ):
        source(path)


def test_names_of_columns_steer_no_terminal(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "a.jsonl", [{"\x1b]0;x": 1}])
    with pytest.raises(ConfigError) as error:
        source(path)
    assert (error.value.hint or "").endswith("columns are: ?]0;x")

"""docs/reference/data.md holds what the code has: keys, defaults, formats, columns, roles, bounds."""

import re
from pathlib import Path

import pytest
from pydantic import BaseModel

from paceline.workloads.datasets import chat_log, guess, images, index, lines, messages, parquet_rows
from paceline.workloads.datasets.formats import _BY_ENDING, FORMAT_WORDS
from paceline.workloads.datasets.spec import DataSpec
from paceline.workloads.plan import MAX_CALLS
from paceline.workloads.traces import read
from paceline.workloads.traces.spec import TraceSpec

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "data.md").read_text()


def section(title: str) -> str:
    return re.split(r"\n##+ ", PAGE.split(f"{title}\n", 1)[1], maxsplit=1)[0]


def cells(text: str, first: str) -> list[str]:
    """The cells of the row that begins with this one."""
    row = next(line for line in text.splitlines() if line.startswith(f"| {first} |"))
    return [cell.strip() for cell in row.strip("|").split("|")]


def quoted(text: str) -> list[str]:
    return re.findall(r"`([^`]+)`", text)


@pytest.mark.parametrize(("title", "model"), [("## `[data]`", DataSpec), ("## `[trace]`", TraceSpec)])
def test_every_key_with_its_default(title: str, model: type[BaseModel]) -> None:
    table = section(title)
    told = re.findall(r"^\| `(\w+)` \| [^|]+ \| ([^|]+) \|", table, re.MULTILINE)
    actual = []
    for name, field in model.model_fields.items():
        default = field.get_default()
        shown = "-" if default is None else f"`{str(default).lower()}`"
        actual.append((name, "must be given" if field.is_required() else shown))
    assert [(name, default.strip()) for name, default in told] == actual


def test_formats_and_how_they_are_found() -> None:
    table = section("### Formats")
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == list(FORMAT_WORDS)
    for name in FORMAT_WORDS:
        endings = {ending for ending, one in _BY_ENDING.items() if one == name}
        assert {one for one in quoted(cells(table, f"`{name}`")[1]) if one.startswith(".")} == endings


def test_bounds() -> None:
    table = section("### Formats")
    assert f"{lines.MAX_ROW_BYTES >> 20} MiB" in cells(table, "a row")[1]
    assert f"{index.MAX_ROWS:,}" in cells(table, "rows that can be used")[1]
    assert (
        f"{parquet_rows.KEPT_BYTES >> 30} GiB"
        in cells(table, "a row group of Parquet, the columns in use")[1]
    )
    assert f"{images.MAX_IMAGE_BYTES >> 20} MiB" in cells(table, "a picture")[1]
    assert f"{MAX_CALLS:,} calls" in PAGE
    trace = section("## `[trace]`")
    assert (
        f"At most {read.MAX_ROWS:,} requests are read, with lines of at most {read.MAX_LINE_BYTES >> 20} MiB"
        in trace
    )


def test_columns_that_are_looked_for() -> None:
    text = section("### What a row is")
    points = {one.split("`")[1]: one for one in text.split("\n- ")[1:]}
    assert quoted(points["conversation"])[1:] == list(guess.CONVERSATION_COLUMNS)
    assert quoted(points["prompt"].split("\n\n")[0])[1:] == list(guess.PROMPT_COLUMNS)
    assert set(chat_log._REQUESTS) < set(quoted(points["log"]))


def test_places_in_a_log() -> None:
    text = section("### What a row is")
    assert quoted(cells(text, "messages")[1])[:3] == list(chat_log._PROMPTS)
    assert quoted(cells(text, "limit of the answer")[1]) == list(chat_log._LIMITS)
    assert quoted(cells(text, "time")[1]) == list(chat_log._TIMES)
    used = quoted(cells(text, "length of the recorded answer")[1])
    assert used == [*chat_log._USED_COUNTS, *chat_log._RESPONSES]
    groups = quoted(cells(text, "conversation")[1])
    assert groups[:-1] == [one for one in chat_log._GROUPS if not one.startswith("metadata.")]


def test_roles() -> None:
    text = section("### What a row is")
    for role in ("system", "user", "assistant"):
        assert quoted(cells(text, role)[1]) == [name for name, one in messages._ROLES.items() if one == role]

"""JSON lines and JSON arrays: each row where it stands, broken ones counted, nothing held whole."""

import json
from pathlib import Path
from typing import Any

import pytest

from paceline.errors import ConfigError
from paceline.workloads.datasets import json_rows
from paceline.workloads.datasets.container import Container
from paceline.workloads.datasets.json_rows import JsonArray, JsonLines
from paceline.workloads.read_report import RowError
from tests.workloads.datasets.support import skipped, source, texts

ROWS: list[Any] = [
    {"prompt": 'é €🎈 \\ " ] } ,'},
    "plain",
    {"a": [1, {"b": []}]},
    12,
    None,
    {"prompt": "x\u2028"},
]


def values(container: Container) -> list[Any]:
    """What the pass finds, and that it is found again."""
    scanned = list(container.scan())
    for one in scanned:
        if not isinstance(one.value, RowError):
            assert container.fetch(one.at, one.size) == one.value
    return [one.value for one in scanned]


def test_json_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    text = "\ufeff" + "\r\n".join(json.dumps(row, ensure_ascii=False) for row in ROWS) + "\n\n"
    path.write_text(text, newline="")
    assert values(JsonLines(path)) == ROWS


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("chunk", [1, 7, 1 << 22])
def test_an_array_is_read_in_whatever_pieces_it_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, indent: int | None, chunk: int
) -> None:
    monkeypatch.setattr(json_rows, "_CHUNK_BYTES", chunk)
    path = tmp_path / "a.json"
    path.write_text(" \n" + json.dumps(ROWS, ensure_ascii=False, indent=indent) + "\n")
    assert values(JsonArray(path)) == ROWS
    path.write_text("\ufeff[123456789]")
    assert values(JsonArray(path)) == [123456789]
    path.write_text(" [ ] ")
    assert values(JsonArray(path)) == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('[{"a": 1},\n{"a": }]', r"line 2, byte 12: element 2: Expecting value"),
        ('[{"a": 1} {"a": 2}]', r"line 1, byte 11: there should be `,` or `\]`, not '\{'"),
        ('[{"a": 1},', r"element 2: Expecting value"),
        ('[{"a": 1}', r"`,` or `\]`, and the file ends"),
        ('{"a": 1}', r"there should be `\[`"),
        ("[" * 200_000, r"element 1"),
    ],
)
def test_a_broken_array_is_an_error_with_its_place(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(ConfigError, match=told) as error:
        list(JsonArray(path).scan())
    assert "JSONL" in (error.value.hint or "")


def test_an_element_that_is_no_utf8_costs_itself_only(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b'[{"prompt": "a"}, {"prompt": "\xff"}, {"prompt": "b"}]')
    found = source(path)
    assert texts(found) == ["a", "b"]
    assert skipped(found) == {"not UTF-8": 1}


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"prompt": "a"', "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b'{"n": ' + b"9" * 5000 + b"}", "not JSON"),
        (b'{"prompt": "\\ud800"}', "not text: has half of a surrogate pair"),
        (b'{"prompt": "\xe9"}', "not UTF-8"),
        (b'{"prompt": null}', "no `prompt`"),
        (b'{"prompt": 5}', "`prompt` is no text"),
        (b'{"prompt": " "}', "`prompt` is empty"),
        (b'{"other": "x"}', "no `prompt`"),
        (b"[1]", "neither an object nor a text"),
        (b'""', "no text"),
    ],
)
def test_a_wrong_line_is_counted_by_its_reason(tmp_path: Path, line: bytes, reason: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"prompt": "a"}\n' + line + b'\n"b"\n')
    found = source(path)
    assert texts(found) == ["a", "b"]
    assert skipped(found) == {reason: 1}
    assert found.report.skipped[reason].examples[0].startswith("line 2")


def test_a_row_longer_than_the_bound_is_not_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"prompt": "a"}\n{"prompt": "' + "x" * (65 << 20) + '"}\n{"prompt": "b"}\n')
    found = source(path)
    assert texts(found) == ["a", "b"]
    assert skipped(found) == {"longer than 64 MiB": 1}

from pathlib import Path

import pytest

from paceline.errors import ConfigError
from paceline.workloads.datasets.formats import format_of


@pytest.mark.parametrize(
    ("name", "data", "found"),
    [
        ("a.txt", "{", "text"),
        ("a.md", "x", "blocks"),
        ("a.JSONL", "{}", "jsonl"),
        ("a.ndjson", "{}", "jsonl"),
        ("a.json", '\ufeff\n [{"a": 1}]', "json"),
        ("a.json", '{"a": 1}\n{"a": 2}', "jsonl"),
        ("a.tsv", "a\tb", "csv"),
        ("log", '{"a": 1}', "jsonl"),
        ("a.csv", "PAR1....", "parquet"),
    ],
)
def test_by_beginning_or_ending(tmp_path: Path, name: str, data: str, found: str) -> None:
    path = tmp_path / name
    path.write_text(data)
    assert format_of(path) == found


def test_what_neither_tells(tmp_path: Path) -> None:
    path = tmp_path / "a.dat"
    path.write_text("hello")
    with pytest.raises(ConfigError, match="neither its name nor its beginning") as error:
        format_of(path)
    assert '"blocks"' in (error.value.hint or "")

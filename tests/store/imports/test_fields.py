from pathlib import Path

import pytest

from paceline.errors import ConfigError
from paceline.store.imports import fields


@pytest.mark.parametrize("value", [float("nan"), float("inf"), True, "3", []])
def test_what_is_no_number(value: object) -> None:
    with pytest.raises(ConfigError, match=r"here: .* is no number"):
        fields.number(value, "here")


def test_missing_numbers() -> None:
    assert fields.number_or_none(None, "here") is None
    with pytest.raises(ConfigError, match="missing"):
        fields.number(None, "here")


@pytest.mark.parametrize("value", [1e18, -1e18, 10**400, 10**13])
def test_a_number_that_cannot_be_meant(value: float) -> None:
    with pytest.raises(ConfigError, match="no number that can be meant"):
        fields.number(value, "here")


@pytest.mark.parametrize("value", [-1, 10**20, 1.5, None, True])
def test_what_is_no_instant(value: object) -> None:
    with pytest.raises(ConfigError, match="is no instant"):
        fields.stamp(value, "here")


def test_half_a_character_is_replaced() -> None:
    assert fields.text_if("a\ud800b") == "a?b"
    assert fields.text_if("") is None
    assert fields.text_if(3) is None


@pytest.mark.parametrize("value", [-1, 1.5])
def test_what_is_no_count(value: float) -> None:
    with pytest.raises(ConfigError, match="is no count"):
        fields.count_or_none(value, "here")


def test_what_is_no_duration() -> None:
    with pytest.raises(ConfigError, match="is no duration"):
        fields.duration(-0.001, "here")


def test_lines_say_where_they_are(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    path.write_text('{"a": 1}\n\n{"b"\n')
    lines = fields.read_lines(path)
    assert next(lines)[1] == {"a": 1}
    with pytest.raises(ConfigError, match=r"records.jsonl, line 3: this is not JSON"):
        next(lines)


@pytest.mark.parametrize(
    ("content", "what"), [(b"\xff\xfe", "not UTF-8"), (b"[" * 100_000, "not JSON"), (b"{", "not JSON")]
)
def test_documents_that_are_none(tmp_path: Path, content: bytes, what: str) -> None:
    path = tmp_path / "file.json"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=what):
        fields.read_document(path)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        fields.read_document(tmp_path / "none.json")


def test_urls_lose_credentials_and_queries() -> None:
    assert fields.plain_url("https://me:secret@host:8000/v1?key=secret") == "https://host:8000/v1"
    assert fields.plain_url("host") is None
    assert fields.plain_url(None) is None
    assert fields.plain_url("http://[broken") is None


def test_an_error_is_one_line_and_short() -> None:
    assert fields.error_text("a\n  b") == "a b"
    assert len(fields.error_text("x" * 9_000) or "") == 500
    assert fields.error_text("") is None

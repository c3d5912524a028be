from pathlib import Path

import pytest

from paceline.errors import StoreError
from paceline.store.document import read_document


def test_a_document_is_read(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text('{"id": "é"}', encoding="utf-8")
    assert read_document(path, "hint") == {"id": "é"}


def test_a_missing_file_has_its_hint(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="is missing") as info:
        read_document(tmp_path / "run.json", "delete it")
    assert info.value.hint == "delete it"


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot read"):
        read_document(tmp_path, "hint")


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"{", "Expecting"), (b"\xff", "utf-8"), (b"[" * 200_000, "nested too deeply")],
    ids=["cut", "bytes", "deep"],
)
def test_what_is_damaged_is_a_value_error(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "run.json"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=said):
        read_document(path, "hint")

import os
from pathlib import Path

import pytest

from paceline.errors import ConfigError
from paceline.store.score_imports import files
from paceline.store.score_imports.files import read_scores


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"[1, 2]", "no log of Inspect and no results"),
        (b'{"results": {}}', "no log of Inspect and no results"),
        (b"{", "not JSON"),
        (b"[" * 200_000, "not JSON"),
        (b"\xff\xfe\x00", "not UTF-8"),
        (b"\0" * 100, "unknown column"),
    ],
)
def test_a_file_of_another_kind_is_refused(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=says) as refused:
        read_scores(path)
    assert refused.value.exit_code == 2
    assert refused.value.hint


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        read_scores(tmp_path / "none.csv")
    with pytest.raises(ConfigError, match="not a file"):
        read_scores(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ConfigError, match="not a file"):
        read_scores(tmp_path / "pipe")


def test_a_file_that_is_too_long_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MOST_BYTES", 10)
    path = tmp_path / "long.csv"
    path.write_text("x" * 11)
    with pytest.raises(ConfigError, match="more than 10 bytes"):
        read_scores(path)

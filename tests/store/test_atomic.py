import errno
from pathlib import Path

import pytest

from paceline.errors import StoreError
from paceline.store import atomic


def test_a_failing_block_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "file.json"
    atomic.write_text(target, "old")

    def write_half() -> None:
        with atomic.replaced(target) as temporary:
            temporary.write_text("half")
            raise KeyError

    with pytest.raises(KeyError):
        write_half()
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_full_disk_is_told_with_a_hint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(atomic, "_sync_file", full)
    with pytest.raises(StoreError, match="No space left") as caught:
        atomic.write_text(tmp_path / "file.json", "new")
    assert caught.value.hint is not None
    assert "disk is full" in caught.value.hint
    assert list(tmp_path.iterdir()) == []


def test_a_missing_folder_is_a_store_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot write"):
        atomic.write_text(tmp_path / "nowhere" / "file.json", "new")


def test_a_file_where_a_folder_must_be(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("")
    with pytest.raises(StoreError, match="cannot create"):
        atomic.make_folder(tmp_path / "home" / "runs" / "id")


def test_sweep_removes_only_temporary_files(tmp_path: Path) -> None:
    (tmp_path / f".a.parquet.1234{atomic.TEMPORARY_SUFFIX}").write_text("half")
    (tmp_path / "a.parquet").write_text("whole")
    atomic.sweep(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["a.parquet"]

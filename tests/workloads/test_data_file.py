"""Whatever a path can be that is no file of rows: said plainly, before anything is read."""

import gzip
import os
from pathlib import Path

import pytest

from paceline.errors import ConfigError
from paceline.workloads.data_file import checked_file, same_file, sha256_of


def refused(path: Path | str) -> str:
    with pytest.raises(ConfigError) as error:
        checked_file(str(path), "data")
    assert error.value.hint
    return error.value.message


def test_what_is_no_file(tmp_path: Path) -> None:
    assert refused(tmp_path / "no").endswith("there is no such file")
    assert refused(tmp_path).endswith("is a folder")
    fifo = tmp_path / "pipe"
    os.mkfifo(fifo)
    assert "a pipe, socket or device" in refused(fifo)
    assert "a pipe, socket or device" in refused("/dev/null")
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "gone")
    assert "a link that leads nowhere" in refused(link)
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    assert "too many levels" in refused(loop)
    assert "name too long" in refused("x" * 5000)
    assert "null" in refused("a\0b")
    assert "home" in refused("~no-such-user/a.txt")


@pytest.mark.parametrize("data", [b"", b" \r\n\n\t", b"\xef\xbb\xbf", b"\xef\xbb\xbf\n"])
def test_empty_files(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "e.txt"
    path.write_bytes(data)
    assert refused(path).endswith("is empty")


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (gzip.compress(b"x"), "gzip"),
        (b"PK\x03\x04...", "zip archive"),
        (b"\x28\xb5\x2f\xfd...", "zstd"),
        ("é".encode("utf-16"), "UTF-16"),
        ("é".encode("utf-32"), "UTF-32"),
    ],
)
def test_files_that_have_no_lines(tmp_path: Path, data: bytes, told: str) -> None:
    path = tmp_path / "d.txt"
    path.write_bytes(data)
    assert told in refused(path)


def test_a_link_to_a_file_is_followed(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    (tmp_path / "b.txt").symlink_to("a.txt")
    found = checked_file(str(tmp_path / "b.txt"), "data")
    assert found.is_absolute()
    # printf x | sha256sum
    assert sha256_of(found, "data") == "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    path = tmp_path / "secret.txt"
    path.write_text("x")
    path.chmod(0)
    assert refused(path).endswith("permission denied")


def test_a_changed_file_is_refused_even_when_it_was_hashed_before(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("one")
    before = same_file(path, None, "data")
    assert same_file(path, before, "data") == before
    path.write_text("two!")
    with pytest.raises(ConfigError, match=f"has changed: its sha256 is .*, and was {before[:12]}"):
        same_file(path, before, "data")

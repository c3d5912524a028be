"""Files that are read whole: no more of them than may be."""

from pathlib import Path

import pytest

from paceline.whole_file import read_whole


def test_a_file_of_the_bound_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"x" * 10)
    assert read_whole(path, 10) == b"x" * 10
    with pytest.raises(OSError, match="more than 9 bytes"):
        read_whole(path, 9)


@pytest.mark.parametrize("path", ["/dev/zero", "/proc/self", "/nowhere/a"])
def test_what_has_no_end_or_is_no_file(path: str) -> None:
    with pytest.raises(OSError, match=r"more than|Is a directory|No such file"):
        read_whole(Path(path), 1000)

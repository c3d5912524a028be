"""What is said of files that are no model."""

from pathlib import Path

import pytest

from paceline.weights.model import ModelFileError
from paceline.weights.read import read_model


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 3\n", "Git LFS"),
        (b"<!DOCTYPE html><html>", "web page"),
        (b"PK\x03\x04" + bytes(60), "ZIP"),
        (b"\x80\x02}q\x00", "pickle"),
        (b"\x7fELF\x02\x01" + bytes(60), "a program"),
        (b"tjgg" + bytes(60), "older format"),
        (b"hello world, this is a text and no model at all\n", "but text"),
        (bytes(4096), "zeros"),
        (b"\x01\x02\x03", "something else"),
        (b"GG", "but text"),
        (b"GGUF", "ends inside its header"),
    ],
)
def test_files_that_are_no_model(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "a.gguf"
    path.write_bytes(content)
    with pytest.raises(ModelFileError) as caught:
        read_model(path)
    assert words in caught.value.message
    assert caught.value.hint

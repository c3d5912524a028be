"""Reading forward through a file, in pieces, never past its end."""

import struct
from pathlib import Path

import pytest

from paceline.weights.model import ModelFileError
from paceline.weights.opened import opened


def test_numbers_of_both_byte_orders(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(struct.pack("<IqB", 7, -8, 9) + struct.pack(">HIf", 1, 2, 0.5))
    with opened(path) as cursor:
        assert [cursor.number(kind, "it") for kind in "IqB"] == [7, -8, 9]
        cursor.big_endian()
        assert cursor.number("H", "it") == 1
        assert cursor.numbers("I", 1, "it") == (2,)
        assert cursor.at == 19
        assert cursor.number("f", "it") == 0.5


def test_reads_across_pieces(tmp_path: Path) -> None:
    path = tmp_path / "a"
    data = bytes(range(256)) * 12_000
    path.write_bytes(data)
    with opened(path) as cursor:
        got = b""
        while cursor.at < len(data):
            got += cursor.take(min(700_001, len(data) - cursor.at), "it")
        assert got == data
        assert b"".join(cursor.so_far()) == data


def test_skips_are_bounded_by_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(bytes(100))
    with opened(path) as cursor:
        cursor.skip(99, "it")
        assert cursor.peek(8) == b"\0"
        for ask in (cursor.take, cursor.skip):
            with pytest.raises(ModelFileError, match=r"inside its header, in the key 'a' \(it has 100 B\)"):
                ask(2, "the key 'a'")
        cursor.skip(1, "it")


def test_strings_are_skipped_and_a_cut_one_is_found(tmp_path: Path) -> None:
    path = tmp_path / "a"
    words = b"".join(struct.pack("<Q", length) + b"x" * length for length in (0, 5, 3_000_000, 1))
    path.write_bytes(words + b"!")
    with opened(path) as cursor:
        cursor.skip_strings(4, "it")
        assert cursor.take(1, "it") == b"!"
    path.write_bytes(words[:-1])
    with opened(path) as cursor, pytest.raises(ModelFileError):
        cursor.skip_strings(4, "it")
    path.write_bytes(struct.pack("<Q", (1 << 64) - 1))
    with opened(path) as cursor, pytest.raises(ModelFileError):
        cursor.skip_strings(1, "it")

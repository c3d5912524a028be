"""Generated images are PNG files that any reader takes."""

import base64
import struct
import zlib

import pytest

from paceline.workloads.images import png, png_url


def chunks(data: bytes) -> list[tuple[bytes, bytes]]:
    assert data[:8] == bytes([137, 80, 78, 71, 13, 10, 26, 10])
    found, at = [], 8
    while at < len(data):
        (length,) = struct.unpack_from(">I", data, at)
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        (checked,) = struct.unpack_from(">I", data, at + 8 + length)
        assert checked == zlib.crc32(kind + body)
        found.append((kind, body))
        at += 12 + length
    return found


@pytest.mark.parametrize(("width", "height"), [(1, 1), (32, 32), (33, 95), (512, 384), (4096, 16)])
def test_it_has_the_size_that_was_asked(width: int, height: int) -> None:
    parts = dict(chunks(png(width, height, 7)))
    assert list(parts) == [b"IHDR", b"PLTE", b"IDAT", b"IEND"]
    assert struct.unpack(">IIBBBBB", parts[b"IHDR"]) == (width, height, 8, 3, 0, 0, 0)
    assert len(parts[b"PLTE"]) == 256 * 3
    pixels = zlib.decompress(parts[b"IDAT"])
    lines = [pixels[at : at + width + 1] for at in range(0, len(pixels), width + 1)]
    assert len(lines) == height
    assert all(len(line) == width + 1 and line[0] == 0 for line in lines)


def test_it_is_small_and_follows_from_its_state() -> None:
    assert len(png(1024, 1024, 1)) < 30_000
    assert png(64, 64, 1) == png(64, 64, 1)
    assert len({png(64, 64, state) for state in range(100)}) == 100


def test_the_url_carries_the_file() -> None:
    head, _, data = png_url(40, 30, 5).partition(",")
    assert head == "data:image/png;base64"
    assert base64.b64decode(data, validate=True) == png(40, 30, 5)

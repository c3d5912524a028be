"""Generated images: PNG files as `data:` URLs, small, and different for every place of a seed."""

import base64
import struct
import zlib

from paceline.workloads.seeding import GOLDEN, mix64

_TILE_PX = 32
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
# Eight bits a pixel, each an entry of a palette.
_DEPTH_AND_COLOUR = (8, 3)
_PALETTE_SIZE = 256


def png_url(width_px: int, height_px: int, state: int) -> str:
    """A picture of coloured tiles that follow from `state`, as `data:image/png;base64,...`.

    Format: PNG (Third Edition), W3C Recommendation.
    """
    return "data:image/png;base64," + base64.b64encode(png(width_px, height_px, state)).decode("ascii")


def png(width_px: int, height_px: int, state: int) -> bytes:
    """The file itself."""
    palette = b"".join(
        mix64(state + (entry + 1) * GOLDEN).to_bytes(8, "little")[:3] for entry in range(_PALETTE_SIZE)
    )
    header = struct.pack(">IIBBBBB", width_px, height_px, *_DEPTH_AND_COLOUR, 0, 0, 0)
    packed = zlib.compress(_lines(width_px, height_px, state), level=1)
    chunks = ((b"IHDR", header), (b"PLTE", palette), (b"IDAT", packed), (b"IEND", b""))
    return _SIGNATURE + b"".join(_chunk(kind, data) for kind, data in chunks)


def _lines(width_px: int, height_px: int, state: int) -> bytes:
    """Lines of pixels, each after its filter type, which is 0: none."""
    across = -(-width_px // _TILE_PX)
    lines = []
    for row in range(-(-height_px // _TILE_PX)):
        tiles = (mix64(state ^ mix64(row * across + column)) & 0xFF for column in range(across))
        line = b"\x00" + b"".join(bytes([tile]) * _TILE_PX for tile in tiles)[:width_px]
        lines.append(line * min(_TILE_PX, height_px - row * _TILE_PX))
    return b"".join(lines)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

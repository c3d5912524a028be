"""Pictures of a row: URLs as they are, files beside the data set as data URLs."""

import base64
import re
from pathlib import Path
from typing import Any

from paceline.workloads.read_report import RowError

MAX_IMAGE_BYTES = 20 * 1024 * 1024
_KINDS = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
)


_URL = re.compile(r"https?://[!-~]+|data:image/[a-zA-Z0-9.+-]+;base64,[A-Za-z0-9+/=_-]+", re.ASCII)


def is_image_url(text: str) -> bool:
    """A URL that can be sent: one that the server fetches, or the picture itself in base64."""
    return _URL.fullmatch(text) is not None


def image_urls(value: Any, folder: Path, column: str) -> tuple[str, ...]:
    """URLs of one picture or a list of them; none where the value is empty.

    A picture is a data: or http(s): URL, the name of a file in `folder` or below, bytes, or an object with
    `bytes` or `path`. Raises RowError for anything else, and for a file that leads out of the folder: a data
    set of others must not send files of this machine to an endpoint.
    """
    if value is None or value == "":
        return ()
    several = value if isinstance(value, list | tuple) else [value]
    return tuple(_url(one, folder, column) for one in several)


def _url(value: Any, folder: Path, column: str) -> str:
    if isinstance(value, dict):
        value = value.get("bytes") or value.get("path") or value.get("url")
    if isinstance(value, bytes):
        return _data_url(value, column)
    if not isinstance(value, str) or "\0" in value:
        raise RowError(f"`{column}` is no picture")
    if is_image_url(value):
        return value
    try:
        path = (folder / value).resolve()
        if not path.is_relative_to(folder.resolve()):
            raise RowError(f"`{column}` leads out of the folder of the data")
        if not path.is_file():
            raise RowError(f"`{column}`: there is no such file")
        if path.stat().st_size > MAX_IMAGE_BYTES:
            raise RowError(f"`{column}`: a picture is larger than {MAX_IMAGE_BYTES >> 20} MiB")
        return _data_url(path.read_bytes(), column)
    except OSError:
        raise RowError(f"`{column}`: a file cannot be read") from None


def _data_url(data: bytes, column: str) -> str:
    kind = next((kind for magic, kind in _KINDS if data.startswith(magic)), None)
    if kind is None and data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        kind = "image/webp"
    if kind is None:
        raise RowError(f"`{column}` is no PNG, JPEG, GIF or WebP picture")
    if len(data) > MAX_IMAGE_BYTES:
        raise RowError(f"`{column}`: a picture is larger than {MAX_IMAGE_BYTES >> 20} MiB")
    return f"data:{kind};base64,{base64.b64encode(data).decode('ascii')}"

"""Read a file whole that a user names, which may be anything: too long, endless, no file at all."""

import errno
from pathlib import Path


def read_whole(path: Path, most_bytes: int) -> bytes:
    """The bytes of a file. Raises OSError, also where there are more than `most_bytes`, as in a device."""
    with path.open("rb") as file:
        data = file.read(most_bytes + 1)
    if len(data) > most_bytes:
        raise OSError(errno.EFBIG, f"it has more than {most_bytes:,} bytes")
    return data

"""A model's file, open for its header: a regular file only, read in pieces, never past its end."""

import os
import stat
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from paceline.units import format_bytes
from paceline.weights.model import ModelFileError

AGAIN = "download it again: the copy is incomplete"
_PIECE_BYTES = 1 << 20
_ORDERS: dict[str, dict[str, struct.Struct]] = {
    order: {kind: struct.Struct(order + kind) for kind in "bBhHiIqQfd?"} for order in "<>"
}


class Cursor:
    """Reads forward. All numbers in the file's byte order; each read raises ModelFileError past the end."""

    def __init__(self, path: Path, descriptor: int, size: int) -> None:
        self.path = path
        self.size = size
        self._descriptor = descriptor
        self._piece = b""
        self._piece_at = 0
        self._place = 0
        self._numbers = _ORDERS["<"]

    @property
    def at(self) -> int:
        """Where the next read begins."""
        return self._piece_at + self._place

    def big_endian(self) -> None:
        """From here on numbers are read high byte first."""
        self._numbers = _ORDERS[">"]

    def take(self, count: int, what: str) -> bytes:
        """The next `count` bytes."""
        self._have(count, what)
        self._place += count
        return self._piece[self._place - count : self._place]

    def peek(self, count: int) -> bytes:
        """The next bytes, at most `count` and fewer at the end, without going on."""
        return os.pread(self._descriptor, count, self.at)

    def number(self, kind: str, what: str) -> int | float | bool:
        """The next number; kind: a letter of `struct`."""
        form = self._numbers[kind]
        self._have(form.size, what)
        value: int | float | bool = form.unpack_from(self._piece, self._place)[0]
        self._place += form.size
        return value

    def numbers(self, kind: str, count: int, what: str) -> tuple[int | float | bool, ...]:
        """The next `count` numbers of one kind."""
        data = self.take(count * self.width(kind), what)
        return tuple(value for (value,) in self._numbers[kind].iter_unpack(data))

    def width(self, kind: str) -> int:
        """Bytes of one number of a kind."""
        return self._numbers[kind].size

    def so_far(self) -> Iterator[bytes]:
        """What lies before the next read, again, in pieces."""
        end = self.at
        for place in range(0, end, _PIECE_BYTES):
            yield os.pread(self._descriptor, min(_PIECE_BYTES, end - place), place)

    def skip(self, count: int, what: str) -> None:
        """Go on behind the next `count` bytes, without reading them."""
        if count > self.size - self.at:
            raise self.cut(what)
        self._place += count

    def skip_strings(self, count: int, what: str) -> None:
        """Go on behind `count` strings, each a length of eight bytes and its text; none is made an object."""
        unpack = self._numbers["Q"].unpack_from
        while count:
            self._have(8, what)
            piece, place, last = self._piece, self._place, len(self._piece) - 8
            while count and place <= last:
                place += 8 + unpack(piece, place)[0]
                count -= 1
            if place > self.size - self._piece_at:
                raise self.cut(what)
            self._place = place

    def cut(self, what: str) -> ModelFileError:
        """The error of a file that ends before its header does."""
        return ModelFileError(
            f"{self.path}: the file ends inside its header, in {what} (it has {format_bytes(self.size)})",
            AGAIN,
        )

    def _have(self, count: int, what: str) -> None:
        if self._place + count <= len(self._piece):
            return
        if count > self.size - self.at:
            raise self.cut(what)
        self._piece_at, self._place = self.at, 0
        wanted = min(max(count, _PIECE_BYTES), self.size - self._piece_at)
        self._piece = os.pread(self._descriptor, wanted, self._piece_at)
        if len(self._piece) < count:
            raise self.cut(what)


@contextmanager
def opened(path: Path) -> Iterator[Cursor]:
    """The file, from its beginning. Raises ModelFileError where it cannot be read or is no regular file."""
    try:
        # Not to wait for whoever might write into a pipe.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise ModelFileError(
                f"{path} is {_kind(status.st_mode)}, no model", "give a model's file or folder"
            )
        try:
            yield Cursor(path, descriptor, status.st_size)
        except OSError as error:
            raise unreadable(path, error) from None
    finally:
        os.close(descriptor)


def unreadable(path: Path, error: Exception) -> ModelFileError:
    """What a failed open or read says, with a hint."""
    if isinstance(error, FileNotFoundError):
        return ModelFileError(f"{path}: there is no such file or folder", "check the path of the model")
    if isinstance(error, PermissionError):
        return ModelFileError(f"{path} may not be read by this user", "change its permissions, or copy it")
    reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
    return ModelFileError(f"{path} cannot be read: {reason}", "check the path and the disk")


def _kind(mode: int) -> str:
    names = (
        (stat.S_ISDIR, "a folder"),
        (stat.S_ISFIFO, "a pipe"),
        (stat.S_ISSOCK, "a socket"),
        (stat.S_ISCHR, "a device"),
        (stat.S_ISBLK, "a device"),
    )
    return next((name for test, name in names if test(mode)), "no regular file")

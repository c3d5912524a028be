"""The file of a data set or a trace: that it can be read, and that it is the same as before."""

import hashlib
import os
import stat
from functools import lru_cache
from pathlib import Path

from paceline.errors import ConfigError

_GIVE_A_FILE = "give a file of text, JSONL, CSV or Parquet"
# First bytes that give a file away as something whose lines cannot be read.
_UNREADABLE = (
    (b"\x1f\x8b", "is compressed with gzip", "unpack it first: gunzip -k FILE"),
    (b"\x28\xb5\x2f\xfd", "is compressed with zstd", "unpack it first: zstd -d FILE"),
    (b"BZh", "is compressed with bzip2", "unpack it first: bunzip2 -k FILE"),
    (b"\xfd7zXZ\x00", "is compressed with xz", "unpack it first: unxz -k FILE"),
    (b"PK\x03\x04", "is a zip archive", "unpack it first: unzip FILE"),
    (b"\xff\xfe\x00\x00", "is UTF-32", "write it as UTF-8: iconv -f UTF-32 -t UTF-8"),
    (b"\x00\x00\xfe\xff", "is UTF-32", "write it as UTF-8: iconv -f UTF-32 -t UTF-8"),
    (b"\xff\xfe", "is UTF-16", "write it as UTF-8: iconv -f UTF-16 -t UTF-8"),
    (b"\xfe\xff", "is UTF-16", "write it as UTF-8: iconv -f UTF-16 -t UTF-8"),
)
PARQUET_MAGIC = b"PAR1"
UTF8_BOM = b"\xef\xbb\xbf"
_HEAD_BYTES = 4096


def checked_file(path: str, what: str) -> Path:
    """The absolute path of a file that can be read, follows links, and is not of a kind that has no lines.

    Raises ConfigError that says what the path is instead; `what` is `data` or `trace`.
    """
    try:
        given = Path(path).expanduser()
        found = given.stat()
    except FileNotFoundError:
        broken = " (a link that leads nowhere)" if Path(path).expanduser().is_symlink() else ""
        raise ConfigError(f"{what} {path}: there is no such file{broken}", _GIVE_A_FILE) from None
    except (OSError, ValueError, RuntimeError) as error:
        # The last is a home folder of nobody: ~name.
        raise ConfigError(f"{what} {path!r}: {_reason(error)}", _GIVE_A_FILE) from None
    if stat.S_ISDIR(found.st_mode):
        raise ConfigError(f"{what} {path}: is a folder", "give one file of it")
    if not stat.S_ISREG(found.st_mode):
        # A pipe cannot be read twice, and a run that resumes reads again.
        raise ConfigError(f"{what} {path}: is not a file, but a pipe, socket or device", "write it to a file")
    head = head_of(given, what)
    if found.st_size <= _HEAD_BYTES and not head.removeprefix(UTF8_BOM).strip():
        raise ConfigError(f"{what} {path}: is empty", _GIVE_A_FILE)
    for magic, fault, hint in _UNREADABLE:
        if head.startswith(magic):
            raise ConfigError(f"{what} {path}: {fault}", hint)
    return given.absolute()


def head_of(path: Path, what: str) -> bytes:
    """The first bytes of a file, all blank ones included. Raises ConfigError where it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(_HEAD_BYTES)
    except OSError as error:
        raise ConfigError(
            f"{what} {path}: {_reason(error)}", "see who may read it: ls -l" if error.errno == 13 else None
        ) from None


def sha256_of(path: Path, what: str) -> str:
    """The file's hash; computed once a process for one state of the file."""
    try:
        found = path.stat()
        return _hashed(path, found.st_size, found.st_mtime_ns, found.st_ino)
    except OSError as error:
        raise ConfigError(f"{what} {path}: {_reason(error)}") from None


def same_file(path: Path, sha256: str | None, what: str) -> str:
    """The file's hash. Raises ConfigError where it is not `sha256`: the run was begun with other rows."""
    actual = sha256_of(path, what)
    if sha256 is not None and sha256 != actual:
        raise ConfigError(
            f"{what} {path}: has changed: its sha256 is {actual[:12]}..., and was {sha256[:12]}...",
            "bring the file back as it was, or begin a new run",
        )
    return actual


@lru_cache(maxsize=16)
def _hashed(path: Path, _size: int, _mtime_ns: int, _inode: int) -> str:
    with path.open("rb") as file:
        # The pages are read again right after, to find the rows.
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_SEQUENTIAL)
        return hashlib.file_digest(file, "sha256").hexdigest()


def _reason(error: Exception) -> str:
    return (getattr(error, "strerror", None) or str(error)).lower()

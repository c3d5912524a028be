"""Files that are there whole or not at all, whatever happens while they are written."""

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from paceline.errors import StoreError

TEMPORARY_SUFFIX = ".part-written"
RESERVE_NAME = ".reserve"
RESERVE_BYTES = 32 * 1024

_HINTS = {
    errno.ENOSPC: "the disk is full: free some space, or set PACELINE_HOME to another disk",
    errno.EDQUOT: "the disk quota is used up: free some space, or set PACELINE_HOME to another disk",
    errno.EACCES: "no permission to write there: set PACELINE_HOME to a folder that you may write to",
    errno.EPERM: "no permission to write there: set PACELINE_HOME to a folder that you may write to",
    errno.EROFS: "the file system is read-only: set PACELINE_HOME to a folder that you may write to",
    errno.ENOTDIR: "a part of that path is a file, not a folder: set PACELINE_HOME to a folder",
    errno.EEXIST: "a file is in the way: set PACELINE_HOME to a folder",
    errno.EMFILE: "too many open files: raise the limit (ulimit -n)",
}


def store_error(what: str, error: OSError) -> StoreError:
    """The error to raise when the operating system refused `what`."""
    reason = os.strerror(error.errno) if error.errno else str(error)
    hint = _HINTS.get(error.errno or 0, "check the disk and its permissions, or set PACELINE_HOME elsewhere")
    return StoreError(f"{what}: {reason}", hint)


@contextmanager
def replaced(target: Path) -> Iterator[Path]:
    """A temporary path beside `target` to write to; on leaving it takes the place of `target`.

    The data is on the disk before the name changes, so a reader sees the old file or the new one. When the
    block fails, nothing is left behind. Raises StoreError for what the operating system refuses.
    """
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}{TEMPORARY_SUFFIX}")
    try:
        yield temporary
        _sync_file(temporary)
        temporary.replace(target)
        sync_folder(target.parent)
    except OSError as error:
        _forget(temporary)
        raise store_error(f"cannot write {target}", error) from error
    except BaseException:
        _forget(temporary)
        raise


def write_text(target: Path, text: str) -> None:
    """Write `text` as UTF-8, whole or not at all. Raises StoreError."""
    with replaced(target) as temporary:
        temporary.write_text(text, encoding="utf-8")


def make_folder(folder: Path) -> None:
    """Create a folder and its parents where they are not there. Raises StoreError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise store_error(f"cannot create {folder}", error) from error


def sync_folder(folder: Path) -> None:
    """Make a change of names in `folder` last through a power cut."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def reserve(folder: Path) -> None:
    """Hold some room in `folder`, so that a full disk still takes a last word. Raises StoreError."""
    path = folder / RESERVE_NAME
    try:
        # Bytes that no file system can compress.
        path.write_bytes(os.urandom(RESERVE_BYTES))
    except OSError as error:
        raise store_error(f"cannot write {path}", error) from error


def free_reserve(folder: Path) -> None:
    """Give back what `reserve` held."""
    _forget(folder / RESERVE_NAME)


def sweep(folder: Path) -> None:
    """Remove temporary files that a killed writer left. Only its next writer may call this."""
    for left in folder.glob(f".*{TEMPORARY_SUFFIX}"):
        _forget(left)


def _sync_file(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _forget(path: Path) -> None:
    with suppress(OSError):
        path.unlink(missing_ok=True)

"""Who is writing a run right now.

The writer holds an advisory lock on a file in the run's folder. The kernel lets go of it when the process
ends, however it ends, so a run that says `running` and is not locked was cut off. A process id would not do:
ids are used again, and another container has others.
"""

import fcntl
import os
import time
from contextlib import suppress
from pathlib import Path

from paceline.errors import StoreError
from paceline.store.atomic import store_error

LOCK_NAME = ".writer"
# A reader that looks whether the run is locked holds it for an instant.
_WAIT_S = 0.1
_PAUSE_S = 0.02


class WriterLock:
    """Held from creation to `release` or to the end of the process."""

    def __init__(self, folder: Path, what: str | None = None) -> None:
        """Take the lock of the run, or of `what`, in `folder`.

        Raises StoreError when another process has it.
        """
        path = folder / LOCK_NAME
        try:
            self._handle: int | None = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise store_error(f"cannot write {path}", error) from error
        if not take_within(self._handle, _WAIT_S):
            holder = _holder(self._handle)
            self.release()
            raise StoreError(
                f"{what or f'run {folder.name}'} is being written by another process{holder}",
                "wait until it has ended, or stop it",
            )
        # Only for the message above: who holds the lock is known by the lock.
        with suppress(OSError):
            os.ftruncate(self._handle, 0)
            os.pwrite(self._handle, str(os.getpid()).encode(), 0)

    def release(self) -> None:
        """Let go; harmless when called again."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


def living_state(state: str, folder: Path) -> str:
    """The state that a manifest names, or `interrupted` where its writer is gone."""
    return "interrupted" if state == "running" and not is_locked(folder) else state


def is_locked(folder: Path) -> bool:
    """Whether a living process is writing the run in `folder`."""
    return is_held(folder / LOCK_NAME)


def is_held(path: Path) -> bool:
    """Whether a living process holds the lock on this file. Takes and changes nothing."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(handle)
    return False


def take_within(handle: int, wait_s: float) -> bool:
    """Take the lock of an open file; False where another process keeps it for longer than that."""
    until_s = time.monotonic() + wait_s
    while True:
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        if time.monotonic() >= until_s:
            return False
        time.sleep(_PAUSE_S)


def _holder(handle: int) -> str:
    try:
        text = os.pread(handle, 20, 0).decode("ascii", "replace").strip()
    except OSError:
        return ""
    return f" (process {text})" if text.isdigit() else ""

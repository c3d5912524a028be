"""One gateway a home: the ledger has one writer."""

import os
from contextlib import suppress
from pathlib import Path

from paceline.errors import UsageError
from paceline.store import lock
from paceline.store.atomic import make_folder, store_error

LOCK_NAME = ".gateway"
_WAIT_S = 2.0


class GatewayLock:
    """Held by the control process and its data plane alike: the last of them to end lets go of it.

    So a data plane that drains after its control process was killed keeps another from the ledger.
    """

    def __init__(self, home: Path) -> None:
        """Take it. Raises UsageError when a gateway has it."""
        folder = home / "gateway"
        make_folder(folder)
        path = folder / LOCK_NAME
        try:
            # What lies here says who asked for what.
            folder.chmod(0o700)
            self.handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise store_error(f"cannot write {path}", error) from error
        if not lock.take_within(self.handle, _WAIT_S):
            holder = os.pread(self.handle, 20, 0).decode("ascii", "replace").strip()
            self.release()
            who = f" (process {holder})" if holder.isdigit() else ""
            raise UsageError(
                f"a gateway{who} works in {folder}, or what it began is still in flight",
                "stop it, wait until it has drained, or set PACELINE_HOME to another folder",
            )
        with suppress(OSError):
            os.ftruncate(self.handle, 0)
            os.pwrite(self.handle, str(os.getpid()).encode(), 0)

    def release(self) -> None:
        """Let go."""
        os.close(self.handle)


def is_held(home: Path) -> bool:
    """Whether a gateway works in this home. Takes and changes nothing."""
    return lock.is_held(home / "gateway" / LOCK_NAME)

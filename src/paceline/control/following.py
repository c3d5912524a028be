"""The ledger's way into the store, beside all else."""

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from paceline.control.keeper import Say

if TYPE_CHECKING:
    from paceline.control.follow import Followed

EVERY_S = 1.0


class Follower(Protocol):
    """Brings what the ledger has into the store."""

    def step(self) -> "Followed":
        """What has come since the last step. Raises PacelineError."""

    def close(self) -> "Followed":
        """The last steps, and the end. Raises PacelineError."""


class Following:
    """The ledger's way into the store, in a thread of its own. What goes wrong is said, and tried again.

    Of each segment the first line is named that could not be read.
    """

    def __init__(self, follower: Follower, say: Say) -> None:
        self._follower = follower
        self._say = say
        self._end = threading.Event()
        self._said = ""
        self._told_of: set[int] = set()
        self._thread = threading.Thread(target=self._run, name="paceline-follow", daemon=True)

    def start(self) -> None:
        """Begin with the steps."""
        self._thread.start()

    def _run(self) -> None:
        more = False
        while not self._end.wait(0.0 if more else EVERY_S):
            more = self._try(self._follower.step)

    def end(self) -> None:
        """The last step; the data plane has ended, so that the ledger is whole."""
        self._end.set()
        if self._thread.is_alive():
            self._thread.join()
        self._try(self._follower.close)

    def _try(self, step: Callable[[], "Followed"]) -> bool:
        """Whether there is more to follow at once."""
        try:
            found = step()
        except Exception as error:  # whatever it is, traffic goes on, and the ledger keeps what it has
            what = str(error) or type(error).__name__
            words = f"the ledger cannot be followed: {what}; it is tried again"
            if words != self._said:
                self._say(words)
            self._said = words
            return False
        self._said = ""
        for line in found.unread.named:
            if line.segment not in self._told_of:
                self._told_of.add(line.segment)
                self._say(
                    f"a line of the ledger cannot be read, and is in no figure: segment {line.segment:08d} "
                    f"at byte {line.offset:,}: {line.why}; of this segment no other is named"
                )
        return found.more

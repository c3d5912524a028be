"""The ledger's way into the store, beside all else."""

import threading
from collections.abc import Callable
from typing import Protocol

from paceline.control.keeper import Say

EVERY_S = 1.0


class Follower(Protocol):
    """Brings what the ledger has into the store."""

    def step(self) -> object:
        """What has come since the last step. Raises PacelineError."""

    def close(self) -> object:
        """The last step, and the end."""


class Following:
    """The ledger's way into the store, in a thread of its own. What goes wrong is said, and tried again."""

    def __init__(self, follower: Follower, say: Say) -> None:
        self._follower = follower
        self._say = say
        self._end = threading.Event()
        self._said = ""
        self._thread = threading.Thread(target=self._run, name="paceline-follow", daemon=True)

    def start(self) -> None:
        """Begin with the steps."""
        self._thread.start()

    def _run(self) -> None:
        while not self._end.wait(EVERY_S):
            self._try(self._follower.step)

    def end(self) -> None:
        """The last step; the data plane has ended, so that the ledger is whole."""
        self._end.set()
        if self._thread.is_alive():
            self._thread.join()
        self._try(self._follower.close)

    def _try(self, step: Callable[[], object]) -> None:
        try:
            step()
            self._said = ""
        except Exception as error:  # whatever it is, traffic goes on, and the ledger keeps what it has
            what = str(error) or type(error).__name__
            words = f"the ledger cannot be followed: {what}; it is tried again"
            if words != self._said:
                self._say(words)
            self._said = words

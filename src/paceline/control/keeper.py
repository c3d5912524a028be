"""Keeps a data plane up: starts it, starts another when it has died, and gives up when none stays."""

import time
from collections.abc import Callable, Sequence
from typing import Any

from paceline.control.plane import COMMAND, Plane, how_ended
from paceline.errors import PacelineError, RunError

# One that lived so long died of something new.
_STEADY_S = 60.0
_MOST_DEATHS = 8
_FIRST_PAUSE_S = 0.5
_LONGEST_PAUSE_S = 30.0

Documents = Callable[[], tuple[dict[str, Any], dict[str, Any]]]
Say = Callable[[str], None]


class Keeper:
    """At most one data plane at a time.

    documents: settings and table for a data plane that starts now, both secret. held: descriptors that it
    keeps open. clock: seconds, monotonic.
    """

    def __init__(
        self,
        documents: Documents,
        say: Say,
        *,
        command: Sequence[str] = COMMAND,
        held: Sequence[int] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._documents = documents
        self._say = say
        self._command = command
        self._held = held
        self._clock = clock
        self._plane: Plane | None = None
        self._started_s = 0.0
        self._deaths = 0
        self._due_s = 0.0
        # A free port that was taken is kept by the next one.
        self.addresses: dict[str, str | None] = {}

    @property
    def plane(self) -> Plane | None:
        """The data plane; None while there is none."""
        return self._plane

    def start(self) -> None:
        """Start the first. Raises PlaneRefusedError, PlaneGoneError, and what `documents` raises."""
        plane = Plane(self._command, self._held)
        try:
            settings, table = self._documents()
            if self.addresses:
                settings |= {"listen": self.addresses["listen"], "admin_listen": self.addresses["admin"]}
            self.addresses = plane.start(settings, table)
        except BaseException:
            plane.close()
            raise
        self._plane = plane
        self._started_s = self._clock()

    def look(self) -> None:
        """Notice a death, and start another when its time has come. Raises RunError when none stays."""
        if self._plane is not None:
            code = self._plane.ended()
            if code is None:
                return
            self.lost(f"the data plane has ended: {how_ended(code)}")
        if self._clock() < self._due_s:
            return
        try:
            self.start()
        except (PacelineError, OSError) as error:
            # Whatever it lacks (what was spent, a process) may be there at the next try.
            why = error.message if isinstance(error, PacelineError) else str(error.strerror)
            self._died(f"the data plane did not start: {why}")
        else:
            self._say(f"the data plane is up again at {self.addresses['listen']}")

    def lost(self, why: str) -> None:
        """Give the present one up: it has died, or does not answer."""
        if self._plane is not None:
            self._plane.close()
            self._plane = None
        if self._clock() - self._started_s > _STEADY_S:
            self._deaths = 0
        self._died(why)

    def _died(self, why: str) -> None:
        self._deaths += 1
        if self._deaths >= _MOST_DEATHS:
            raise RunError(
                f"{why}; that was time {self._deaths} in a row", "its words above say more; please report it"
            )
        pause_s = min(_FIRST_PAUSE_S * 2 ** (self._deaths - 1), _LONGEST_PAUSE_S)
        self._due_s = self._clock() + pause_s
        self._say(f"{why}; another starts in {pause_s:g} s")

    def close(self) -> None:
        """End what is left at once."""
        if self._plane is not None:
            self._plane.close()
            self._plane = None

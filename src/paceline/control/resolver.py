"""Looks names of upstreams up again now and then."""

import threading
import time
from collections.abc import Callable

from paceline.control.addresses import Addresses
from paceline.control.force import Force

DNS_S = 60.0
# Names that have no address yet are asked for more often.
DNS_MISSING_S = 5.0


class Resolver:
    """Does so in a thread, so that nothing else waits for it."""

    def __init__(self, resolve: Callable[..., Addresses]) -> None:
        self._resolve = resolve
        self._thread: threading.Thread | None = None
        self._found: Addresses | None = None
        self._asked_s = time.monotonic()

    def look(self, force: Force) -> Addresses | None:
        """What was found since the last look, if it was."""
        if self._thread is not None:
            if self._thread.is_alive():
                return None
            self._thread = None
            return self._found
        missing = bool(force.addresses.problems)
        if time.monotonic() - self._asked_s < (DNS_MISSING_S if missing else DNS_S):
            return None
        self._asked_s = time.monotonic()
        self._found = None
        self._thread = threading.Thread(target=self._ask, args=(force,), name="paceline-names", daemon=True)
        self._thread.start()
        return None

    def _ask(self, force: Force) -> None:
        self._found = self._resolve(force.prepared.targets(), force.addresses, again=True)

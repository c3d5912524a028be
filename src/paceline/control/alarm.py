"""What the operator must hear of a gateway that runs: a ledger that loses records, offers that fail."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paceline.control.keeper import Say

# Of one offer no more than one line in so long; what holds then is said then.
_OFFER_S = 60.0


@dataclass
class _Told:
    open: bool = False
    at_s: float = float("-inf")


class Alarm:
    """Says each change, once, from the data plane's counters.

    folder: of the ledger. stops: new requests are refused while it cannot be written. clock: seconds,
    monotonic.
    """

    def __init__(
        self, say: Say, folder: Path, *, stops: bool, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._say = say
        self._folder = folder
        self._stops = stops
        self._clock = clock
        self._pid = 0
        self._failing = False
        # Records that were lost and syncs that failed, of this data plane: as last seen.
        self._lost = 0
        self._syncs_failed = 0
        self._syncs_fail = False
        # Since the ledger began to fail.
        self._lost_meanwhile = 0
        self._missed = 0
        self._offers: dict[str, _Told] = {}

    def see(self, stats: dict[str, Any], pid: int) -> None:
        """Look at what `Plane.poll` gave. pid: of the data plane, whose counters begin at 0."""
        if pid != self._pid:
            self._pid, self._lost, self._syncs_failed = pid, 0, 0
        elif self._missed > 1:
            self._say("the data plane answers again")
        self._missed = 0
        ledger = stats.get("ledger")
        if ledger:
            self._see_ledger(ledger)
        self._see_offers(stats.get("offers", []))

    def silent(self) -> None:
        """It has not answered when the next look was due. The first time may be a busy moment."""
        self._missed += 1
        if self._missed == 2:
            self._say("the data plane does not answer, so nothing is known of its ledger and its offers")
            self._say(
                "  hint: is the machine out of memory or processor time? If it lasts, restart the gateway"
            )

    def _see_ledger(self, ledger: dict[str, Any]) -> None:
        failing, lost = bool(ledger["failing"]), int(ledger["lost"])
        fresh = lost - self._lost
        self._lost_meanwhile = fresh + (self._lost_meanwhile if self._failing else 0)
        if failing and not self._failing:
            meanwhile = "new requests are refused" if self._stops else "traffic goes on unrecorded"
            self._say(
                f"the ledger cannot be written: {ledger['why']}; {_records(fresh)} lost so far; {meanwhile} "
                "until it can"
            )
            self._say(f"  hint: make room, or bring back {self._folder}; it is tried again each second")
        elif self._failing and not failing:
            self._say(f"the ledger is written again; {_records(self._lost_meanwhile)} lost meanwhile")
        elif fresh and not failing:
            self._say(f"the ledger lost {_records(fresh, verb=False)} and is written again")
            self._say(f"  hint: see that there is room, and that nobody moves or deletes {self._folder}")
        syncs_fail = int(ledger["syncs_failed"]) > self._syncs_failed
        if syncs_fail and not self._syncs_fail:
            self._say(
                "the disk did not confirm what the ledger wrote: the last records may be gone after a crash "
                "of the machine"
            )
            self._say(f"  hint: look after the disk of {self._folder}")
        self._failing, self._lost = failing, lost
        self._syncs_failed, self._syncs_fail = int(ledger["syncs_failed"]), syncs_fail

    def _see_offers(self, offers: list[dict[str, Any]]) -> None:
        # A removed offer is forgotten, so that one of its name begins anew.
        told = {offer["offer"]: self._offers.get(offer["offer"], _Told()) for offer in offers}
        self._offers = told
        now_s = self._clock()
        for offer in offers:
            one = told[offer["offer"]]
            # Half open, it has not answered yet.
            is_open = offer.get("breaker", "closed") != "closed"
            if is_open == one.open or now_s - one.at_s < _OFFER_S:
                continue
            one.open, one.at_s = is_open, now_s
            if is_open:
                self._say(f"offer {offer['offer']} fails (its breaker is open): it gets no requests for now")
            else:
                self._say(f"offer {offer['offer']} answers again (its breaker is closed)")


def _records(count: int, *, verb: bool = True) -> str:
    one = count == 1
    words = f"{count:,} {'record' if one else 'records'}"
    return f"{words} {'was' if one else 'were'}" if verb else words

"""What is said of a ledger and of offers, with a clock that is given."""

from pathlib import Path
from typing import Any

from paceline.control.alarm import Alarm


class Heard:
    """An alarm, what it said, and its clock."""

    def __init__(self, *, stops: bool = False) -> None:
        self.said: list[str] = []
        self.now_s = 100.0
        self._alarm = Alarm(self.said.append, Path("/home/led"), stops=stops, clock=lambda: self.now_s)

    def see(
        self,
        why: str | None = None,
        lost: int = 0,
        syncs: int = 0,
        pid: int = 1,
        **breakers: str,
    ) -> list[str]:
        """What is said of a look at these counters."""
        ledger = {"failing": why is not None, "why": why, "lost": lost, "syncs_failed": syncs}
        offers = [{"offer": name, "breaker": state} for name, state in breakers.items()]
        return self.saw({"ledger": ledger, "offers": offers}, pid)

    def saw(self, stats: dict[str, Any], pid: int = 1) -> list[str]:
        before = len(self.said)
        self._alarm.see(stats, pid)
        return self.said[before:]

    def silent(self) -> list[str]:
        before = len(self.said)
        self._alarm.silent()
        return self.said[before:]


def test_a_ledger_that_fails_and_is_well_again_is_said_once_each() -> None:
    heard = Heard()
    assert heard.see() == []
    assert heard.see("No space left on device", lost=3) == [
        "the ledger cannot be written: No space left on device; 3 records were lost so far; traffic goes on "
        "unrecorded until it can",
        "  hint: make room, or bring back /home/led; it is tried again each second",
    ]
    # More are lost, and the reason has other figures: nothing that asks for other steps.
    assert heard.see("7 of 900 bytes could be written", lost=1_200) == []
    assert heard.see(lost=1_234) == ["the ledger is written again; 1,234 records were lost meanwhile"]
    assert heard.see(lost=1_234) == []
    # The second time counts from there.
    assert "1 record was lost so far" in heard.see("x", lost=1_235)[0]
    assert heard.see(lost=1_235) == ["the ledger is written again; 1 record was lost meanwhile"]


def test_where_a_failing_ledger_stops_traffic_that_is_said() -> None:
    assert "new requests are refused until it can" in Heard(stops=True).see("x")[0]


def test_records_that_were_lost_between_two_looks_are_said() -> None:
    heard = Heard()
    assert heard.see(lost=2)[0] == "the ledger lost 2 records and is written again"
    assert heard.see(lost=2) == []
    assert heard.see(lost=3)[0] == "the ledger lost 1 record and is written again"


def test_another_data_plane_counts_from_nothing() -> None:
    heard = Heard()
    heard.see("x", lost=5)
    assert heard.see("x", lost=2, pid=2) == []
    assert heard.see(lost=2, pid=2) == ["the ledger is written again; 7 records were lost meanwhile"]
    assert heard.see(lost=1, pid=3)[0] == "the ledger lost 1 record and is written again"


def test_a_disk_that_does_not_confirm_is_said_once_while_it_lasts() -> None:
    heard = Heard()
    assert "did not confirm" in heard.see(syncs=1)[0]
    assert heard.see(syncs=6) == []
    assert heard.see(syncs=6) == []
    assert "did not confirm" in heard.see(syncs=7)[0]


def test_an_offer_is_named_once_a_minute_at_most_and_at_last_as_it_is() -> None:
    heard = Heard()
    assert heard.see(a="closed", b="closed") == []
    assert heard.see(a="open", b="closed") == [
        "offer a fails (its breaker is open): it gets no requests for now"
    ]
    heard.now_s += 5
    # Half open, it has not answered; and it is too early to speak of a, not of b.
    assert heard.see(a="half_open", b="half_open")[0].startswith("offer b fails")
    heard.now_s += 54
    assert heard.see(a="closed", b="open") == []
    heard.now_s += 1
    assert heard.see(a="closed", b="open") == ["offer a answers again (its breaker is closed)"]
    heard.now_s += 60
    assert heard.see(a="closed", b="open") == []


def test_an_offer_that_was_removed_is_forgotten() -> None:
    heard = Heard()
    heard.see(a="open")
    assert heard.see() == []
    assert heard.see(a="open") == ["offer a fails (its breaker is open): it gets no requests for now"]


def test_a_data_plane_that_does_not_answer_is_said_and_that_it_answers_again() -> None:
    heard = Heard()
    heard.see()
    assert heard.silent() == []
    assert heard.see() == []
    assert heard.silent() == []
    assert "does not answer" in heard.silent()[0]
    assert heard.silent() == []
    assert heard.see() == ["the data plane answers again"]


def test_counters_without_a_ledger_say_nothing() -> None:
    assert Heard().saw({"requests": 3}) == []

import threading

import pytest

from paceline.control import following
from paceline.control.follow import Followed
from paceline.control.following import Following
from paceline.errors import StoreError
from paceline.store.ledger_entry import Unread
from paceline.store.traffic_parts import UnreadLines


class Failing:
    """Fails at its first steps, and counts them."""

    def __init__(self, failures: int) -> None:
        self.failures = failures
        self.steps = 0
        self.closed = False
        self.enough = threading.Event()

    def step(self) -> Followed:
        self.steps += 1
        if self.steps > self.failures + 1:
            self.enough.set()
        if self.steps <= self.failures:
            raise StoreError("the disk is full")
        return Followed()

    def close(self) -> Followed:
        self.closed = True
        raise ZeroDivisionError("by nought")


def test_what_goes_wrong_is_said_once_and_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "EVERY_S", 0.001)
    said: list[str] = []
    follower = Failing(3)
    one = Following(follower, said.append)
    one.start()
    assert follower.enough.wait(10)
    one.end()
    assert follower.closed
    assert said == [
        "the ledger cannot be followed: the disk is full; it is tried again",
        "the ledger cannot be followed: by nought; it is tried again",
    ]


class Behind:
    """Has so many steps to do at once, and finds lines that cannot be read."""

    def __init__(self, *steps: Followed) -> None:
        self.steps = list(steps)

    def step(self) -> Followed:
        return self.steps.pop(0) if self.steps else Followed()

    def close(self) -> Followed:
        return Followed(unread=unread(2, 9))


def unread(*segments: int) -> UnreadLines:
    return UnreadLines.of([Unread(one, 1_000, "it is not JSON") for one in segments])


def test_who_is_behind_goes_on_at_once_and_a_bad_line_is_named_once_a_segment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said: list[str] = []
    waits: list[float] = []
    enough = threading.Event()
    steps = [Followed(unread=unread(1, 1, 2), more=True), Followed(unread=unread(2), more=True), Followed()]
    one = Following(Behind(*steps), said.append)
    wait = one._end.wait

    def noted(seconds: float) -> bool:
        waits.append(seconds)
        if len(waits) == 4:
            enough.set()
        return wait(0.001)

    monkeypatch.setattr(one._end, "wait", noted)
    one.start()
    assert enough.wait(10)
    one.end()
    assert waits[:4] == [following.EVERY_S, 0.0, 0.0, following.EVERY_S]
    assert said == [
        f"a line of the ledger cannot be read, and is in no figure: segment {segment:08d} at byte 1,000: "
        "it is not JSON; of this segment no other is named"
        for segment in (1, 2, 9)
    ]

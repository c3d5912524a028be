import threading

import pytest

from paceline.control import following
from paceline.control.following import Following
from paceline.errors import StoreError


class Failing:
    """Fails at its first steps, and counts them."""

    def __init__(self, failures: int) -> None:
        self.failures = failures
        self.steps = 0
        self.closed = False
        self.enough = threading.Event()

    def step(self) -> None:
        self.steps += 1
        if self.steps > self.failures + 1:
            self.enough.set()
        if self.steps <= self.failures:
            raise StoreError("the disk is full")

    def close(self) -> None:
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

"""A data plane that is kept up, with a clock that is given."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from paceline.control.keeper import Keeper
from paceline.control.plane import PlaneGoneError, PlaneRefusedError
from paceline.errors import RunError, StoreError
from tests.control.fakes import FAKE_COMMAND, VARIABLE, noted

ROOT = Path(__file__).resolve().parents[2]


class Kept:
    """A keeper, what it said, and its clock."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.said: list[str] = []
        self.listen = "127.0.0.1:0"
        self.offers: list[dict[str, Any]] = []
        self.error: Exception | None = None
        self.keeper = Keeper(self.documents, self.said.append, command=FAKE_COMMAND, clock=lambda: self.now_s)

    def documents(self) -> tuple[dict[str, Any], dict[str, Any]]:
        if self.error is not None:
            raise self.error
        return {"listen": self.listen, "admin_listen": None}, {"offers": self.offers}

    def kill(self) -> None:
        plane = self.keeper.plane
        assert plane is not None
        os.kill(plane.pid, signal.SIGKILL)
        assert plane.wait(10)


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Kept]:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv(VARIABLE, str(tmp_path / "notes"))
    one = Kept()
    yield one
    one.keeper.close()


def test_another_is_started_after_a_pause_at_the_same_address(kept: Kept, tmp_path: Path) -> None:
    kept.keeper.start()
    kept.keeper.look()
    assert kept.keeper.addresses == {"listen": "127.0.0.1:4711", "admin": None}
    kept.kill()
    kept.keeper.look()
    assert kept.keeper.plane is None
    assert kept.said == ["the data plane has ended: killed by SIGKILL; another starts in 0.5 s"]
    kept.now_s = 0.6
    kept.keeper.look()
    assert kept.keeper.plane is not None
    assert kept.said[-1] == "the data plane is up again at 127.0.0.1:4711"
    starts = [one["settings"]["listen"] for one in noted(tmp_path / "notes") if one["do"] == "start"]
    assert starts == ["127.0.0.1:0", "127.0.0.1:4711"]


def test_pauses_grow_and_it_gives_up(kept: Kept) -> None:
    kept.keeper.start()
    kept.kill()
    kept.offers = [{"id": "die"}]
    for _ in range(7):
        kept.keeper.look()
        kept.now_s += 31
    with pytest.raises(RunError, match="time 8 in a row"):
        kept.keeper.look()
    pauses = [line.partition("starts in ")[2] for line in kept.said]
    assert pauses == ["0.5 s", "1 s", "2 s", "4 s", "8 s", "16 s", "30 s"]


@pytest.mark.parametrize(
    ("error", "words"),
    [(StoreError("a part is damaged"), "a part is damaged"), (OSError(12, "no memory"), "no memory")],
)
def test_what_a_start_needs_may_come_later(kept: Kept, error: Exception, words: str) -> None:
    kept.keeper.start()
    kept.kill()
    kept.error = error
    kept.keeper.look()
    kept.now_s += 1
    kept.keeper.look()
    assert kept.said[-1] == f"the data plane did not start: {words}; another starts in 1 s"
    kept.error = None
    kept.now_s += 2
    kept.keeper.look()
    assert kept.said[-1] == "the data plane is up again at 127.0.0.1:4711"


def test_one_that_lived_long_died_of_something_new(kept: Kept) -> None:
    kept.keeper.start()
    for _ in range(10):
        kept.kill()
        kept.now_s += 61
        kept.keeper.look()
        kept.now_s += 1
        kept.keeper.look()
    assert all("another starts in 0.5 s" in line for line in kept.said[::2])


def test_what_is_refused_at_the_first_start_is_said(kept: Kept) -> None:
    kept.listen = "127.0.0.1:9"
    with pytest.raises(PlaneRefusedError, match="Address already in use"):
        kept.keeper.start()
    kept.listen, kept.offers = "127.0.0.1:0", [{"id": "die"}]
    with pytest.raises(PlaneGoneError, match="exit code 3"):
        kept.keeper.start()
    assert kept.keeper.plane is None

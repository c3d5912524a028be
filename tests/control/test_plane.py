"""A data plane's process, spoken to: each order has its own answer, also after counters were asked for."""

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from paceline.control import plane as module
from paceline.control.plane import Plane, PlaneGoneError, PlaneRefusedError
from tests.control.fakes import FAKE_COMMAND, VARIABLE

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = {"listen": "127.0.0.1:0", "admin_listen": None}
BIG = "x" * 300_000


@pytest.fixture
def stats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv(VARIABLE, str(tmp_path / "notes"))
    return tmp_path / "notes.stats"


@pytest.fixture
def plane(stats: Path) -> Iterator[Plane]:
    one = Plane(FAKE_COMMAND)
    one.start(SETTINGS, {"offers": []})
    yield one
    one.close()


def _heard(plane: Plane) -> object:
    for _ in range(100):
        told = plane.poll()
        if told is not None:
            return told
    raise AssertionError("it does not answer")


def test_counters_are_had_however_large(plane: Plane, stats: Path) -> None:
    assert plane.poll(ask=False) is None
    assert _heard(plane) == {"requests": 3}
    assert plane.poll(ask=False) is None
    stats.write_text(json.dumps({"big": BIG}))
    assert _heard(plane) == {"big": BIG}


def test_an_answer_that_is_late_is_not_taken_for_another(
    plane: Plane, stats: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_POLL_S", 0.01)
    stats.write_text(json.dumps({"sleep_s": 0.3, "big": BIG}))
    assert plane.poll() is None
    # Neither pipe holds what goes through it: whoever waits for the other waits for ever.
    with pytest.raises(PlaneRefusedError, match="it is refused"):
        plane.swap({"offers": [{"id": "refused", "name": BIG}]})
    stats.write_text(json.dumps({"requests": 4, "sleep_s": 0.3}))
    assert plane.poll() is None
    assert _heard(plane) == {"requests": 4, "sleep_s": 0.3}
    assert plane.poll() is None
    plane.swap({"offers": []})
    plane.drain()
    assert plane.wait(30)


def test_one_that_has_ended_is_noticed(plane: Plane) -> None:
    os.kill(plane.pid, signal.SIGKILL)
    assert plane.wait(30)
    with pytest.raises(PlaneGoneError, match="killed by SIGKILL"):
        plane.poll()

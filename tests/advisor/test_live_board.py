"""A board of the gateway's traffic while it still comes in."""

from datetime import UTC, timedelta
from pathlib import Path

import pytest

from paceline.advisor import digests
from paceline.advisor.board import Board, BoardQuery, build_board
from paceline.catalogue.price_book import PriceBook
from paceline.control.live_runs import LiveRuns
from paceline.report.board_text import board_text
from paceline.store.ledger import Place
from tests.support.ledger import NOON, attempt, entry


class Clock:
    now_s = 1_000_000.0

    def time(self) -> float:
        return self.now_s

    def perf_counter(self) -> float:
        return 0.0


def take(runs: LiveRuns, first: int, n: int) -> None:
    entries = [
        entry(first + k, at=NOON + timedelta(seconds=first + k), attempts=[attempt("local-a")])
        for k in range(n)
    ]
    runs.append(entries, [Place(1, 1_000 * (first + k)) for k in range(n)])
    runs.flush()


def board(home: Path) -> Board:
    return build_board(BoardQuery(), PriceBook.load(home), at=home)


def test_it_grows_and_says_as_of_when(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(digests, "time", clock)
    runs = LiveRuns(tmp_path)
    take(runs, 0, 10)
    first = board(tmp_path)
    assert (first.workload, first.load, first.requests) == ("live", "live", 10)
    assert first.rows[0].marks[-2:] == ("live", "running")
    # Sent on a millisecond after it came.
    assert first.rows[0].evidence.until == NOON.astimezone(UTC) + timedelta(seconds=9, milliseconds=1)
    take(runs, 10, 290)
    clock.now_s += 30.0
    assert board(tmp_path).requests == 10
    clock.now_s += 31.0
    grown = board(tmp_path)
    assert grown.requests == 300
    until = NOON.astimezone(UTC) + timedelta(seconds=299)
    assert f"as of {until:%Y-%m-%d %H:%M} UTC" in board_text(grown)
    runs.close()
    assert board(tmp_path).rows[0].marks[-1] == "live"

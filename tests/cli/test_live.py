import io
from dataclasses import replace

import pytest
from rich.console import Console

from paceline.cli import live
from paceline.cli.live import PlainView, make_view, outcome_words, plain_line, render
from paceline.measure.live_stats import Snapshot

SNAPSHOT = Snapshot(
    state="running",
    elapsed_s=62.3,
    left_s=118.0,
    total_s=180.0,
    total_requests=None,
    started=420,
    finished=400,
    in_flight=20,
    planned=420,
    offered_requests_s=6.9,
    achieved_requests_s=6.5,
    ended=32,
    output_tok_s=1_234.0,
    ttft_ms=(120.0, 240.0, 410.0),
    itl_ms=(11.0, 14.0, 32.0),
    outcomes={"timeout": 3, "ok": 390, "http_error": 7},
)


def drawn(snapshot: Snapshot) -> str:
    console = Console(width=80, file=io.StringIO(), color_system=None)
    with console.capture() as captured:
        console.print(render("http://127.0.0.1:8000/v1 some-model", snapshot))
    return captured.get()


def test_the_live_view_fits_eighty_columns_and_shows_everything() -> None:
    text = drawn(SNAPSHOT)
    assert max(len(line) for line in text.splitlines()) <= 80
    for part in (
        "1:02", "1:58 left", "in flight 20", "offered 6.90 req/s", "achieved 6.50 req/s", "1,234 tok/s",
        "120 ms", "410 ms", "11.0 ms", "ok 390, http_error 7, timeout 3",
    ):  # fmt: skip
        assert part in text


def test_the_live_view_says_what_is_waited_for() -> None:
    assert "Ctrl-C again" in drawn(replace(SNAPSHOT, stopping=True))
    assert "all sent" in drawn(replace(SNAPSHOT, state="draining"))
    assert "prepared fast enough" in drawn(replace(SNAPSHOT, starved=3))


def test_the_live_view_without_any_figures_yet() -> None:
    empty = replace(SNAPSHOT, ttft_ms=None, itl_ms=None, outcomes={}, left_s=None, total_s=None)
    assert "none yet" in drawn(empty)


def test_a_plain_line_has_the_figures_and_the_failures() -> None:
    line = plain_line(replace(SNAPSHOT, total_requests=1_000, label="B"))
    assert line.startswith("[B] 1:02, 1:58 left")
    for part in ("400 of 1000 done", "TTFT 120 ms (p99 410 ms)", "failed: http_error 7, timeout 3"):
        assert part in line


def test_a_rate_is_left_out_where_fewer_than_two_ended() -> None:
    few = replace(SNAPSHOT, ended=1, jobs=True, jobs_done=7, achieved_requests_s=0.2)
    assert "jobs/s" not in plain_line(few)
    assert "achieved" not in drawn(few)
    assert "0.20 jobs/s" in plain_line(replace(few, ended=2))


def test_plain_lines_come_now_and_then_and_at_once_when_stopping(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(live, "monotonic", lambda: now[0])
    stream = io.StringIO()
    with PlainView(stream, every_s=5) as view:
        for second in range(12):
            now[0] = float(second)
            view.update(SNAPSHOT)
        assert len(stream.getvalue().splitlines()) == 2
        view.update(replace(SNAPSHOT, stopping=True))
        view.update(replace(SNAPSHOT, stopping=True))
    assert len(stream.getvalue().splitlines()) == 3
    assert isinstance(make_view("x", stream), PlainView)


def test_outcomes_in_words() -> None:
    assert outcome_words({}) == "none yet"
    assert outcome_words({"timeout": 1, "ok": 1}) == "ok 1, timeout 1"

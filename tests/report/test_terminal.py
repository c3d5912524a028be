import io
from pathlib import Path

import pytest
from rich.console import Console

from paceline.report.model import Report
from paceline.report.terminal import print_report, render_text
from tests.report.samples import OPEN, failed_row, report
from tests.support.rows import lognormal_rows, make_row


def lines(made: Report) -> list[str]:
    return render_text(made).splitlines()


def test_the_verdict_comes_first(healthy: Report, home: Path) -> None:
    assert lines(healthy)[0] == "TRUSTED  no reason was found to doubt these figures"
    rows = [make_row(request_index=1), *(failed_row("http_error", k) for k in (2, 3))]
    assert lines(report(home, rows))[:2] == [
        "INVALID",
        "  - 67% of requests failed (2 http_error), more than 10%: latencies are those of",
    ]


def test_eighty_columns_and_no_trailing_blanks(healthy: Report, open_loop: Report, home: Path) -> None:
    awkward = report(
        home,
        [make_row(request_index=k, completion_tokens=None) for k in range(1, 4)],
        model="a-model-with-a-name-that-is-longer-than-a-line-of-the-terminal-is-wide/quantised-q4_k_m",
        endpoint="https://" + "x" * 90 + ".test/v1",
    )
    for made in (healthy, open_loop, awkward):
        for line in lines(made):
            assert len(line) <= 80, line
            assert line == line.rstrip()


def test_what_was_run_and_what_came_of_it(healthy: Report) -> None:
    text = render_text(healthy)
    for words in (
        "http://127.0.0.1:9100/v1  openai-chat",
        "closed loop, 8 in flight, 400 requests",
        "prompts of about 512 tokens, answers of 32 tokens, no common",
        "800 ok of 800",
        "tok/s",
        "of attempted requests met ttft_ms=400,",
        "25,600 generated (server usage); 8,000 in prompts by the server's",
        "TTFT error 30.0 us p50, 200 us p99",
    ):
        assert words in text
    head = next(line for line in lines(healthy) if line.startswith("ms"))
    assert head.split() == ["ms", "p50", "95%", "interval", "p90", "p95", "p99", "max"]
    assert [line.split()[0] for line in lines(healthy) if line.startswith(("TTFT", "E2E", "ITL"))] == [
        "TTFT",
        "E2E",
        "ITL",
    ]


def test_under_an_open_loop_latencies_count_from_the_due_instant(home: Path) -> None:
    rows = [
        make_row(
            request_index=k, intended_ms=100.0 * k, sent_ms=100.0 * k + 500.0, event_ms=(100.0 * k + 600.0,)
        )
        for k in range(1, 50)
    ]
    made = report(home, rows, load=OPEN)
    text = render_text(made)
    assert "count from when a request was due" in text
    ttft = next(line for line in text.splitlines() if line.startswith("TTFT "))
    assert ttft.split()[1] == "600"


def test_too_small_a_sample_says_what_it_takes(home: Path) -> None:
    text = render_text(report(home, lognormal_rows(60, 1)))
    ttft = next(line for line in text.splitlines() if line.startswith("TTFT"))
    assert ">=" in ttft.split()[-2]
    assert ">= only a lower bound; n too small: " in text
    assert "p99 needs 368" in " ".join(text.split())
    assert "~" not in text


def test_a_handful_of_requests_explains_its_marks(home: Path) -> None:
    text = render_text(report(home, [make_row(request_index=k) for k in range(5)]))
    ttft = next(line for line in text.splitlines() if line.startswith("TTFT"))
    assert ttft.split()[1:5] == ["100", "?", "to", "?"]
    assert (
        "? an end that is not bounded, >= only a lower bound; n too small: p50 needs 6 requests;"
        in " ".join(text.split())
    )


def test_speed_and_tokens_count_the_same_requests(home: Path) -> None:
    rows = [
        make_row(request_index=k, outcome="timeout", completion_tokens=None, sent_ms=1000.0 * k)
        for k in range(4)
    ]
    text = " ".join(render_text(report(home, rows)).split())
    assert "tok/s, 0.00 requests/s, with the tokens of requests that did not succeed" in text
    assert "16 generated (chunks, approximate); all of them in requests that did not succeed" in text
    some = render_text(report(home, [*rows, *(make_row(request_index=k) for k in range(4, 10))]))
    assert "40 generated (server usage); 16 of them in requests that did not succeed;" in " ".join(
        some.split()
    )
    good = render_text(report(home, [make_row(request_index=k) for k in range(4)]))
    assert "did not succeed" not in good


def test_failures_give_their_reason(home: Path) -> None:
    rows = [failed_row("connect_error", k, error="invalid peer certificate") for k in range(8)]
    assert "(8 connect_error: invalid peer certificate)" in render_text(report(home, rows))


def test_without_a_good_request_there_is_no_table(home: Path) -> None:
    text = render_text(report(home, [failed_row("connect_error", k) for k in range(3)]))
    assert "95% interval" not in text
    assert "0 ok of 3, 3 connect_error" in text


@pytest.mark.parametrize("name", ["[bold]x[/bold]", "[/nothing]", "\x1b[31mred\x07"])
def test_names_are_shown_as_they_are(home: Path, name: str) -> None:
    text = render_text(report(home, [make_row(request_index=1)], model=name))
    assert "\x1b" not in text
    assert name.replace("\x1b", "").replace("\x07", "") in text


def test_colour_only_on_a_terminal(healthy: Report) -> None:
    piped = io.StringIO()
    print_report(healthy, Console(file=piped))
    assert piped.getvalue() == render_text(healthy)
    shown = io.StringIO()
    print_report(healthy, Console(file=shown, force_terminal=True, color_system="standard", width=80))
    assert "\x1b[" in shown.getvalue()

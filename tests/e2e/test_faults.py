import pytest

from paceline.store.runs import open_run
from tests.e2e.conftest import SMALL, Cli, Sims

# A faulty endpoint is refused by the check before load begins, so these runs go without it.
RUN = (*SMALL, "-c", "2", "-n", "6", "--no-check", "--model", "truth", "--timeout", "1s", "--json", "-")


@pytest.mark.parametrize(
    ("fault", "outcome"),
    [
        ("http_400", "http_error"),
        ("http_401", "http_error"),
        ("http_404", "http_error"),
        ("http_429:retry_after_s=3", "rate_limited"),
        ("http_500", "http_error"),
        ("http_503", "http_error"),
        ("error_event:after_events=3", "error_in_stream"),
        ("cut:after_events=0", "truncated"),
        ("cut:after_events=3", "truncated"),
        ("reset:after_events=3", "truncated"),
        ("end_early:after_events=3", "truncated"),
        ("empty", "empty"),
        ("stall:after_events=3", "timeout"),
        ("malformed_json:after_events=3", "malformed"),
        ("not_sse", "malformed"),
    ],
)
def test_what_fails_is_named_and_the_run_is_invalid(cli: Cli, sims: Sims, fault: str, outcome: str) -> None:
    engine = sims("--ttft", "5ms", "--itl", "1ms", "--fault", fault)
    done = cli("measure", engine.url, *RUN)
    assert done.code == 1, done.err
    report = done.report
    assert report["trust"]["verdict"] == "invalid"
    assert report["outcomes"] == {"attempted": 6, "ok": 0, "by_outcome": {outcome: 6}}
    rows = open_run("latest").rows().to_pylist()
    assert {row["outcome"] for row in rows} == {outcome}
    assert all(row["error"] for row in rows)
    if fault.startswith("http_429"):
        assert {row["retry_after_ms"] for row in rows} == {3_000}
    if fault.startswith("http_"):
        assert {row["status"] for row in rows} == {int(fault[5:8])}


@pytest.mark.parametrize(
    "fault",
    [
        "no_end_marker", "crlf", "no_space", "comments", "multi_line", "split_utf8",
        "huge_event:bytes=300000", "slow_headers:us=20000", "coalesce:events=4", "byte_at_a_time",
    ],
)  # fmt: skip
def test_what_is_only_odd_is_read(cli: Cli, sims: Sims, fault: str) -> None:
    engine = sims("--ttft", "5ms", "--itl", "1ms", "--fault", fault)
    done = cli("measure", engine.url, *RUN)
    assert done.report["outcomes"] == {"attempted": 6, "ok": 6, "by_outcome": {"ok": 6}}
    assert done.report["tokens"]["completion"] == 48


def test_wrong_usage_is_seen(cli: Cli, sims: Sims) -> None:
    engine = sims("--ttft", "5ms", "--itl", "1ms", "--fault", "wrong_usage", "--token-ids")
    done = cli("measure", engine.url, *RUN)
    assert done.report["outcomes"]["ok"] == 6
    assert done.report["tokens"]["mismatch"] > 0
    assert any("token counts disagree" in reason for reason in done.report["trust"]["reasons"])


def test_some_failures_make_it_suspect_or_worse_and_are_counted(cli: Cli, sims: Sims) -> None:
    engine = sims("--ttft", "5ms", "--itl", "1ms", "--fault", "http_503:share=0.5")
    done = cli(
        "measure", engine.url, *SMALL, "-c", "4", "-n", "40", "--no-check", "-m", "truth", "--json", "-"
    )
    outcomes = done.report["outcomes"]
    assert outcomes["by_outcome"]["http_error"] + outcomes["ok"] == outcomes["attempted"] == 40
    assert done.report["trust"]["verdict"] == "invalid"
    assert done.report["metrics"]["ttft_ms"]["n"] == outcomes["ok"]

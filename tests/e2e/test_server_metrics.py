"""The server's side of a run, held against the reference engine's truth log in each engine's form."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paceline.measure.sim import SimProcess, read_truth
from paceline.stats.server import Series, series_of
from paceline.store.runs import StoredRun, open_run
from tests.e2e.conftest import Cli, Sims
from tests.support.fake_server import Answer, FakeServer, serving

FLAVOURS = {
    "vllm": "vllm",
    "sglang": "sglang",
    "tgi": "tgi",
    "llama.cpp": "llama.cpp",
    "trtllm": "tensorrt-llm",
}
EVERY = ("--server-metrics-every", "100ms")
ENGINE = ("--mode", "engine", "--slots", "2")
LOAD = ("-c", "5", "-n", "20", "--prompt-tokens", "48", "--output-tokens", "24")


def by_name(run: StoredRun) -> dict[str, Series]:
    return {one.name: one for one in series_of(run.server())}


def open_at(truth: list[dict[str, Any]], t_ns: int, reach_ns: int) -> int | None:
    """Requests open at an instant by the log; None where one came or went within `reach_ns` of it."""
    changes: list[int] = [request[name] for request in truth for name in ("received_ns", "end_ns")]
    if any(abs(change - t_ns) <= reach_ns for change in changes):
        return None
    return sum(bool(request["received_ns"] < t_ns < request["end_ns"]) for request in truth)


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_samples_are_what_the_truth_log_says(cli: Cli, tmp_path: Path, flavour: str) -> None:
    log = tmp_path / "truth.jsonl"
    with SimProcess([*ENGINE, "--metrics", flavour, "--truth-log", str(log)]) as engine:
        done = cli("measure", engine.url, *LOAD, *EVERY, "--json", "-").ended()
        engine.stop()
    truth = read_truth(log)
    run = open_run("latest")
    series = by_name(run)
    assert {one.source for one in series.values()} == {FLAVOURS[flavour]}
    # In a slot or waiting for one: the log does not say which.
    running, waiting = series["running_requests"], series["waiting_requests"]
    assert running.value.max() <= 2
    known = [
        (open_at(truth, int(t), int(span) // 2 + 2_000_000), value)
        for t, span, value in zip(running.t_ns, running.span_ns, running.value + waiting.value, strict=True)
    ]
    told = [(expected, value) for expected, value in known if expected is not None]
    assert len(told) >= 5
    assert max(expected for expected, _ in told) == 5
    assert [value for _, value in told] == [expected for expected, _ in told]
    # The request that the preflight made came before the first sample.
    measured = [request for request in truth if request["received_ns"] > running.t_ns[0]]
    assert len(measured) == 20
    generated = series["generation_tokens_total"].value
    assert generated[-1] - generated[0] == sum(
        event[1] for request in measured for event in request["events"]
    )
    prompts = series["prompt_tokens_total"].value
    cached = sum(request["cached_tokens"] for request in measured) if flavour == "llama.cpp" else 0
    assert prompts[-1] - prompts[0] == sum(request["prompt_tokens"] for request in measured) - cached
    server = done.report["server"]
    assert server["engine"] == FLAVOURS[flavour]
    assert server["looks"]["failed"] == 0
    check = server["generated_tokens"]
    assert check["server"] == check["client"] == 20 * 24
    assert check["agree"] is True
    assert server["figures"]["running_requests"]["max"] == 2
    assert server["gpus"] == []


def test_a_cache_and_drafts_are_seen_as_the_engine_counts_them(cli: Cli, tmp_path: Path) -> None:
    log = tmp_path / "truth.jsonl"
    with SimProcess([*ENGINE, "--spec-burst", "4:0.6", "--truth-log", str(log)]) as engine:
        report = (
            cli("measure", engine.url, *LOAD, *EVERY, "--shared-prefix", "32", "--json", "-").ended().report
        )
        engine.stop()
    measured = [
        one
        for one in read_truth(log)
        if one["received_ns"] > by_name(open_run("latest"))["running_requests"].t_ns[0]
    ]
    series = by_name(open_run("latest"))
    hits, queries = (series[name].value for name in ("prefix_cache_hits", "prefix_cache_queries"))
    assert hits[-1] - hits[0] == sum(request["cached_tokens"] for request in measured) > 0
    assert queries[-1] - queries[0] == sum(request["prompt_tokens"] for request in measured)
    assert 0 < report["server"]["prefix_cache_hit_share"] < 1
    # Of three drafts the k-th is accepted with the chance 0.6^k: (0.6 + 0.36 + 0.216) / 3.
    assert report["server"]["speculative_acceptance"] == pytest.approx(0.392, abs=0.15)


def test_after_a_hang_up_the_server_is_seen_to_go_on_for_as_long_as_it_does(cli: Cli, tmp_path: Path) -> None:
    log = tmp_path / "truth.jsonl"
    path = tmp_path / "workload.toml"
    path.write_text(
        'schema = "paceline.workload/1"\nprompt_tokens = "16"\n[[call]]\nname = "talk"\n'
        'output_tokens = "4000"\nhang_up_ms = 200\n'
        '[[call]]\nname = "again"\nhang_up_ms = 200\noutput_tokens = "4000"\nwait_ms = 900\n'
    )
    arguments = ["--ttft", "20ms", "--itl", "5ms", "--output-tokens", "4000", "--cancel-delay", "450ms"]
    with SimProcess([*arguments, "--truth-log", str(log)]) as engine:
        report = (
            cli("measure", engine.url, "--workload", str(path), "--jobs", "3", *EVERY, "--json", "-")
            .ended()
            .report
        )
        engine.stop()
    gone = [request for request in read_truth(log) if request["end"] == "client_gone"]
    took_ms = [(request["end_ns"] - request["gone_ns"]) / 1e6 for request in gone]
    assert len(took_ms) == 6
    after = report["server"]["after_hangups"]
    assert after["why_not"] is None
    assert after["n"] >= 4
    assert after["every_ms"] == pytest.approx(100, rel=0.3)
    assert after["at_least_ms"]["p50"] <= np.median(took_ms) <= after["at_most_ms"]["p50"]
    # No more is left open than lies between two samples and their edges.
    assert after["at_most_ms"]["p50"] - after["at_least_ms"]["p50"] < 400


def test_hang_ups_are_not_guessed_at_where_samples_are_rare(cli: Cli, sims: Sims, tmp_path: Path) -> None:
    path = tmp_path / "workload.toml"
    path.write_text(
        # Long enough that looks are a second apart: before and after a short run they lie nearer.
        'schema = "paceline.workload/1"\nprompt_tokens = "16"\n[[call]]\nname = "talk"\nhang_up_ms = 30\n'
        "wait_ms = 2000\n"
    )
    engine = sims("--ttft", "10ms", "--itl", "5ms", "--output-tokens", "400")
    report = cli(
        "measure", engine.url, "--workload", str(path), "--jobs", "2",
        "--server-metrics-every", "1s", "--json", "-",
    ).ended().report  # fmt: skip
    after = report["server"]["after_hangups"]
    assert (after["n"], after["at_most_ms"]) == (0, None)
    assert "more rarely" in after["why_not"]


def test_both_sides_of_a_comparison_are_sampled(cli: Cli, sims: Sims) -> None:
    first, second = sims("--metrics", "vllm"), sims("--metrics", "tgi")
    done = cli("compare", first.url, second.url, "-c", "2", "-n", "40", "--output-tokens", "8", *EVERY)
    assert done.code in (0, 1), done.err
    found = []
    for run in (open_run("latest"),):
        other = open_run(run.manifest.load["interleaved"]["with"])
        found = sorted((run.manifest.server or {})["metrics"]["engine"] for run in (run, other))
        for one in (run, other):
            generated = by_name(one)["generation_tokens_total"].value
            # Blocks of 8 tokens an answer, nothing lost between them.
            assert generated[-1] - generated[0] == 40 * 8
    assert found == ["tgi", "vllm"]


def test_what_is_off_is_off_and_what_is_not_there_is_not_missed(cli: Cli, sims: Sims) -> None:
    engine = sims("--ttft", "5ms", "--itl", "1ms")
    small = ("-n", "3", "--output-tokens", "4", "--json", "-")
    assert "server" not in cli("measure", engine.url, *small, "--server-metrics", "off").ended().report
    assert open_run("latest").server().num_rows == 0
    assert open_run("latest").manifest.server is None
    origin = engine.url.removesuffix("/v1")
    there = cli("measure", engine.url, *small, "--server-metrics", f"{origin}/metrics").ended()
    assert there.report["server"]["engine"] == "vllm"
    refused = cli("measure", engine.url, *small, "--server-metrics", f"{origin}/health")
    assert refused.code == 2
    assert "has no metrics of" in refused.err
    too_often = cli("measure", engine.url, *small, "--server-metrics-every", "50ms")
    assert too_often.code == 2
    assert "100 ms" in too_often.err


def test_the_report_fits_the_terminal_and_the_page_needs_no_network(
    cli: Cli, sims: Sims, tmp_path: Path
) -> None:
    engine = sims(*ENGINE)
    page = tmp_path / "report.html"
    done = cli(
        "measure", engine.url, *LOAD, *EVERY, "--html", str(page), "--markdown", str(tmp_path / "r.md")
    )
    done.ended()
    assert "vLLM, by its own metrics" in done.out
    assert "they agree" in done.out
    assert max(len(line) for line in done.out.splitlines()) <= 80
    text = page.read_text()
    assert 'data-chart="server"' in text
    assert re.search(r'"server":\{', text)
    assert "vLLM, by its own metrics" in (tmp_path / "r.md").read_text()


@pytest.mark.parametrize("later", ["gone", "html", "flood", "lies"])
def test_metrics_that_turn_bad_leave_the_run_alone(cli: Cli, sims: Sims, later: str) -> None:
    engine = sims("--ttft", "10ms", "--itl", "5ms")
    page = b"vllm:num_requests_running 3\n"
    answers = {
        "gone": Answer(503),
        "html": Answer(body=b"<html>" + page),
        "flood": Answer(body=b"other 1\n" * 1_000_000),
        "lies": Answer(body=b"vllm:num_requests_running NaN\nvllm:num_requests_running one\n"),
    }

    class Turning(FakeServer):
        def get(self, path: str) -> Answer:
            # Found once, before load begins, and seen once, when it does.
            return Answer(body=page) if len(self.seen) <= 2 else answers[later]

    with serving(Turning()) as server:
        done = cli(
            "measure", engine.url, "-c", "4", "-n", "60", "--output-tokens", "32", *EVERY,
            "--server-metrics", f"{server.url}/metrics", "--json", "-",
        ).ended()  # fmt: skip
    report = done.report
    assert report["outcomes"]["by_outcome"] == {"ok": 60}
    assert report["server"]["looks"]["failed"] >= 3
    assert report["server"]["looks"]["failed"] < report["server"]["looks"]["n"]
    notes = [one for one in report["trust"]["reasons"] if "metrics could not be read" in one]
    assert len(notes) == 1
    assert notes[0].startswith("note: ")

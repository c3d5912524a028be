"""Traces, logs and conversations against the reference engine: what it received is what the files say.

The files are counted here anew; what came is taken from the engine's truth log, not from the client's rows.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from paceline.measure.sim import SimProcess, read_truth
from paceline.store.runs import open_run
from tests.e2e.conftest import Cli, Sims, spawn
from tests.e2e.test_interrupted import wait_for_rows
from tests.support.traces import AZURE, mooncake_rows, published, write_mooncake
from tests.workloads.traces.test_source import shared_by_ids

FAST_ENGINE = (
    "--mode", "engine", "--slots", "64", "--prefill-tok-s", "10000000", "--prefill-base", "10us",
    "--decode-step-base", "500us", "--decode-step-per-seq", "1us",
)  # fmt: skip
# One in ten thousand runs would fail by chance alone.
BY_CHANCE = 1e-4


def measured(log: Path) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[str]]:
    """Rows of the only run in the order of the workload, what the engine received of them, and the notes."""
    run = open_run("latest")
    rows = sorted(run.rows().to_pylist(), key=lambda row: row["request_index"])
    assert {row["outcome"] for row in rows} == {"ok"}
    truth = {request["id"]: request for request in read_truth(log)}
    return rows, [truth[row["response_id"]] for row in rows], run.manifest.notes


def answered(request: dict[str, Any]) -> int:
    return sum(event[1] for event in request["events"])


def test_a_trace_arrives_with_its_instants_lengths_and_prefixes(cli: Cli, tmp_path: Path) -> None:
    trace = mooncake_rows(60, seed=3, most_output=20)
    path, log = write_mooncake(tmp_path / "t.jsonl", trace), tmp_path / "truth.log"
    with_faults = path.read_text().splitlines(keepends=True)
    path.write_text("".join([*with_faults[:30], "not json\n", *with_faults[30:]]))
    with SimProcess([*FAST_ENGINE, "--truth-log", str(log)]) as engine:
        cli(
            "measure", engine.url, "--trace", str(path), "--trace-speed", "20", "--tokenizer", "words"
        ).ended()
    rows, received, notes = measured(log)
    assert "trace t.jsonl: 60 of 61 rows used" in notes
    assert "trace t.jsonl: skipped 1 (not JSON): line 31: Expecting value" in notes

    due_ns = np.array([(row["timestamp"] - trace[0]["timestamp"]) * 50_000 for row in trace])
    intended_ns = np.array([row["intended_ns"] for row in rows])
    assert (intended_ns == due_ns).all()
    assert all(row["sent_ns"] >= row["intended_ns"] for row in rows)
    # By the engine's clock, from the first that it received: the distribution of arrivals is the trace's.
    arrived_ns = np.sort([request["received_ns"] for request in received])
    arrived_ns -= arrived_ns[0]
    assert stats.ks_2samp(arrived_ns, due_ns).pvalue > BY_CHANCE
    assert stats.ks_2samp(np.diff(arrived_ns) // 20_000_000, np.diff(due_ns) // 20_000_000).pvalue > BY_CHANCE

    assert [request["prompt_tokens"] for request in received] == [row["input_length"] for row in trace]
    assert [answered(request) for request in received] == [row["output_length"] for row in trace]
    # The engine's cache knows blocks of 16 tokens. Which of two requests comes first changes who finds a
    # prefix, and not how much of all prompts is found.
    expected = sum(shared // 16 * 16 for shared in shared_by_ids(trace))
    assert expected > 0
    assert sum(request["cached_tokens"] for request in received) == expected


def test_a_window_of_the_published_trace(cli: Cli, tmp_path: Path) -> None:
    path, log = published(AZURE), tmp_path / "truth.log"
    with SimProcess([*FAST_ENGINE, "--truth-log", str(log)]) as engine:
        cli(
            "measure", engine.url, "--trace", str(path), "--trace-window", "60:90", "--trace-speed", "20",
            "--tokenizer", "words",
        ).ended()  # fmt: skip
    rows, received, _ = measured(log)
    seconds = [line.split(",") for line in path.read_text().splitlines()[1:]]
    first = np.datetime64(seconds[0][0].replace(" ", "T") + "00", "ns")
    at_ns = np.array(
        [(np.datetime64(one[0].replace(" ", "T") + "00", "ns") - first).astype(int) for one in seconds]
    )
    inside = np.flatnonzero((at_ns >= 60 * 10**9) & (at_ns < 90 * 10**9))
    assert len(rows) == len(inside) > 50
    due_ns = np.rint((at_ns[inside] - 60 * 10**9) / 20).astype(int)
    assert [row["intended_ns"] for row in rows] == due_ns.tolist()
    assert [request["prompt_tokens"] for request in received] == [int(seconds[i][1]) for i in inside]
    assert [answered(request) for request in received] == [int(seconds[i][2]) for i in inside]
    assert sum(request["cached_tokens"] for request in received) == 0


def test_a_log_is_replayed_at_its_times(cli: Cli, tmp_path: Path) -> None:
    path, log = tmp_path / "log.jsonl", tmp_path / "truth.log"
    requests = [
        {
            "timestamp": 1_700_000_000 + 0.1 * i,
            "body": {"messages": [{"role": "user", "content": "word " * (i + 1)}], "max_tokens": i + 2},
        }
        for i in range(8)
    ]
    path.write_text("".join(json.dumps(one) + "\n" for one in requests))
    with SimProcess(["--ttft", "5ms", "--itl", "1ms", "--truth-log", str(log)]) as engine:
        cli("measure", engine.url, "--data", str(path), "--tokenizer", "words").ended()
    rows, received, notes = measured(log)
    assert "data log.jsonl: rows are logged requests" in notes
    assert [round(row["intended_ns"] / 1e6) for row in rows] == [100 * i for i in range(8)]
    assert [request["prompt_tokens"] for request in received] == list(range(1, 9))
    assert [answered(request) for request in received] == list(range(2, 10))


def test_a_conversation_carries_on_the_models_own_answers(cli: Cli, tmp_path: Path) -> None:
    path, log = tmp_path / "talks.json", tmp_path / "truth.log"
    turns = [{"from": "human", "value": "one two three"}, {"from": "gpt", "value": "never sent"}]
    path.write_text(json.dumps([{"conversations": turns * 3}, {"conversations": turns * 2}]))
    with SimProcess(["--ttft", "5ms", "--itl", "1ms", "--truth-log", str(log)]) as engine:
        cli(
            "measure", engine.url, "--data", str(path), "--jobs", "2", "--output-tokens", "7",
            "--tokenizer", "words", "--concurrency", "2",
        ).ended()  # fmt: skip
    rows, received, notes = measured(log)
    assert "data talks.json: rows are conversations, in column `conversations`" in notes
    assert [row["request_index"] for row in rows] == [0, 1, 2, 1024, 1025]
    assert [request["prompt_tokens"] for request in received] == [3, 13, 23, 3, 13]


def test_what_is_wrong_with_a_file_is_said_before_anything_is_sent(
    cli: Cli, sims: Sims, tmp_path: Path
) -> None:
    engine = sims("--ttft", "1ms")
    for option, name, text, told in (
        ("--data", "a.jsonl", "no\n", "none of its 1 rows can be used: 1 (not JSON): line 1"),
        ("--data", "a.bin", "no\n", "neither its name nor its beginning"),
        ("--trace", "a.csv", "when,in\n", "first line is neither of Azure's nor of Mooncake's"),
        ("--trace", "b.csv", "TIMESTAMP,ContextTokens,GeneratedTokens\n,1,2\n", "1 (no TIMESTAMP): line 2"),
    ):
        path = tmp_path / name
        path.write_text(text)
        done = cli("measure", engine.url, option, str(path))
        assert done.code == 2
        assert told in " ".join(done.err.split())
        assert "hint:" in done.err


def test_a_resumed_run_goes_on_with_the_same_file_and_no_other(cli: Cli, sims: Sims, tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    text = "".join(json.dumps({"prompt": "word " * (i + 1)}) + "\n" for i in range(150))
    path.write_text(text)
    engine = sims("--ttft", "10ms", "--itl", "1ms")
    process = spawn(
        "measure", engine.url, "--data", str(path), "--tokenizer", "words", "-c", "2", "-n", "150",
        "--set", "data.order=shuffle", "--set", "data.on_end=stop", "--output-tokens", "8",
    )  # fmt: skip
    wait_for_rows(process, 10)
    process.kill()
    process.communicate(timeout=60)
    assert 0 < open_run("latest").rows().num_rows < 150
    path.write_text(text + "\n")
    refused = cli("runs", "resume", "latest")
    assert refused.code == 2
    assert "has changed" in refused.err
    path.write_text(text)
    cli("runs", "resume", "latest").ended()
    rows = open_run("latest").rows().to_pylist()
    assert sorted(row["request_index"] // 1024 for row in rows) == list(range(150))
    # Each prompt of the file once: they are told apart by their lengths.
    assert sorted(row["prompt_tokens"] for row in rows) == list(range(1, 151))

"""Jobs of dependent calls against what the reference engine says it did: its truth log, by its own clock."""

import time
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from paceline.measure.sim import SimProcess, read_truth
from paceline.store.runs import list_runs, open_run
from tests.e2e.conftest import Cli, spawn

TOOL_MS = 15.0
TIMING = ("--ttft", "20ms", "--itl", "2ms", "--output-tokens", "12")


def workload(folder: Path, calls: str, more: str = "") -> str:
    path = folder / "workload.toml"
    path.write_text(
        f'schema = "paceline.workload/1"\nprompt_tokens = "16"\noutput_tokens = "12"\n{more}\n{calls}'
    )
    return str(path)


AGENT = f"""
[[call]]
name = "plan"
[[call]]
name = "step"
repeat = "6"
wait_ms = {TOOL_MS}
wait = "tool"
"""
BRANCHES = """
[[call]]
name = "plan"
[[call]]
name = "search"
repeat = "3"
parallel = true
[[call]]
name = "answer"
"""


def jobs(rows: list[dict[str, Any]]) -> dict[int, list[dict[str, Any]]]:
    found: dict[int, list[dict[str, Any]]] = {}
    for row in sorted(rows, key=lambda row: (row["session"], row["step"])):
        found.setdefault(row["session"], []).append(row)
    return found


@pytest.mark.parametrize("calls", [AGENT, BRANCHES], ids=["agent", "branches"])
def test_the_time_of_a_job_is_what_the_engine_took_for_it(cli: Cli, tmp_path: Path, calls: str) -> None:
    log = tmp_path / "truth.jsonl"
    with SimProcess([*TIMING, "--truth-log", str(log)]) as engine:
        done = cli(
            "measure",
            engine.url,
            "--workload",
            workload(tmp_path, calls),
            "-c",
            "2",
            "--jobs",
            "6",
            "--json",
            "-",
        ).ended()
        engine.stop()
    truth = {request["id"]: request for request in read_truth(log)}
    run = open_run("latest")
    seen, errors_ms = [], []
    for job in jobs(run.rows().to_pylist()).values():
        calls_of_job = [truth[row["response_id"]] for row in job]
        first_ns = min(request["received_ns"] for request in calls_of_job)
        last_ns = max(event[0] for request in calls_of_job for event in request["events"])
        seen.append((max(row["event_ns"][-1] for row in job) - min(row["sent_ns"] for row in job)) / 1e6)
        errors_ms.append(seen[-1] - (last_ns - first_ns) / 1e6)
    assert len(seen) == 6
    report = done.report
    assert report["jobs"]["ok"] == report["jobs"]["n"] == 6
    assert report["jobs"]["job_ms"]["p50"]["value"] == pytest.approx(median(seen), abs=1e-6)
    # The first byte takes its way to the engine and the last its way back: microseconds, on an idle machine.
    assert min(errors_ms) > -0.1
    assert abs(median(errors_ms)) < 1.0


def test_the_parts_of_a_job_are_those_of_the_engine(cli: Cli, tmp_path: Path) -> None:
    log = tmp_path / "truth.jsonl"
    with SimProcess([*TIMING, "--truth-log", str(log)]) as engine:
        done = cli(
            "measure", engine.url, "--workload", workload(tmp_path, AGENT), "--jobs", "4", "--json", "-"
        ).ended()
        engine.stop()
    truth = {request["id"]: request for request in read_truth(log)}
    first_ms, decode_ms = [], []
    for job in jobs(open_run("latest").rows().to_pylist()).values():
        requests = [truth[row["response_id"]] for row in job]
        first_ms.append(sum(request["events"][0][0] - request["received_ns"] for request in requests) / 1e6)
        decode_ms.append(
            sum(request["events"][-1][0] - request["events"][0][0] for request in requests) / 1e6
        )
    parts = done.report["jobs"]["parts"]
    assert parts["tools"]["mean_ms"] == pytest.approx(6 * TOOL_MS, abs=1e-6)
    # Seven calls a job; each may be seen some microseconds late.
    assert parts["first_token"]["mean_ms"] == pytest.approx(sum(first_ms) / 4, rel=0.1)
    assert parts["generating"]["mean_ms"] == pytest.approx(sum(decode_ms) / 4, rel=0.1)


def test_the_answers_of_the_model_are_carried_on(cli: Cli, tmp_path: Path) -> None:
    log = tmp_path / "truth.jsonl"
    with SimProcess([*TIMING, "--truth-log", str(log)]) as engine:
        cli("measure", engine.url, "--workload", workload(tmp_path, AGENT), "--jobs", "2").ended()
        engine.stop()
    truth = {request["id"]: request for request in read_truth(log)}
    for job in jobs(open_run("latest").rows().to_pylist()).values():
        prompts = [truth[row["response_id"]]["prompt_tokens"] for row in job]
        answers = [sum(event[1] for event in truth[row["response_id"]]["events"]) for row in job]
        own = prompts[1] - prompts[0] - answers[0]
        assert own > 0
        # Each call's prompt is the one before, its answer, and as much new text.
        assert [later - before for before, later in pairwise(prompts)] == [
            answer + own for answer in answers[:-1]
        ]


def test_a_hang_up_reaches_the_engine(cli: Cli, tmp_path: Path) -> None:
    log = tmp_path / "truth.jsonl"
    talk = (
        '[[call]]\nname = "talk"\noutput_tokens = "400"\nhang_up_ms = 30\n'
        '[[call]]\nname = "again"\noutput_tokens = "400"\nhang_up_ms = 8'
    )
    with SimProcess(
        ["--ttft", "20ms", "--itl", "2ms", "--output-tokens", "400", "--truth-log", str(log)]
    ) as engine:
        done = cli(
            "measure",
            engine.url,
            "--workload",
            workload(tmp_path, talk),
            "-c",
            "2",
            "--jobs",
            "6",
            "--json",
            "-",
        ).ended()
        engine.stop()
    truth = {request["id"]: request for request in read_truth(log)}
    rows = open_run("latest").rows().to_pylist()
    assert {row["outcome"] for row in rows} == {"hung_up"}
    late_ms = []
    for row in rows:
        request = truth[row["response_id"]]
        assert request["end"] == "client_gone"
        assert len(request["events"]) < 400
        assert row["stopped_ns"] >= row["hangup_ns"]
        # The engine's end and ours, both counted from the request.
        stopped = row["stopped_ns"] - row["sent_ns"]
        late_ms.append((stopped - (request["end_ns"] - request["received_ns"])) / 1e6)
    assert min(late_ms) > -0.1
    assert median(late_ms) < 1.0
    report = done.report
    assert report["hangups"]["n"] == len(rows) == 12
    assert report["hangups"]["stopped"] == 12
    assert report["jobs"]["ok"] == 6
    assert report["outcomes"]["by_outcome"] == {"hung_up": 12}


def test_a_failed_call_fails_its_job_and_no_other(cli: Cli, tmp_path: Path) -> None:
    with SimProcess([*TIMING, "--fault", "http_500:share=0.1", "--seed", "3"]) as engine:
        done = cli(
            "measure", engine.url, "--no-check", "-m", "truth", "--workload", workload(tmp_path, AGENT),
            "--jobs", "20", "--json", "-",
        )  # fmt: skip
    rows = open_run("latest").rows().to_pylist()
    failed = {row["session"] for row in rows if row["outcome"] != "ok"}
    assert 0 < len(failed) < 20
    report = done.report["jobs"]
    assert (report["ok"], report["failed"]) == (20 - len(failed), len(failed))
    for number, job in jobs(rows).items():
        assert [row["outcome"] for row in job[:-1]] == ["ok"] * (len(job) - 1)
        assert (job[-1]["outcome"] != "ok") == (number in failed)
        assert number in failed or len(job) == 7


def test_a_run_of_jobs_that_was_cut_off_is_finished(cli: Cli, tmp_path: Path) -> None:
    slow = AGENT.replace(f"wait_ms = {TOOL_MS}", "wait_ms = 400")
    with SimProcess(TIMING) as engine:
        process = spawn(
            *("measure", engine.url, "--workload", workload(tmp_path, slow), "-c", "3", "--jobs", "9"),
            *("--name", "cut"),
        )
        rows: list[dict[str, Any]] = []
        while len(rows) < 4 or max(row["step"] for row in rows) < 3:
            assert process.poll() is None, process.communicate()
            time.sleep(0.1)
            rows = open_run("cut").rows().to_pylist() if list_runs() else []
        process.kill()
        process.communicate()
        cut = {row["session"] for row in open_run("cut").rows().to_pylist()}
        assert cut
        done = cli("runs", "resume", "cut", "--json", "-").ended()
    assert (done.report["jobs"]["ok"], done.report["jobs"]["interrupted"]) == (9, 0)
    found = jobs(open_run("cut").rows().to_pylist())
    assert sorted(found) == list(range(9))
    for job in found.values():
        assert [row["step"] for row in job] == list(range(7))
        # What was cut off in its midst is of the second time alone.
        assert len({row["segment"] for row in job}) == 1

"""Sweep, capacity and study against the real reference engine."""

import json
import os
import signal
import time
from pathlib import Path

import pytest

from paceline.measure.sim import SimProcess
from paceline.store.runs import list_runs
from paceline.store.studies import list_studies, open_study
from tests.e2e.conftest import SMALL, Cli, Sims, spawn

QUICK = (*SMALL, "--settle", "0s")


def test_a_sweep_is_a_study_of_runs(cli: Cli, sim: SimProcess, tmp_path: Path) -> None:
    done = cli(
        *("sweep", sim.url, *QUICK, "--over", "concurrency=1..2", "--over", "output_tokens=4,8", "-n", "6"),
        *("--slo", "ttft_ms=500", "--json", "-", "--html", str(tmp_path / "s.html")),
        *("--csv", str(tmp_path / "s.csv"), "--markdown", str(tmp_path / "s.md"), "--name", "grid"),
    ).ended()
    document = done.report
    assert document["schema"] == "paceline.study-report/1"
    assert [series["label"] for series in document["series"]] == ["output_tokens=4", "output_tokens=8"]
    for series in document["series"]:
        for point in series["points"]:
            assert point["attempted"] == 6
            # The engine's own schedule: 20 ms to the first token.
            assert 19.0 < point["figures"]["ttft_p50_ms"]["value"] < 60.0
    assert len(list_runs()) == 4
    for name in ("s.html", "s.csv", "s.md"):
        assert (tmp_path / name).stat().st_size > 100
    shown = cli("study", "show", "grid", "--json", "-")
    assert json.loads(shown.out) == document
    assert "grid" in cli("study", "list").out
    assert cli("study", "delete", "grid", "--runs").code == 0
    assert list_runs() == []


def test_a_killed_sweep_goes_on(cli: Cli, sim: SimProcess) -> None:
    process = spawn("sweep", sim.url, *QUICK, "--over", "concurrency=1..8", "-d", "1s")
    until = time.monotonic() + 60
    while time.monotonic() < until and process.poll() is None:
        entries = list_studies()
        if entries and entries[0].steps >= 1:
            break
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=60)
    kept = open_study("latest")
    assert kept.state == "interrupted"
    assert 1 <= len(kept.manifest.steps) < 4
    cli("study", "resume", "latest").ended()
    whole = open_study("latest")
    assert whole.state == "complete"
    assert whole.manifest.steps[: len(kept.manifest.steps)] == kept.manifest.steps
    assert sorted(step.at["concurrency"] for step in whole.manifest.steps) == [1, 2, 4, 8]
    again = cli("study", "resume", "latest")
    assert again.code == 2
    assert "is complete" in again.err


def test_a_step_that_cannot_be_measured_leaves_what_there_is_and_says_how_to_go_on(
    cli: Cli, sim: SimProcess
) -> None:
    over = ("--over", "tokenizer=words,nowhere-at-all", "--order", "up")
    done = cli("sweep", sim.url, *QUICK, *over, "-n", "2")
    study = open_study("latest")
    assert (done.code, study.state, len(study.manifest.steps)) == (2, "failed", 1)
    assert "nowhere-at-all" in done.err
    assert f"paceline study show {study.id}" in done.err
    assert f"paceline study resume {study.id} goes on" in done.err
    assert cli("study", "show", study.id).code == 0


def test_ctrl_c_ends_a_sweep_with_a_report_of_what_there_is(sim: SimProcess) -> None:
    process = spawn("sweep", sim.url, *QUICK, "--over", "concurrency=1..64", "-d", "2s", "--json", "-")
    until = time.monotonic() + 60
    while time.monotonic() < until and process.poll() is None:
        entries = list_studies()
        if entries and entries[0].steps >= 1:
            break
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert "paceline study resume" in err
    document = json.loads(out)
    assert document["study"]["state"] == "interrupted"
    assert len(document["steps"]) >= 1


def test_a_capacity_of_a_wall(cli: Cli, sims: Sims) -> None:
    """Six slots: a seventh request has to wait for one, far longer than it may."""
    engine = sims(
        "--mode", "engine", "--slots", "6", "--decode-step-base", "20ms", "--decode-step-per-seq", "1us"
    )
    done = cli(
        *("capacity", engine.url, *SMALL, "--settle", "0s", "--over", "concurrency=1..32"),
        *("--slo", "ttft_ms=25", "-d", "1s", "--warmup", "300ms", "--budget", "12s", "--json", "-"),
    ).ended()
    result = done.report["result"]
    assert result["verdict"] in ("found", "not enough data")
    assert result["lo"] <= 7
    assert all(step["at"]["concurrency"] <= 32 for step in done.report["steps"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("sweep", "--over", "concurrency=8..1"), "no range upward"),
        (("sweep", "--over", "prompt_token=1"), "prompt_token"),
        (("sweep", "--over", "rate=1", "--rate", "2"), "--rate"),
        (("sweep", "--over", "concurrency=1", "-c", "2"), "--concurrency and --over"),
        (("sweep", "--over", f"rate=1..{'9' * 400}"), "no range upward"),
        (("sweep", "--over", "rate=1", "--order", "sideways"), "--order"),
        (("sweep", "--over", "rate=1", "--settle", "5"), "--settle"),
        (("capacity",), "objectives"),
        (("capacity", "--slo", "ttft_ms=5", "--over", "prompt_tokens"), "--over"),
        (("capacity", "--slo", "ttft_ms=5", "--over", "rate=9..2"), "no range"),
        (("capacity", "--slo", "ttft_ms=5", "--share", "95%", "--quantile", "95"), "--share"),
        (("capacity", "--slo", "ttft_ms=5", "--quantile", "12"), "--quantile"),
        (("capacity", "--slo", "ttft_ms=5", "--confidence", "20%"), "--confidence"),
        (("study", "show"), "no studies"),
    ],
)
def test_bad_input_is_said_before_anything_is_sent(
    cli: Cli, arguments: tuple[str, ...], message: str
) -> None:
    command, *rest = arguments
    where = ["show", "x"] if command == "study" else ["http://127.0.0.1:1"]
    done = cli(command, *where, *([] if command == "study" else rest))
    assert done.code == 2
    assert message in done.err
    assert list_studies() == []

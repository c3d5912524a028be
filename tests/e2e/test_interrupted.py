import json
import os
import signal
import subprocess
import sys
import time
from typing import Any

import pytest

from paceline.measure.sim import SimProcess
from paceline.store.runs import list_runs, open_run
from tests.e2e.conftest import SMALL, Cli, Sims, spawn


def wait_for_rows(process: "subprocess.Popen[str]", rows: int = 1) -> None:
    """Until the run has stored some rows."""
    until = time.monotonic() + 60
    while time.monotonic() < until and process.poll() is None:
        entries = list_runs()
        if entries and open_run(entries[0].id).rows().num_rows >= rows:
            return
        time.sleep(0.05)
    raise AssertionError(f"no rows: {process.communicate()}")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_one_signal_ends_cleanly_with_a_report(sim: SimProcess, number: signal.Signals) -> None:
    process = spawn("measure", sim.url, *SMALL, "-c", "2", "-d", "5m", "--json", "-")
    wait_for_rows(process)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode in (0, 1), err
    report: dict[str, Any] = json.loads(out)
    assert report["outcomes"]["ok"] == report["outcomes"]["attempted"] > 0
    assert report["run"]["workload"]["state"] == "interrupted"
    assert report["trust"]["verdict"] in ("suspect", "invalid")
    assert any("the run was interrupted" in reason for reason in report["trust"]["reasons"])
    assert "interrupted" in err
    assert open_run("latest").state == "interrupted"


def test_two_signals_end_at_once_and_cancelled_requests_are_made_again(cli: Cli, sims: Sims) -> None:
    engine = sims("--ttft", "10ms", "--itl", "1ms", "--fault", "stall:after_events=2,share=0.3")
    process = spawn(
        "measure", engine.url, *SMALL, "-c", "4", "-n", "200", "--no-check", "-m", "truth", "--timeout", "10m"
    )
    wait_for_rows(process)
    process.send_signal(signal.SIGINT)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert "interrupted" in err
    run = open_run("latest")
    assert run.state == "interrupted"
    assert "cancelled" in run.rows().column("outcome").to_pylist()


def test_a_killed_run_can_be_read_and_finished(cli: Cli, sim: SimProcess) -> None:
    process = spawn("measure", sim.url, *SMALL, "-c", "2", "-n", "150", "--seed", "5")
    wait_for_rows(process, 10)
    process.kill()
    process.communicate(timeout=60)
    before = open_run("latest")
    assert before.state == "interrupted"
    some = before.rows().num_rows
    assert 0 < some < 150

    shown = cli("runs", "show", "latest", "--json", "-")
    assert shown.code == 0, shown.err
    assert shown.report["outcomes"]["attempted"] == some
    assert shown.report["trust"]["verdict"] in ("suspect", "invalid")

    done = cli("runs", "resume", before.id, "--json", "-")
    done.ended()
    assert done.report["outcomes"]["attempted"] == 150
    after = open_run(before.id)
    assert after.state == "complete"
    assert after.rows().column("request_index").to_pylist() == list(range(150))
    assert set(after.rows().column("segment").to_pylist()) == {0, 1}

    again = cli("runs", "resume", before.id)
    assert again.code == 2
    assert "complete" in again.err
    assert f"hint: see it: paceline runs show {before.id}" in again.err


def test_a_full_disk_ends_the_run_and_keeps_what_there_is(cli: Cli, sim: SimProcess) -> None:
    # A limit on the size of files is a disk that is full for whoever writes past it.
    limited = ["bash", "-c", 'ulimit -f 40; trap "" XFSZ; exec "$@"', "limited"]
    command = ["measure", sim.url, *SMALL, "-c", "32", "-d", "60s", "--output-tokens", "64"]
    process = subprocess.run(
        [*limited, sys.executable, "-m", "paceline", *command],
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert process.returncode == 1, process.stderr
    assert "error: " in process.stderr
    assert "Traceback" not in process.stderr
    run = open_run("latest")
    assert run.state in ("failed", "interrupted")
    assert cli("runs", "show", "latest").code == 0


def test_the_reference_engine_ends_with_its_parent() -> None:
    reader, writer = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-m", "paceline", "sim", "--port", "0", "--json", "--with-parent"],
        stdin=reader,
        stdout=subprocess.PIPE,
        text=True,
    )
    os.close(reader)
    assert process.stdout is not None
    assert json.loads(process.stdout.readline())["schema"] == "paceline.sim/1"
    os.close(writer)
    assert process.wait(timeout=30) == 0
    process.stdout.close()

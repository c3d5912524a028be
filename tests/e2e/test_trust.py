import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from paceline.store.runs import list_runs
from tests.e2e.conftest import SMALL, Cli, Sims, spawn

CORES = sorted(os.sched_getaffinity(0))


@contextmanager
def busy(core: int, loops: int) -> Iterator[None]:
    """So many endless loops on one core."""
    code = f"import os\nos.sched_setaffinity(0, {{{core}}})\nprint(flush=True)\nwhile True: pass"
    started = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) for _ in range(loops)]
    try:
        for process in started:
            assert process.stdout is not None
            process.stdout.readline()
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()
            assert process.stdout is not None
            process.stdout.close()


@pytest.mark.skipif(len(CORES) < 2, reason="needs two cores: one to starve the client on, one for the engine")
def test_a_starved_client_is_found_out(sims: Sims) -> None:
    engine = sims("--ttft", "20ms", "--itl", "2ms")
    os.sched_setaffinity(engine.pid, {CORES[-1]})
    with busy(CORES[0], 4):
        command = ("measure", engine.url, "--output-tokens", "32", "-c", "48", "-d", "3s", "--json", "-")
        process = spawn(*command, pin=CORES[0])
        out, err = process.communicate(timeout=110)
    report = json.loads(out)
    assert report["trust"]["verdict"] in ("suspect", "invalid"), err
    assert any("CPU starvation" in reason for reason in report["trust"]["reasons"]), report["trust"]
    assert process.returncode == (1 if report["trust"]["verdict"] == "invalid" else 0)


def test_a_healthy_run_is_trusted(cli: Cli, sims: Sims) -> None:
    engine = sims("--ttft", "200ms", "--itl", "10ms")
    done = cli("measure", engine.url, *SMALL, "-c", "4", "-n", "32", "--json", "-")
    assert done.code == 0
    assert done.report["trust"]["verdict"] == "trusted", done.report["trust"]


def test_a_client_that_was_stopped_is_found_out(sims: Sims) -> None:
    engine = sims("--ttft", "20ms", "--itl", "2ms")
    process = spawn("measure", engine.url, "--output-tokens", "16", "-c", "4", "-d", "4s", "--json", "-")
    # The run is in the store right before it begins to send.
    while not list_runs():
        time.sleep(0.02)
    time.sleep(0.7)
    process.send_signal(signal.SIGSTOP)
    time.sleep(1.5)
    process.send_signal(signal.SIGCONT)
    out, err = process.communicate(timeout=110)
    trust = json.loads(out)["trust"]
    assert trust["verdict"] in ("suspect", "invalid"), err
    assert any("stood still" in reason for reason in trust["reasons"]), trust

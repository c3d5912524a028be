import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from paceline.measure.calibrate import save_calibration
from paceline.measure.host import instrument
from tests.e2e.conftest import spawn


@pytest.fixture(autouse=True)
def calibrated(home: Path) -> None:
    """The demo calibrates only where nothing is known."""
    save_calibration(
        {"schema": "paceline.calibration/1", "made_at": "", "instrument": instrument(), "cells": []}
    )


def children(pid: int) -> list[int]:
    """Processes whose parent is `pid`."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            found.append(int(status.parent.name))
    return found


def living(pids: list[int]) -> list[int]:
    return [pid for pid in pids if Path(f"/proc/{pid}").exists()]


def wait_until_gone(pids: list[int]) -> None:
    until = time.monotonic() + 30
    while living(pids) and time.monotonic() < until:
        time.sleep(0.05)
    assert living(pids) == []


def started_demo(tmp_path: Path) -> tuple["subprocess.Popen[str]", list[int]]:
    """The demo once its load has begun, and its engines."""
    process = spawn("demo", "--html", str(tmp_path / "demo.html"))
    assert process.stderr is not None
    for line in process.stderr:
        if "pairs of blocks" in line:
            break
    engines = children(process.pid)
    assert len(engines) == 2
    return process, engines


def test_the_demo_ends_early_with_what_there_is_and_leaves_no_process(tmp_path: Path) -> None:
    process, engines = started_demo(tmp_path)
    time.sleep(4)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert "Traceback" not in err
    assert "interrupted" in err
    assert "B against A" in out
    assert "<html" in (tmp_path / "demo.html").read_text()
    wait_until_gone(engines)


def test_a_killed_demo_leaves_no_process(tmp_path: Path) -> None:
    process, engines = started_demo(tmp_path)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=60)
    wait_until_gone(engines)
    assert list(tmp_path.glob("*.html")) == []

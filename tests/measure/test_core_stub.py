import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_stub_says_what_the_extension_is() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mypy.stubtest", "paceline._core"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "MYPYPATH": "src"},
    )
    assert done.returncode == 0, done.stdout

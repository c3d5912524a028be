"""An executable that stands in for llama.cpp's server, made in a folder of the test."""

import stat
import sys
from pathlib import Path

SCRIPT = Path(__file__).parent / "standins" / "llama_server.py"


def make_llama_server(folder: Path) -> Path:
    """The executable, run by the Python that runs the tests."""
    binary = folder / "llama-server"
    binary.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{SCRIPT}" "$@"\n')
    binary.chmod(binary.stat().st_mode | stat.S_IXUSR)
    return binary

"""The command line against the real reference engine."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from paceline.cli.main import run as run_cli
from paceline.measure.sim import SimProcess


@dataclass(frozen=True)
class Done:
    """A command that has ended."""

    code: int
    out: str
    err: str

    def ended(self) -> "Done":
        """The run was made; whether a busy machine has spoilt it is its verdict's matter, not asked here."""
        assert self.code in (0, 1), self.err
        assert "error: " not in self.err
        return self

    @property
    def report(self) -> dict[str, Any]:
        """What `--json -` wrote."""
        document: dict[str, Any] = json.loads(self.out)
        return document


Cli = Callable[..., Done]
Sims = Callable[..., SimProcess]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    monkeypatch.setenv("PACELINE_HOME", str(folder))
    return folder


@pytest.fixture
def cli(capfdbinary: pytest.CaptureFixture[bytes]) -> Cli:
    """Runs a command in this process."""

    def run(*arguments: str) -> Done:
        capfdbinary.readouterr()
        code = run_cli([str(argument) for argument in arguments])
        captured = capfdbinary.readouterr()
        return Done(code, captured.out.decode(), captured.err.decode())

    return run


@pytest.fixture
def sims() -> Iterator[Sims]:
    """Starts reference engines, which end with the test."""
    with ExitStack() as stack:
        yield lambda *arguments: stack.enter_context(SimProcess(arguments))


@pytest.fixture(scope="module")
def sim() -> Iterator[SimProcess]:
    """An exact engine of 20 ms to the first token and 2 ms from token to token."""
    with SimProcess(["--ttft", "20ms", "--itl", "2ms"]) as engine:
        yield engine


def spawn(*arguments: str, **options: Any) -> "subprocess.Popen[str]":
    """A command as a process of its own, to be sent signals; `pin` is a CPU to pin it to."""
    prefix = ["taskset", "-c", str(options.pop("pin"))] if "pin" in options else []
    return subprocess.Popen(
        [*prefix, sys.executable, "-m", "paceline", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **options},
    )


SMALL = ("--prompt-tokens", "16", "--output-tokens", "8")

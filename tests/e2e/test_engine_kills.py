"""Whoever is ended, and however: nothing of an engine is left, and its port is free."""

import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from paceline.engines.processes import MARK, PROC, process
from paceline.engines.run import status
from tests.support.engine import Engine, find_engine
from tests.support.standin import BEGIN, PATIENCE_S, free_port, is_free, living, marked, said_pids, until

ROOT = Path(__file__).parents[2]
# Children that outlive a careless end: in the engine's session, and orphans in their own.
FAMILY = ("--children", "1", "--far-children", "2")


class Parent:
    """A program that has an engine. log: of the engine; marks: of the engines that it was seen to have."""

    def __init__(
        self, how: str, log: Path, argv: list[str], *, grace_s: float, limit_bytes: int | None
    ) -> None:
        self.log = log
        self.port = int(argv[argv.index("--port") + 1])
        self.marks: set[str] = set()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.standins.parent", how, str(log), str(grace_s), *argv],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=ROOT,
            start_new_session=True,
            env={name: value for name, value in os.environ.items() if name != MARK},
        )
        if limit_bytes is not None:
            resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE, (limit_bytes, limit_bytes))

    def event(self, kind: str) -> dict[str, Any]:
        """The next event of a kind."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            found: dict[str, Any] = json.loads(line)
            if found["pid"]:
                self._mark(found["pid"])
            if found["kind"] == kind:
                return found
        assert self.process.stderr is not None
        raise AssertionError(f"no {kind}: {self.process.stderr.read().decode()}")

    def ready(self) -> int:
        """Wait until its engine answers; the engine's id."""
        pid: int = self.event("ready")["pid"]
        return pid

    def guardian(self, engine: int) -> int:
        found = process(engine)
        assert found is not None
        return found.parent

    def end(self, number: signal.Signals) -> int:
        self.process.send_signal(number)
        return self.process.wait(PATIENCE_S)

    def nothing_is_left(self, *also: int) -> None:
        """No process with its mark, none of those, and the port is free: within a while, and for good."""
        assert self.marks
        pids = {*also, *said_pids(self.log, "child"), *said_pids(self.log, "far child")}
        until(lambda: not any(marked(mark) for mark in self.marks), "a process with the mark lives")
        until(lambda: living(pids) == [], "a process of the engine lives")
        assert is_free(self.port)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.process.communicate(timeout=PATIENCE_S)

    def _mark(self, pid: int) -> None:
        try:
            environment = (PROC / str(pid) / "environ").read_bytes().split(b"\0")
        except OSError:
            return
        found = [one.decode().partition("=")[2] for one in environment if one.startswith(MARK.encode())]
        self.marks.update(found)


@contextmanager
def parent(
    how: str,
    folder: Path,
    *options: str,
    argv: list[str] | None = None,
    grace_s: float = 60.0,
    limit_bytes: int | None = None,
) -> Iterator[Parent]:
    command = argv or [*BEGIN, "--port", str(free_port()), *options]
    made = Parent(how, folder / "engine.log", command, grace_s=grace_s, limit_bytes=limit_bytes)
    try:
        yield made
    finally:
        made.close()


@pytest.mark.parametrize("how", ["run", "serve"])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_the_parent_is_ended(tmp_path: Path, how: str, number: signal.Signals) -> None:
    with parent(how, tmp_path, *FAMILY) as one:
        engine = one.ready()
        code = one.end(number)
        assert (code == 0) == (how == "serve" and number != signal.SIGKILL)
        one.nothing_is_left(engine)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_the_parent_is_ended_while_the_engine_loads(tmp_path: Path, number: signal.Signals) -> None:
    with parent("run", tmp_path, "--load-s", "600", *FAMILY) as one:
        until(lambda: len(said_pids(tmp_path / "engine.log", "far child")) == 2, "no children")
        one.marks.update(mark_of(pid) for pid in said_pids(tmp_path / "engine.log", "child"))
        one.end(number)
        one.nothing_is_left()


def mark_of(pid: int) -> str:
    environment = (PROC / str(pid) / "environ").read_bytes().decode().split("\0")
    return next(one for one in environment if one.startswith(MARK)).partition("=")[2]


def test_the_parent_is_killed_and_the_engine_heeds_no_signal(tmp_path: Path) -> None:
    """Only the guardian is left to know of it, and waits its grace."""
    with parent("serve", tmp_path, "--ignore-term", *FAMILY, grace_s=0.2) as one:
        engine = one.ready()
        guardian = one.guardian(engine)
        one.end(signal.SIGKILL)
        one.nothing_is_left(engine, guardian)


def test_the_guardian_is_killed_and_the_engine_comes_up_again(tmp_path: Path) -> None:
    with parent("serve", tmp_path, "--ignore-term", *FAMILY, grace_s=0.2) as one:
        engine = one.ready()
        first = one.marks.copy()
        os.kill(one.guardian(engine), signal.SIGKILL)
        assert "guards" in one.event("died")["text"]
        again = one.ready()
        assert again != engine
        assert not any(marked(mark) for mark in first)
        assert status(f"http://127.0.0.1:{one.port}/health", 10.0) == 200
        one.end(signal.SIGTERM)
        one.nothing_is_left(engine, again)


def test_the_engine_is_killed_and_comes_up_again(tmp_path: Path) -> None:
    with parent("serve", tmp_path, *FAMILY) as one:
        engine = one.ready()
        os.kill(engine, signal.SIGKILL)
        again = one.ready()
        assert len(living(said_pids(one.log, "far child"))) == 2
        assert one.end(signal.SIGTERM) == 0
        one.nothing_is_left(engine, again)


def test_parent_and_guardian_are_killed_at_once(tmp_path: Path) -> None:
    """The kernel ends the engine itself; only then can there be orphans, and an engine without has none."""
    with parent("serve", tmp_path, "--ignore-term") as one:
        engine = one.ready()
        guardian = one.guardian(engine)
        for pid in (one.process.pid, guardian):
            os.kill(pid, signal.SIGKILL)
        one.nothing_is_left(engine)


def test_the_parent_is_killed_and_a_fork_of_it_lives(tmp_path: Path) -> None:
    """The fork has the guardian's socket open still, so that its end says nothing."""
    with parent("fork", tmp_path, *FAMILY) as one:
        engine = one.ready()
        fork: int = one.event("forked")["pid"]
        try:
            one.end(signal.SIGKILL)
            one.nothing_is_left(engine)
            assert living([fork]) == [fork]
        finally:
            os.kill(fork, signal.SIGKILL)


def test_two_at_once_end_each_for_itself(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    with parent("serve", tmp_path, *FAMILY) as one, parent("serve", tmp_path / "other", *FAMILY) as other:
        engine, its = one.ready(), other.ready()
        one.end(signal.SIGKILL)
        one.nothing_is_left(engine)
        assert status(f"http://127.0.0.1:{other.port}/health", 10.0) == 200
        assert len(living(said_pids(other.log, "far child"))) == 2
        other.end(signal.SIGTERM)
        other.nothing_is_left(its)


def test_nobody_reads_what_the_parent_says(tmp_path: Path) -> None:
    with parent("serve", tmp_path, *FAMILY) as one:
        engine = one.ready()
        assert one.process.stdout is not None
        one.process.stdout.close()
        # It has something to say now, and cannot.
        os.kill(engine, signal.SIGKILL)
        assert one.process.wait(PATIENCE_S) != 0
        one.nothing_is_left(engine)
        one.process.stdout = None


def test_a_disk_that_is_full_costs_the_log_alone(tmp_path: Path) -> None:
    with parent("serve", tmp_path, "--flood-bytes", "300000", limit_bytes=100_000) as one:
        engine = one.ready()
        assert one.log.stat().st_size == 100_000
        assert status(f"http://127.0.0.1:{one.port}/v1/models", 10.0) == 200
        assert one.end(signal.SIGTERM) == 0
        one.nothing_is_left(engine)


REAL = find_engine()


@pytest.fixture
def llama(tmp_path: Path) -> list[str]:
    """The command of a real llama-server."""
    assert isinstance(REAL, Engine)
    small = ["-c", "512", "-np", "1", "-t", "1", "--no-warmup"]
    command = [str(REAL.binary), "-m", str(REAL.model), "--port", str(free_port()), *small]
    return ["env", *(f"{name}={value}" for name, value in REAL.environment.items()), *command]


@pytest.mark.engine
@pytest.mark.skipif(isinstance(REAL, str), reason=str(REAL))
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_the_parent_of_a_real_engine_is_ended(
    tmp_path: Path, llama: list[str], number: signal.Signals
) -> None:
    with parent("serve", tmp_path, argv=llama) as one:
        engine = one.ready()
        assert status(f"http://127.0.0.1:{one.port}/v1/models", 10.0) == 200
        one.end(number)
        one.nothing_is_left(engine)


@pytest.mark.engine
@pytest.mark.skipif(isinstance(REAL, str), reason=str(REAL))
def test_a_real_engine_and_its_guardian_are_killed_in_turn(tmp_path: Path, llama: list[str]) -> None:
    with parent("serve", tmp_path, argv=llama) as one:
        engine = one.ready()
        os.kill(engine, signal.SIGKILL)
        again = one.ready()
        os.kill(one.guardian(again), signal.SIGKILL)
        third = one.ready()
        assert status(f"http://127.0.0.1:{one.port}/v1/models", 10.0) == 200
        assert one.end(signal.SIGTERM) == 0
        one.nothing_is_left(engine, again, third)

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from paceline.engines import guarded
from paceline.engines.engine import Command
from paceline.engines.failure import EngineError
from paceline.engines.guarded import Guarded
from paceline.engines.processes import process
from paceline.errors import UsageError
from tests.support.standin import BEGIN, PATIENCE_S, free_port, living, marked, said_pids, until


@contextmanager
def started(log: Path, *options: str) -> Iterator[Guarded]:
    """A stand-in that has said that it is ready."""
    command = Command((*BEGIN, "--port", str(free_port()), *options), {"SOME_API_KEY": "from-environment"})
    engine = Guarded(command, log)
    try:
        until(lambda: log.exists() and log.read_text().endswith("ready\n"), "never ready")
        yield engine
    finally:
        engine.kill()


def guardian_of(engine: Guarded) -> int:
    found = process(engine.pid)
    assert found is not None
    return found.parent


def test_from_its_start_to_its_end(tmp_path: Path) -> None:
    with started(tmp_path / "log") as engine:
        assert engine.look()
        assert not engine.wait(0.01)
        assert not engine.ended
        assert [one.pid for one in engine.processes()] == [engine.pid]
        engine.stop()
        assert (engine.exit_code, engine.tail, engine.lost) == (-signal.SIGTERM, "ready\n", False)
        assert not engine.look()
        assert engine.wait(0)
        engine.stop()
        engine.kill()
    assert marked(engine.mark) == []


def test_the_two_do_not_share_a_mark_and_end_alone(tmp_path: Path) -> None:
    with started(tmp_path / "one") as one, started(tmp_path / "two") as two:
        assert one.mark != two.mark
        one.stop()
        assert marked(one.mark) == []
        assert two.look()
        # Engine and guardian.
        assert len(marked(two.mark)) == 2


def test_secrets_of_the_environment_are_hidden(tmp_path: Path) -> None:
    options = ("--say", "key of-the-user", "--show", "SOME_API_KEY", "--show", "MY_TOKEN")
    before = dict(os.environ)
    os.environ["MY_TOKEN"] = "of-the-user"
    try:
        with started(tmp_path / "log", *options) as engine:
            engine.stop()
    finally:
        os.environ.clear()
        os.environ.update(before)
    hidden = "key [redacted]\nSOME_API_KEY is [redacted]\nMY_TOKEN is [redacted]\nready\n"
    assert (tmp_path / "log").read_text() == hidden
    assert engine.tail == hidden


def test_an_end_by_itself_is_seen(tmp_path: Path) -> None:
    with started(tmp_path / "log") as engine:
        os.kill(engine.pid, signal.SIGKILL)
        assert engine.wait(PATIENCE_S)
        assert (engine.exit_code, engine.lost) == (-signal.SIGKILL, False)


def test_a_guardian_that_is_killed_is_swept_up_after(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("of an earlier start\n")
    with started(log, "--ignore-term", "--children", "1", "--far-children", "1") as engine:
        children = said_pids(log, "child") + said_pids(log, "far child")
        assert len(living(children)) == 2
        os.kill(guardian_of(engine), signal.SIGKILL)
        assert engine.wait(PATIENCE_S)
        assert (engine.exit_code, engine.lost, engine.left) == (-signal.SIGKILL, True, ())
        assert living([engine.pid, *children]) == []
        assert engine.tail.startswith("child ")
        assert engine.tail.endswith("ready\n")


def test_children_that_hide_are_swept_up_too_where_they_were_seen(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with started(log, "--far-children", "2", "--hide") as engine:
        children = said_pids(log, "far child")
        assert len(living(children)) == 2
        engine.remember()
        os.kill(guardian_of(engine), signal.SIGKILL)
        assert engine.wait(PATIENCE_S)
        assert living(children) == []


def test_a_guardian_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guarded, "_FORCE_S", 0.3)
    with started(tmp_path / "log", "--far-children", "1") as engine:
        os.kill(guardian_of(engine), signal.SIGSTOP)
        engine.stop(0.1)
        assert engine.lost
        assert marked(engine.mark) == []


def test_a_second_ctrl_c_while_it_stops_waits_for_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with started(tmp_path / "log", "--ignore-term", "--far-children", "1") as engine:
        wait = Guarded.wait

        def interrupted(self: Guarded, seconds: float) -> bool:
            monkeypatch.setattr(Guarded, "wait", wait)
            raise KeyboardInterrupt

        monkeypatch.setattr(Guarded, "wait", interrupted)
        with pytest.raises(KeyboardInterrupt):
            engine.stop(1_000.0)
        assert engine.exit_code == -signal.SIGKILL
        assert marked(engine.mark) == []


def test_a_log_that_is_dropped_is_noted_and_counted(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.symlink_to("/dev/full")
    engine = Guarded(Command((*BEGIN, "--port", str(free_port()), "--flood-bytes", "300000")), log)
    notes: list[str] = []

    def noted() -> bool:
        engine.look()
        notes.extend(engine.take_notes())
        return bool(notes)

    until(noted, "no note")
    assert "No space left" in notes[0]
    assert engine.take_notes() == []
    engine.kill()
    assert engine.dropped_bytes > 0


def test_a_program_that_cannot_be_started(tmp_path: Path) -> None:
    script = tmp_path / "no program"
    script.write_bytes(b"\x00")
    script.chmod(0o755)
    for path, why in ((tmp_path / "nowhere", "No such file"), (tmp_path, "denied"), (script, "format")):
        with pytest.raises(EngineError) as caught:
            Guarded(Command((str(path), "--port", "1")), tmp_path / "log")
        assert f"cannot start {path}: " in caught.value.message
        assert why.lower() in caught.value.message.lower()
        assert caught.value.lasting


def test_no_process_can_be_had(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(subprocess, "Popen", refused)
    with pytest.raises(EngineError, match="cannot start a process for the engine: Resource") as caught:
        Guarded(Command(("engine",)), tmp_path / "log")
    assert not caught.value.lasting


def test_other_systems_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(UsageError, match="on Linux only"):
        Guarded(Command(("engine",)), tmp_path / "log")

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from paceline.engines import guardian
from paceline.engines.processes import MARK, process
from tests.support.standin import BEGIN, PATIENCE_S, free_port, living, marked, said_pids, until

COMMAND = [sys.executable, "-I", "-S", str(Path(guardian.__file__))]


class Spoken:
    """A guardian, and our end of its socket."""

    def __init__(self, log: Path) -> None:
        self.log = log
        self.mark = f"test-{os.getpid()}-{id(self)}"
        self.socket, theirs = socket.socketpair()
        self.socket.settimeout(PATIENCE_S)
        with theirs:
            self.process = subprocess.Popen(
                COMMAND, stdin=theirs.fileno(), start_new_session=True, env={**os.environ, MARK: self.mark}
            )
        self.lines = self.socket.makefile("rb")

    def order(self, *options: str, argv: list[str] | None = None, grace_s: float = 30.0) -> dict[str, Any]:
        """Have the stand-in started, or another program; the answer."""
        document = {
            "argv": argv or [*BEGIN, "--port", str(free_port()), *options],
            "environment": {"EXTRA": "given"},
            "log": str(self.log),
            "secrets": ["hide-this-1"],
            "grace_s": grace_s,
        }
        self.say(json.dumps(document))
        return self.hear()

    def say(self, line: str) -> None:
        self.socket.sendall(line.encode() + b"\n")

    def hear(self) -> dict[str, Any]:
        heard: dict[str, Any] = json.loads(self.lines.readline())
        return heard

    def wait_for(self, word: str) -> None:
        until(lambda: self.log.exists() and word in self.log.read_text(), f"never said {word}")

    def hang_up(self) -> None:
        self.lines.close()
        self.socket.close()

    def all_ended(self) -> None:
        """Nothing of it lives, the guardian included."""
        self.process.wait(PATIENCE_S)
        assert marked(self.mark) == []


@contextmanager
def spoken(log: Path) -> Iterator[Spoken]:
    made = Spoken(log)
    try:
        yield made
    finally:
        made.hang_up()
        made.process.wait(PATIENCE_S)


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[Spoken]:
    with spoken(tmp_path / "engine.log") as made:
        yield made


def test_an_engine_is_started_in_its_own_session_with_nothing_of_ours(guarded: Spoken) -> None:
    pid = guarded.order("--show", "EXTRA", "--show", MARK)["started"]
    guarded.wait_for("ready")
    found = process(pid)
    assert found is not None
    assert (found.parent, found.group, found.session) == (guarded.process.pid, pid, pid)
    assert f"EXTRA is given\n{MARK} is {guarded.mark}\n" in guarded.log.read_text()
    handles = {int(one.name): str(one.readlink()) for one in Path(f"/proc/{pid}/fd").iterdir()}
    assert handles[0] == "/dev/null"
    assert handles[1] == handles[2]
    assert handles[1].startswith("pipe:")
    # Its own socket that listens is all there is beside.
    assert all(one.startswith(("socket:", "anon_inode:")) for number, one in handles.items() if number > 2)
    assert len([one for one in handles.values() if one.startswith("socket:")]) == 1


def test_no_secret_is_on_a_command_line(guarded: Spoken) -> None:
    guarded.order("--say", "the key is hide-this-1")
    guarded.wait_for("ready")
    assert b"hide-this-1" not in Path(f"/proc/{guarded.process.pid}/cmdline").read_bytes()
    assert guarded.log.read_text().startswith("the key is [redacted]\n")


def test_asked_to_stop_it_says_how_the_engine_ended_and_its_last_words(guarded: Spoken) -> None:
    guarded.order("--say", "last words")
    guarded.wait_for("ready")
    guarded.say("stop 30")
    said = guarded.hear()
    assert said["ended"] == -signal.SIGTERM
    assert said["tail"] == "last words\nready\n"
    assert (said["left"], said["dropped"]) == ([], 0)
    guarded.all_ended()


@pytest.mark.parametrize("order", ["stop 0.1", "kill", "stop 60\nkill", "stop 60\nstop 0.1"])
def test_an_engine_that_does_not_listen_is_killed_with_its_children(guarded: Spoken, order: str) -> None:
    guarded.order("--ignore-term", "--children", "1", "--far-children", "2", "--hide")
    guarded.wait_for("ready")
    children = said_pids(guarded.log, "child") + said_pids(guarded.log, "far child")
    assert len(living(children)) == 3
    guarded.say(order)
    said = guarded.hear()
    assert (said["ended"], said["left"]) == (-signal.SIGKILL, [])
    assert living(children) == []
    guarded.all_ended()


def test_an_order_that_comes_with_the_start_counts(guarded: Spoken) -> None:
    document = {"argv": [*BEGIN, "--port", str(free_port())], "environment": {}, "log": str(guarded.log)}
    guarded.say(json.dumps({**document, "secrets": [], "grace_s": 30.0}) + "\nkill")
    assert "started" in guarded.hear()
    assert guarded.hear()["ended"] in (-signal.SIGKILL, -signal.SIGTERM)
    guarded.all_ended()


@pytest.mark.parametrize("options", [[], ["--ignore-term"]])
def test_the_end_of_the_socket_is_an_order_to_stop(guarded: Spoken, options: list[str]) -> None:
    guarded.order("--far-children", "1", *options, grace_s=0.2)
    guarded.wait_for("ready")
    assert len(marked(guarded.mark)) == 3
    guarded.hang_up()
    guarded.all_ended()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_guardian_that_is_told_to_end_ends_the_engine_softly(
    guarded: Spoken, number: signal.Signals
) -> None:
    guarded.order()
    guarded.wait_for("ready")
    guarded.process.send_signal(number)
    assert guarded.hear()["ended"] == -signal.SIGTERM
    guarded.all_ended()


def test_an_engine_does_not_outlive_a_guardian_that_is_killed(guarded: Spoken) -> None:
    pid = guarded.order("--ignore-term")["started"]
    guarded.wait_for("ready")
    guarded.process.kill()
    until(lambda: living([pid]) == [], "the engine lives on")


def test_what_an_engine_leaves_behind_is_ended(guarded: Spoken) -> None:
    guarded.order("--children", "1", "--far-children", "1", "--hide", "--fail-at-load", "7")
    said = guarded.hear()
    assert said["ended"] == 7
    children = said_pids(guarded.log, "child") + said_pids(guarded.log, "far child")
    assert len(children) == 2
    assert living(children) == []
    guarded.all_ended()


def test_an_engine_that_closes_its_output_is_watched_on(guarded: Spoken) -> None:
    pid = guarded.order("--no-output")["started"]
    until(lambda: "/dev/null" in os.readlink(f"/proc/{pid}/fd/2"), "still open")  # noqa: PTH115
    assert living([pid]) == [pid]
    os.kill(pid, signal.SIGKILL)
    assert guarded.hear()["ended"] == -signal.SIGKILL


def test_a_program_that_is_none(guarded: Spoken, tmp_path: Path) -> None:
    assert guarded.order(argv=[str(tmp_path / "nowhere")]) == {"failed": "No such file or directory"}
    guarded.all_ended()


def test_paceline_that_goes_before_it_said_anything(guarded: Spoken) -> None:
    guarded.hang_up()
    guarded.all_ended()
    assert not guarded.log.exists()


def test_a_flood_and_bytes_that_are_no_text_hold_nothing_up(guarded: Spoken) -> None:
    guarded.order("--flood-bytes", "2000000", "--binary")
    until(lambda: guarded.log.exists() and guarded.log.read_bytes().endswith(b"ready\n"), "never ready")
    assert guarded.log.stat().st_size == 2_000_000 + 4 * 256 + 1 + len("ready\n")
    guarded.say("stop 30")
    said = guarded.hear()
    assert said["dropped"] == 0
    assert said["tail"].endswith("\ufffd\nready\n")
    assert len(said["tail"].encode(errors="replace")) >= 64 * 1024


def test_a_log_that_cannot_be_written_is_said_and_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "engine.log").symlink_to("/dev/full")
    with spoken(tmp_path / "engine.log") as full:
        pid = full.order("--flood-bytes", "500000")["started"]
        said = full.hear()
        assert "No space left on device" in said["log"]
        assert living([pid]) == [pid]
        full.say("stop 30")
        said = full.hear()
        assert said["dropped"] > 0
        full.all_ended()

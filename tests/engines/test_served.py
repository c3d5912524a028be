"""What is served on this machine: names, life by the lock, stopping, cleaning up."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from paceline.engines.served import (
    Served,
    Serving,
    document,
    find_server,
    forget,
    served_folder,
    server_name,
    servers,
    started_ticks,
    stop_server,
)
from paceline.errors import ConfigError

SERVED = Served(
    name="gemma",
    endpoint="http://127.0.0.1:21000/v1",
    engine="llama.cpp",
    engine_version="b6790",
    model="/models/gemma.gguf",
    served_name="gemma",
    tier="fast",
    command="llama-server --model /models/gemma.gguf",
    log="/tmp/gemma.log",
    pid=0,
    pid_started=None,
    started_at=datetime(2026, 11, 30, 20, 0, tzinfo=UTC),
)
# Takes a name, says so, and serves until it is told to end.
SERVER = """
import sys, signal, time
from dataclasses import replace
from pathlib import Path
from paceline.engines.served import Serving
from tests.engines.test_served import SERVED
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
with Serving.claim(SERVED, home=Path(sys.argv[1])) as serving:
    serving.update(state="ready")
    print(serving.served.name, flush=True)
    time.sleep(600)
"""


@contextmanager
def server(home: Path) -> Iterator["subprocess.Popen[str]"]:
    process = subprocess.Popen(
        [sys.executable, "-c", SERVER, str(home)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).resolve().parents[2],
    )
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "gemma\n"
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_a_name_is_held_and_let_go(tmp_path: Path) -> None:
    with Serving.claim(SERVED, home=tmp_path) as serving:
        (entry,) = servers(tmp_path)
        assert (entry.alive, entry.state) == (True, "starting")
        assert entry.served.pid == os.getpid()
        assert entry.served == serving.served
        serving.update(state="ready", restarts=2)
        assert (servers(tmp_path)[0].state, servers(tmp_path)[0].served.restarts) == ("ready", 2)
    assert servers(tmp_path) == []
    serving.release()


def test_two_of_one_name(tmp_path: Path) -> None:
    with Serving.claim(SERVED, home=tmp_path) as first, Serving.claim(SERVED, home=tmp_path) as second:
        assert [first.served.name, second.served.name] == ["gemma", "gemma-2"]
        assert first.log != second.log
        assert [one.served.name for one in servers(tmp_path)] == ["gemma", "gemma-2"]
    with Serving.claim(SERVED, home=tmp_path) as again:
        assert again.served.name == "gemma"


def test_one_that_gave_up_is_kept_to_be_seen(tmp_path: Path) -> None:
    with Serving.claim(SERVED, home=tmp_path) as serving:
        serving.update(state="gave up")
    (entry,) = servers(tmp_path)
    assert (entry.alive, entry.state) == (False, "gave up")
    assert forget("gemma", home=tmp_path)
    assert servers(tmp_path) == []


def test_one_that_was_killed_has_ended(tmp_path: Path) -> None:
    with server(tmp_path) as process:
        assert [(one.alive, one.state) for one in servers(tmp_path)] == [(True, "ready")]
        assert not forget("gemma", home=tmp_path)
        process.kill()
        process.wait()
        assert [(one.alive, one.state) for one in servers(tmp_path)] == [(False, "ended")]
        assert forget("gemma", home=tmp_path)


def test_stopping_ends_the_process(tmp_path: Path) -> None:
    with server(tmp_path) as process:
        served = find_server("gemma", home=tmp_path).served
        assert stop_server(served, wait_s=30, home=tmp_path)
        assert process.wait(30) == 0
        assert servers(tmp_path) == []
        # Once more: it is gone, and nobody is signalled.
        assert stop_server(served, wait_s=30, home=tmp_path)


def test_stopping_without_handles_on_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(_: int) -> int:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(os, "pidfd_open", none)
    with server(tmp_path) as process:
        assert stop_server(find_server("gemma", home=tmp_path).served, wait_s=30, home=tmp_path)
        assert process.wait(30) == 0


def test_a_process_that_is_not_the_one_is_never_signalled(tmp_path: Path) -> None:
    """The lock is held, and the id is that of another process: of another container, or used again."""
    with subprocess.Popen(["sleep", "600"]) as stranger:
        try:
            with Serving.claim(SERVED, home=tmp_path) as serving:
                for pid in (stranger.pid, 2**22 + 1):
                    other = replace(serving.served, pid=pid)
                    with pytest.raises(ConfigError, match="another container"):
                        stop_server(other, wait_s=1, home=tmp_path)
            # Nobody holds the lock: it has ended, whoever has its id now.
            assert stop_server(replace(SERVED, pid=stranger.pid), wait_s=1, home=tmp_path)
            assert stranger.poll() is None
        finally:
            stranger.kill()


def test_an_unknown_name_has_the_closest(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        find_server("gema", home=tmp_path)
    assert caught.value.hint == "nothing is being served"
    with Serving.claim(SERVED, home=tmp_path):
        with pytest.raises(ConfigError) as caught:
            find_server("gema", home=tmp_path)
        assert caught.value.hint == "did you mean gemma?"


def test_what_is_no_server_is_left_alone(tmp_path: Path) -> None:
    folder = served_folder(tmp_path)
    folder.mkdir()
    other = {**document(SERVED), "name": "other"}
    for name, text in (
        ("cut", '{"schema": "paceline.served/1"'),
        ("list", "[]"),
        ("wrong", json.dumps(other)),
        # To signal these would end a group of processes, or all.
        ("group", json.dumps({**other, "name": "group", "pid": 0})),
        ("all", json.dumps({**other, "name": "all", "pid": -1})),
        ("beyond", json.dumps({**other, "name": "beyond", "pid": 2**31})),
        ("deep", "[" * 100_000),
        ("long", json.dumps({**other, "name": "long", "model": "a" * 2_000_000})),
    ):
        (folder / f"{name}.json").write_text(text)
    (folder / "folder.json").mkdir()
    os.mkfifo(folder / "pipe.json")
    (folder / "loop.json").symlink_to("loop.json")
    (folder / "endless.json").symlink_to("/dev/zero")
    assert servers(tmp_path) == []
    assert len(list(folder.glob("*.json"))) == 12


@pytest.mark.parametrize(
    ("wanted", "name"),
    [("org/Model 7B", "org-Model-7B"), ("../../x", "x"), ("...", "model"), ("a" * 300, "a" * 80)],
)
def test_a_name_is_one_for_a_file(wanted: str, name: str) -> None:
    assert server_name(wanted) == name


def test_when_a_process_started() -> None:
    own = started_ticks(os.getpid())
    assert own is not None
    assert own == started_ticks(os.getpid())
    assert started_ticks(2**22 + 1) is None

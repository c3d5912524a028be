"""The command: what it says, how it ends, and what it refuses."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from paceline.cli.main import run

WAIT_S = 60.0


@contextmanager
def dashboard(
    home: Path, *options: str, **env: str
) -> Iterator[tuple[dict[str, str], "subprocess.Popen[str]"]]:
    """A dashboard of its own process, and the line that it prints."""
    process = subprocess.Popen(
        [sys.executable, "-m", "paceline", "dashboard", "--port", "0", "--json", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PACELINE_HOME": str(home), "PACELINE_CONFIG": str(home / "none.toml"), **env},
    )
    try:
        assert process.stdout is not None
        first = process.stdout.readline()
        assert first, process.communicate()[1]
        yield json.loads(first), process
    finally:
        process.kill()
        process.communicate()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "none.toml").write_text("")
    return tmp_path


def test_ctrl_c_ends_it_also_while_somebody_watches(home: Path) -> None:
    with dashboard(home) as (told, process):
        assert told["schema"] == "paceline.dashboard/1"
        with httpx.stream("GET", f"{told['url']}live/events", timeout=WAIT_S) as answer:
            assert next(answer.iter_lines()).startswith("event:")
            process.send_signal(signal.SIGINT)
            said = process.communicate(timeout=WAIT_S)[1]
        assert process.returncode == 0
        assert "Traceback" not in said
        assert f"{told['url']}#token={told['token']}" in said


def test_a_token_of_ones_own_is_written_as_addresses_have_it(home: Path) -> None:
    token = "50%-&-#-of-all-that-is-said"
    with dashboard(home, "--token-env", "MY_TOKEN", MY_TOKEN=token) as (told, process):
        process.send_signal(signal.SIGTERM)
        said = process.communicate(timeout=WAIT_S)[1]
    assert told["token"] == token
    assert f"{told['url']}#token=50%25-%26-%23-of-all-that-is-said" in said


def test_sigterm_ends_it_too(home: Path) -> None:
    with dashboard(home) as (told, process):
        assert httpx.get(f"{told['url']}healthz", timeout=WAIT_S).text == "ok\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(WAIT_S) == 0


def test_where_others_reach_it_it_says_so_and_asks_for_the_token(home: Path) -> None:
    token = "x" * 30
    with dashboard(home, "--host", "0.0.0.0", "--token-env", "MY_TOKEN", MY_TOKEN=token) as (told, process):
        assert httpx.get(told["url"], timeout=WAIT_S).status_code == 401
        headers = {"authorization": f"Bearer {token}"}
        assert httpx.get(told["url"], headers=headers, timeout=WAIT_S).status_code == 200
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=WAIT_S)[1]
    assert "Other machines reach it, unencrypted" in said
    assert told["token"] == token


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--prices", "nope.toml"], "--prices: there is no file nope.toml"),
        (["--token-env", "NO_SUCH_VARIABLE"], "NO_SUCH_VARIABLE is not set or empty"),
        (["--token-env", "SHORT"], "at least 20"),
        (["--gateway", "ftp://x"], "--gateway"),
    ],
)
def test_what_cannot_be_is_refused_with_what_to_do(
    home: Path,
    options: list[str],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("PACELINE_HOME", str(home))
    monkeypatch.setenv("PACELINE_CONFIG", str(home / "none.toml"))
    monkeypatch.setenv("SHORT", "secret-word")
    assert run(["dashboard", "--port", "0", *options]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert said in told.err
    assert "hint: " in told.err
    assert "secret-word" not in told.err


def test_a_port_that_is_taken_is_said(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PACELINE_HOME", str(home))
    monkeypatch.setenv("PACELINE_CONFIG", str(home / "none.toml"))
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert run(["dashboard", "--port", str(taken.getsockname()[1])]) == 2
    said = capsys.readouterr().err
    assert "in use" in said
    assert "hint: another server has that port" in said

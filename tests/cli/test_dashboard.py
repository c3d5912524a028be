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


def refused(home: Path, *options: str, **env: str) -> str:
    found = subprocess.run(
        [sys.executable, "-m", "paceline", "dashboard", *options],
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=False,
        env={**os.environ, "PACELINE_HOME": str(home), "PACELINE_CONFIG": str(home / "none.toml"), **env},
    )
    assert found.returncode == 2, found.stderr
    assert found.stdout == ""
    return found.stderr


def test_what_cannot_be_is_refused_with_what_to_do(home: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        said = refused(home, "--port", str(taken.getsockname()[1]))
    assert "in use" in said
    assert "hint: another server has that port" in said
    assert "there is no file" in refused(home, "--prices", str(home / "nope.toml"))
    assert "is not set or empty" in refused(home, "--token-env", "NO_SUCH_VARIABLE")
    assert "at least 20" in refused(home, "--token-env", "SHORT", SHORT="secret-word")
    assert "secret-word" not in refused(home, "--token-env", "SHORT", SHORT="secret-word")
    assert "--gateway" in refused(home, "--gateway", "ftp://x")

"""`paceline gateway` as its user types it: the least config, TLS, keys, a port that is taken."""

import json
import os
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import trustme

from tests.control.samples import LEAST
from tests.e2e.gateway.conftest import Engines

ASK = {"model": "demo", "max_tokens": 4, "messages": [{"role": "user", "content": "Hello."}]}


@contextmanager
def served(folder: Path, *arguments: str) -> Iterator[tuple[dict[str, Any], "subprocess.Popen[str]"]]:
    """A gateway by the config in a folder: what it says on stdout, and its process, which ends orderly."""
    command = [sys.executable, "-m", "paceline", "gateway", "--json", "--listen", "127.0.0.1:0"]
    process = subprocess.Popen(
        [*command, "--admin-listen", "127.0.0.1:0", *arguments],
        cwd=folder,
        env={**os.environ, "PACELINE_HOME": str(folder / "home"), "PACELINE_CONFIG": ""},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        # One line, once clients can come.
        line = process.stdout.readline()
        if not line:
            raise AssertionError(process.communicate()[1])
        yield json.loads(line), process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)


def test_the_least_config_serves(tmp_path: Path, engine: Engines) -> None:
    port = engine().url.rpartition(":")[2].removesuffix("/v1")
    (tmp_path / "paceline.toml").write_text(LEAST.replace("9100", port))
    with served(tmp_path, "--config", "paceline.toml") as (addresses, process):
        answer = httpx.post(f"{addresses['url']}/chat/completions", json=ASK, trust_env=False)
        assert answer.status_code == 200
        assert answer.json()["choices"][0]["message"]["content"]
        models = httpx.get(f"{addresses['url']}/models", trust_env=False).json()["data"]
        assert [model["id"] for model in models] == ["demo"]
        metrics = httpx.get(f"{addresses['admin_url']}/metrics", trust_env=False)
        assert metrics.status_code == 200
    assert process.returncode == 0


def test_https(tmp_path: Path, engine: Engines) -> None:
    authority = trustme.CA()
    issued = authority.issue_cert("127.0.0.1")
    (tmp_path / "chain.pem").write_bytes(issued.cert_chain_pems[0].bytes())
    (tmp_path / "key.pem").write_bytes(issued.private_key_pem.bytes())
    port = engine().url.rpartition(":")[2].removesuffix("/v1")
    tls = f'tls = {{ cert_file = "{tmp_path}/chain.pem", key_file = "{tmp_path}/key.pem" }}\n'
    text = LEAST.replace("9100", port).replace("[gateway]\n", "[gateway]\n" + tls)
    (tmp_path / "paceline.toml").write_text(text)
    trusted = ssl.create_default_context(cadata=authority.cert_pem.bytes().decode())
    with served(tmp_path) as (addresses, _):
        assert addresses["url"].startswith("https://")
        with httpx.Client(verify=trusted, trust_env=False) as client:
            answer = client.post(f"{addresses['url']}/chat/completions", json=ASK)
            assert answer.status_code == 200
            streamed = client.post(f"{addresses['url']}/chat/completions", json=ASK | {"stream": True})
            assert streamed.text.endswith("data: [DONE]\n\n")


def test_a_port_that_is_taken_is_exit_code_2(tmp_path: Path) -> None:
    (tmp_path / "paceline.toml").write_text(LEAST)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        done = subprocess.run(
            [sys.executable, "-m", "paceline", "gateway", "--listen", address],
            cwd=tmp_path,
            env={**os.environ, "PACELINE_HOME": str(tmp_path / "home"), "PACELINE_CONFIG": ""},
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert (
        done.stderr.splitlines()[0] == f"error: cannot listen on {address} (listen): Address already in use"
    )
    assert done.stderr.splitlines()[1].startswith("hint: another gateway or server has that port")


def test_the_secret_of_an_upstream_is_nowhere(
    tmp_path: Path, engine: Engines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCAL_A_KEY", "sk-very-secret-77")
    port = engine().url.rpartition(":")[2].removesuffix("/v1")
    (tmp_path / "paceline.toml").write_text(LEAST.replace("9100", port))
    with served(tmp_path) as (addresses, process):
        assert httpx.post(f"{addresses['url']}/chat/completions", json=ASK, trust_env=False).is_success
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        for pid in children:
            assert b"sk-very-secret-77" not in Path(f"/proc/{pid}/cmdline").read_bytes()
    for file in (tmp_path / "home").rglob("*"):
        assert not file.is_file() or b"sk-very-secret-77" not in file.read_bytes(), file

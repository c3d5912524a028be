"""`paceline serve` from the first word to the last, with a stand-in for the engine and the real gateway."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest

from paceline.engines.engine import Settings
from paceline.engines.profile import Gain, Profile, Sameness, write_profile
from paceline.measure.host import fingerprint
from paceline.weights.read import read_model
from tests.e2e.conftest import Cli, spawn
from tests.e2e.gateway.conftest import Gateways, gateway
from tests.support.gateway import asks
from tests.support.gateway.answers import Answer
from tests.support.gateway.engines import wait_for
from tests.support.gateway.process import config_of, offer
from tests.support.gateway.raw import RawClient
from tests.support.llama_standin import make_llama_server
from tests.support.models import write_gguf
from tests.support.standin import is_free, living, until

__all__ = ["gateway"]
Serve = Callable[..., "Server"]
OTHER = offer("other", "http://127.0.0.1:1/v1", model="other")


class Server:
    """A running `paceline serve` that has printed where it is."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process
        assert process.stdout is not None
        self.url = process.stdout.readline().strip()
        self.command = process.stdout.readline().strip()

    def end(self, number: int = signal.SIGTERM) -> tuple[int, str]:
        """Its exit code, and what it said."""
        self.process.send_signal(number)
        _, said = self.process.communicate(timeout=60)
        return self.process.returncode, said

    @property
    def port(self) -> int:
        return httpx.URL(self.url).port or 0


@contextmanager
def started(*arguments: str) -> Iterator["subprocess.Popen[str]"]:
    process = spawn("serve", *arguments)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.fixture
def binary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    # A command that names a config says so to all that comes after it in its process.
    monkeypatch.setenv("PACELINE_CONFIG", "")
    monkeypatch.setenv("PACELINE_STANDIN_SPEED", '{"metrics=true": 50}')
    return str(make_llama_server(tmp_path))


@pytest.fixture
def model(tmp_path: Path) -> str:
    return str(write_gguf(tmp_path / "small.gguf"))


@pytest.fixture
def serve(model: str, binary: str) -> Iterator[Serve]:
    with ExitStack() as stack:
        yield lambda *more: Server(stack.enter_context(started(model, "--binary", binary, *more)))


def tuned(home: Path, model: str, binary: str, settings: Settings) -> None:
    """A profile of the tier ultra."""
    facts = read_model(Path(model))
    gain = Gain("itl_ms", 4.0, 1.6, 2.5, 2.2, 2.8, rounds=6, requests=48)
    same = Sameness("same", 16, 1, 41.0, "words", ("a", "b"))
    profile = Profile(
        engine="llama.cpp",
        engine_version=None,
        model_name=facts.name,
        model_fingerprint=facts.fingerprint,
        machine=fingerprint(),
        tier="ultra",
        goal="min itl_ms",
        workload="code-edit",
        settings=settings,
        made_at=datetime(2026, 11, 30, tzinfo=UTC),
        gain=gain,
        sameness=same,
    )
    write_profile(profile, home=home)


def served(cli: Cli) -> list[dict[str, object]]:
    done = cli("serve", "list", "--json")
    found: list[dict[str, object]] = json.loads(done.out)["servers"]
    return found


def test_a_tier_is_held_against_standard_served_listed_and_stopped(serve: Serve, cli: Cli) -> None:
    server = serve("--tier", "fast", "--name", "small")
    assert httpx.get(f"{server.url}/models").json()["data"][0]["id"] == "small"
    assert f"--port {server.port}" in server.command
    (entry,) = served(cli)
    assert (entry["name"], entry["state"], entry["tier"]) == ("small-fast", "ready", "fast")
    assert (entry["endpoint"], entry["command"]) == (server.url, server.command)
    assert "small-fast  ready  fast  llama.cpp" in cli("serve", "list").out
    stopped = cli("serve", "stop", "all")
    assert (stopped.code, stopped.out) == (0, "")
    assert "stopped small-fast" in stopped.err
    _, said = server.process.communicate(timeout=60)
    assert server.process.returncode == 0
    assert "greedy answers: the same as standard in 16 of 16" in said
    assert "  --parallel 1" in said
    assert served(cli) == []
    assert is_free(server.port)


def test_a_gateway_takes_the_offer_up_and_keeps_its_limits(  # noqa: PLR0917
    serve: Serve, gateway: Gateways, home: Path, model: str, binary: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tuned(home, model, binary, {"parallel": 1, "metrics": True})
    monkeypatch.setenv("PACELINE_STANDIN_SPEED", "{}")
    running = gateway(config_of(OTHER))
    before = running.file.read_text()
    config = ("--register", "--config", str(running.file), "--price", "1,2", "--queue", "0")
    server = serve("--tier", "ultra", "--name", "demo", *config)
    wait_for("the offer", lambda: 'id = "demo-ultra"' in running.file.read_text() or None)
    running.look()
    body = asks.body("openai-chat", "demo", 5, stream=True, max_tokens=8)

    def ask() -> Answer | None:
        answer = running.ask("openai-chat", body)
        return answer if answer.status == 200 else None

    answer = wait_for("an answer through it", ask)
    assert answer.headers["x-paceline-offer"] == "demo-ultra"
    with RawClient(running.url) as client:
        client.post("openai-chat", {**body, "max_tokens": 4_000})
        client.read_token_events("openai-chat", 1)
        refused = running.ask("openai-chat", body)
        assert (refused.status, refused.code) == (429, "queue_full")
    code, talk = server.end()
    said = " ".join(talk.split())
    assert code == 0
    assert "2.50 times as good" in said
    assert "differ from standard in 1 of 16 prompts, first after 41 words" in said
    assert running.file.read_text() == before


def test_what_was_killed_is_seen_once_and_cleaned_up(serve: Serve, cli: Cli, tmp_path: Path) -> None:
    config = tmp_path / "paceline.toml"
    config.write_text(
        '[gateway]\nrequire_key = false\n\n[[offer]]\nid = "a"\nmodel = "a"\nbase_url = "http://a/v1"\n'
    )
    before = config.read_text()
    server = serve("--register", "--config", str(config))
    wait_for("the offer", lambda: "paceline serve small" in config.read_text() or None)
    server.end(signal.SIGKILL)
    # The engine does not outlive it.
    until(lambda: is_free(server.port), "the engine is still there")
    assert [one["state"] for one in served(cli)] == ["ended"]
    assert served(cli) == []
    assert config.read_text() == before


def test_an_engine_that_cannot_start_is_given_up(model: str, binary: str, cli: Cli, tmp_path: Path) -> None:
    broken = tmp_path / "broken" / "llama-server"
    broken.parent.mkdir()
    broken.write_text(
        f'#!/bin/sh\ncase "$1" in --version|--help) exec "{binary}" "$@";; esac\necho no luck today\nexit 3\n'
    )
    broken.chmod(0o755)
    with started(model, "--binary", str(broken), "--no-check", "--log", str(tmp_path / "e.log")) as process:
        out, said = process.communicate(timeout=60)
    assert (process.returncode, out) == (1, "")
    assert "no luck today" in said
    assert "no luck today" in (tmp_path / "e.log").read_text()
    assert [one["state"] for one in served(cli)] == ["gave up"]
    assert served(cli) == []


def test_one_that_dies_is_started_again_under_the_same_address(serve: Serve, cli: Cli) -> None:
    server = serve()
    (entry,) = served(cli)
    tree = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(entry["pid"])], capture_output=True, text=True, check=True
    )
    children = [int(pid) for pid in tree.stdout.split()]
    engines = [
        int(name)
        for guardian in children
        for name in Path(f"/proc/{guardian}/task/{guardian}/children").read_text().split()
    ]
    assert len(living(engines)) == 1
    os.kill(engines[0], signal.SIGKILL)
    until(lambda: [one["restarts"] for one in served(cli)] == [1], "it was not started again")
    until(lambda: [one["state"] for one in served(cli)] == ["ready"], "it does not come up again")
    assert httpx.get(f"{server.url}/models").status_code == 200
    assert server.end(signal.SIGINT)[0] == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("nowhere.gguf",), "nowhere.gguf"),
        (("{cut}",), "cut"),
        (("{model}", "--set", "=1"), "there is no option"),
        (("{model}", "--set", "ctx-sice=1"), "ctx-size"),
        (("{model}", "--set", "port=1"), "--port"),
        (("{model}", "--tier", "fastest"), "did you mean fast?"),
        (("{model}", "--engine", "lama.cpp"), "did you mean llama.cpp?"),
        (("{model}", "--tier", "ultra"), "paceline tune"),
        (("{model}", "--profile", "none.json"), "there is no profile"),
        (("{model}", "--profile", "p.json", "--no-profile"), "exclude each other"),
        (("{model}", "--port", "{taken}"), "{taken}"),
        (("{model}", "--queue", "1"), "add --register"),
        (("{model}", "--register", "--config", "{wrong}"), "teir"),
        (("{model}", "--register", "--config", "{new}", "--price", "cheap"), "is no price"),
        (("{model}", "--register", "--config", "{new}", "--session", "soon"), "session"),
        (("{model}", "--register", "--config", "{new}", "--name", "no id"), "it is no id"),
        (("{model}", "--draft-model", "{cut}"), "cut"),
        (("{model}", "--binary", sys.executable), "is not a llama.cpp server"),
        (("{model}", "--log", "{cut}/engine.log"), "engine.log"),
        (("stop", "gema"), "nothing is being served"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_started(
    arguments: tuple[str, ...],
    words: str,
    *,
    cli: Cli,
    model: str,
    binary: str,
    tmp_path: Path,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    cut, wrong = tmp_path / "cut.gguf", tmp_path / "wrong.toml"
    cut.write_bytes(Path(model).read_bytes()[:5_000])
    wrong.write_text("teir = 1\n")
    with taken_port() as taken:
        places = {"cut": cut, "wrong": wrong, "model": model, "taken": taken, "new": tmp_path / "new.toml"}
        given = [one.format_map({key: str(value) for key, value in places.items()}) for one in arguments]
        if arguments[0] != "stop" and "--binary" not in given:
            given += ["--binary", binary]
        done = cli("serve", *given)
    assert done.code == 2
    assert done.out == ""
    assert words.format_map({"taken": str(taken)}) in done.err
    assert wrong.read_text() == "teir = 1\n"
    assert not (tmp_path / "new.toml").exists()
    assert list(home.glob("served/*.json")) == []


@contextmanager
def taken_port() -> Iterator[int]:
    """A port that another has."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen(1)
        yield other.getsockname()[1]


def test_a_dry_run_prints_the_command_and_starts_nothing(
    cli: Cli, model: str, binary: str, home: Path
) -> None:
    done = cli("serve", model, "--binary", binary, "--port", "0", "--dry-run", "--set", "threads=1")
    assert done.code == 0
    assert done.out.startswith(f"{binary} --model {model} --alias small")
    assert "--threads 1" in done.out
    assert "you set it" in done.err
    assert max(map(len, done.err.splitlines())) <= max(80, len(model) + 40)
    assert not (home / "served").exists()

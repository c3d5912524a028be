"""Ends that were not meant, and ends that were: nothing that a client got is missing from the ledger."""

import contextlib
import os
import signal
import socket
import threading
from collections import Counter
from pathlib import Path

import httpx

from tests.e2e.gateway.conftest import Engines, Gateways
from tests.e2e.gateway.test_reload import traffic
from tests.support.gateway import asks
from tests.support.gateway.answers import Answer
from tests.support.gateway.engines import wait_for
from tests.support.gateway.process import config_of, offer


def free_address() -> str:
    """An address that a gateway can have again after it was killed."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{probe.getsockname()[1]}"


def is_gone(pid: int) -> bool | None:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return True
    return state == "Z" or None


def test_a_killed_data_plane_comes_back_and_its_ledger_is_whole(engine: Engines, gateway: Gateways) -> None:
    upstream = engine({"ttft_us": 500, "itl_us": 100})
    served = gateway(config_of(offer("a", upstream.url), listen=free_address()))
    for kill in range(3):
        with traffic(served, clients=12) as running:
            wait_for("some traffic", lambda: len(running.answers) > 150 or None)
            pid = served.data_plane_pid
            os.kill(pid, signal.SIGKILL)
            wait_for("another data plane", lambda: _other(served.pid, pid))  # noqa: B023
            wait_for("a gateway that is ready again", lambda: _ready(served.url))
            seen = sum(answer.is_whole(6) for answer in running.answers)
            wait_for(
                "answers after it",
                lambda: sum(answer.is_whole(6) for answer in running.answers) > seen + 50 or None,  # noqa: B023
            )
        got = {answer.headers["x-generation-id"] for answer in running.answers if answer.is_whole(6)}
        ledger = Counter(entry["id"] for entry in served.entries(len(got)))
        assert set(ledger.values()) == {1}
        assert got <= set(ledger), f"kill {kill}"


def _other(control: int, before: int) -> int | None:
    children = Path(f"/proc/{control}/task/{control}/children").read_text().split()
    return next((int(child) for child in children if int(child) != before), None)


def _ready(url: str) -> bool | None:
    with contextlib.suppress(httpx.TransportError):
        return httpx.get(f"{url}/readyz", trust_env=False).status_code == 200 or None
    return None


def test_no_data_plane_outlives_its_control_process(engine: Engines, gateway: Gateways) -> None:
    served = gateway(config_of(offer("a", engine().url)))
    child = served.data_plane_pid
    os.kill(served.pid, signal.SIGKILL)
    served.wait()
    wait_for("the end of the data plane", lambda: is_gone(child))


def test_a_gateway_that_is_told_to_end_lets_answers_end(engine: Engines, gateway: Gateways) -> None:
    stalls = [{"after_tokens": 3, "stall_us": 800_000}]
    upstream = engine({"stalls": stalls})
    served = gateway(config_of(offer("a", upstream.url)))
    answers: list[Answer] = []
    asked = asks.body("openai-chat", "demo", 20, stream=True)
    threads = [
        threading.Thread(target=lambda: answers.append(served.ask("openai-chat", asked))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    wait_for("answers that have begun", lambda: upstream.stats()["events"] >= 12 or None)
    served.signal(signal.SIGTERM)
    wait_for("a gateway that takes nothing new", lambda: _turned_away(served.url))
    for thread in threads:
        thread.join()
    assert [answer.is_whole(6) and answer.is_done for answer in answers] == [True] * 4
    assert served.wait() == 0
    made = Counter(answer.headers["x-generation-id"] for answer in answers)
    assert Counter(entry["id"] for entry in served.ledger()) == made


def _turned_away(url: str) -> bool | None:
    try:
        return httpx.get(f"{url}/readyz", trust_env=False).status_code == 503 or None
    except httpx.TransportError:
        return True


def test_a_drain_has_an_end(engine: Engines, gateway: Gateways) -> None:
    upstream = engine({"stalls": [{"after_tokens": 2, "stall_us": 3_600_000_000}]})
    served = gateway(config_of(offer("a", upstream.url), drain="200ms"))
    answers: list[Answer] = []
    asked = asks.body("openai-chat", "demo", 20, stream=True)
    thread = threading.Thread(target=lambda: answers.append(served.ask("openai-chat", asked)))
    thread.start()
    wait_for("an answer that has begun", lambda: upstream.stats()["events"] >= 2 or None)
    served.signal(signal.SIGTERM)
    thread.join()
    served.wait()
    (answer,) = answers
    assert not answer.is_done
    assert answer.errors or answer.broken
    assert [one["end"] for one in upstream.truth_of(20)] == ["client_gone"]
    (entry,) = served.ledger()
    assert entry["outcome"] in ("error_in_stream", "client_gone")
    assert entry["attempts"][0]["usage"]["completion_tokens"] == 2

"""What a refusal teaches, and that the lessons end."""

from typing import Any

import pytest

from paceline.endpoints.client import Client
from paceline.endpoints.target import Target
from paceline.endpoints.tiny import Tiny
from paceline.protocols import PROTOCOLS, Dialect, Protocol
from tests.support.fake_server import FakeServer, error, serving
from tests.support.five_protocols import Speaker


def ask(server: FakeServer, **parts: Any) -> Tiny:
    given: dict[str, Any] = {"protocol": "openai-chat", "model": "tiny", "streaming": True} | parts
    tiny = Tiny(**given)
    with serving(server):
        target = Target.parse(server.url)
        with Client(target, 10) as client:
            tiny.ask(client, target)
    return tiny


def test_all_lessons_at_once() -> None:
    speaker = Speaker(refuses=("stream_options", "ignore_eos"))

    def strict(path: str, body: dict[str, Any]) -> Any:
        if "max_tokens" in body:
            return error(400, "Use 'max_completion_tokens' instead.")
        if body["max_completion_tokens"] < 16:
            return error(400, "max_completion_tokens: expected a value >= 16")
        return speaker(path, body)

    server = FakeServer(on_request=strict)
    tiny = ask(server, exact_output=True, dialect=Dialect(exact_output="ignore_eos"))
    assert tiny.dialect == Dialect(False, "max_completion_tokens", "min_tokens")
    assert tiny.limit == 16
    assert len(server.bodies) == 5
    assert server.bodies[-1]["min_tokens"] == 16


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("extra", [{}, {"stream_options": {"include_usage": True}, "ignore_eos": True}])
def test_a_server_that_blames_everything_ends_the_questions(
    protocol: Protocol, extra: dict[str, Any]
) -> None:
    blame = "stream_options include_usage ignore_eos min_tokens max_completion_tokens must be at least 16"
    server = FakeServer(on_request=lambda *_: error(400, blame))
    dialect = Dialect(exact_output="ignore_eos")
    ask(server, protocol=protocol, exact_output=True, extra=extra, dialect=dialect)
    assert 1 <= len(server.bodies) <= 6


@pytest.mark.parametrize("status", [401, 403, 429, 500])
def test_other_refusals_teach_nothing(status: int) -> None:
    server = FakeServer(on_request=lambda *_: error(status, "stream_options"))
    assert ask(server).dialect == Dialect()
    assert len(server.bodies) == 1


@pytest.mark.parametrize("said", ["max_tokens " * 90_000, "max" * 300_000, "max_tokens" + "_" * 900_000])
def test_a_long_refusal_teaches_nothing_and_takes_no_time(said: str) -> None:
    """Quadratic reading would take hours."""
    server = FakeServer(on_request=lambda path, body: error(400, said))
    assert ask(server).limit == 1
    assert len(server.bodies) == 1

"""What passes between client and upstream, and what must not. The upstream notes all that it is sent."""

import json
from collections.abc import Iterator

import pytest

from tests.e2e.gateway.conftest import Gateways
from tests.support.fake_server import Answer, FakeServer, error, good, serving
from tests.support.gateway import asks
from tests.support.gateway.process import Gateway, config_of, offer

CLIENTS = "sk-client-0123456789abcdef"
UPSTREAMS = "sk-upstream-fedcba9876543210"
PROMPT = "a confidential question"


@pytest.fixture
def upstream() -> Iterator[FakeServer]:
    extra = {"x-secret": "s", "set-cookie": "a=b", "openai-organization": "org-1", "x-ratelimit-limit": "9"}
    with serving(FakeServer(extra_headers=extra)) as server:
        yield server


@pytest.fixture
def served(gateway: Gateways, upstream: FakeServer) -> Gateway:
    one = offer("a", f"{upstream.url}/v1", api_key_env="UPSTREAM_KEY", headers={"x-own": "yes"})
    return gateway(config_of(one), {"UPSTREAM_KEY": UPSTREAMS})


def question(stream: bool) -> dict[str, object]:
    asked = asks.body("openai-chat", "demo", 1, stream)
    asked["messages"] = [{"role": "user", "content": PROMPT}]
    return asked


@pytest.mark.parametrize("stream", [True, False])
def test_nothing_of_the_clients_authorisation_goes_upstream(
    upstream: FakeServer, served: Gateway, stream: bool
) -> None:
    headers = {
        "authorization": f"Bearer {CLIENTS}", "x-api-key": CLIENTS, "cookie": f"session={CLIENTS}",
        "x-forwarded-for": "10.1.2.3", "proxy-authorization": f"Basic {CLIENTS}", "x-title": "App",
        "http-referer": "https://app.example",
    }  # fmt: skip
    answer = served.ask("openai-chat", question(stream), headers=headers)
    assert answer.status == 200
    (seen,) = upstream.seen
    assert CLIENTS not in json.dumps(seen.headers)
    assert seen.headers["authorization"] == f"Bearer {UPSTREAMS}"
    assert seen.headers["x-own"] == "yes"
    for name in ("cookie", "x-forwarded-for", "proxy-authorization", "http-referer", "x-title"):
        assert name not in seen.headers
    assert seen.headers["host"] == upstream.url.removeprefix("http://")


@pytest.mark.parametrize("stream", [True, False])
def test_nothing_of_the_upstreams_headers_comes_back(
    upstream: FakeServer, served: Gateway, stream: bool
) -> None:
    answer = served.ask("openai-chat", question(stream))
    assert answer.status == 200
    assert not set(upstream.extra_headers) & set(answer.headers)
    assert "python" not in str(answer.headers).lower()
    assert UPSTREAMS not in str(answer.headers)


@pytest.mark.parametrize("status", [400, 422, 500])
def test_a_key_in_an_upstreams_error_is_masked(upstream: FakeServer, served: Gateway, status: int) -> None:
    upstream.on_post = lambda _: error(status, f"bad key {UPSTREAMS}, or sk-ant-api03-abcdefghijkl")
    answer = served.ask("openai-chat", question(stream=False))
    assert answer.status == (502 if status == 500 else status)
    assert answer.errors
    for text in (answer.raw.decode(), json.dumps(served.ledger()), served.log.read_text()):
        assert UPSTREAMS not in text
        assert "abcdefghijkl" not in text


def test_fields_that_are_not_known_pass_as_they_were_written(upstream: FakeServer, served: Gateway) -> None:
    asked = question(stream=False) | {
        "future": {"deep": [1, 2.50, "ü\u2028", None]}, "temperature": 0.70, "seed": 12345678901234567890,
        "provider": {"order": ["a"]}, "models": ["demo"],
    }  # fmt: skip
    assert served.ask("openai-chat", asked).status == 200
    (body,) = upstream.bodies
    expected = {**asked, "model": "truth"}
    del expected["provider"], expected["models"]
    assert body == expected


def test_usage_is_asked_for_in_every_stream(upstream: FakeServer, served: Gateway) -> None:
    asked = question(stream=True)
    del asked["stream_options"]
    assert served.ask("openai-chat", asked).status == 200
    (body,) = upstream.bodies
    assert body["stream_options"] == {"include_usage": True}


def test_headers_of_the_protocol_go_upstream(gateway: Gateways, upstream: FakeServer) -> None:
    answer = {
        "id": "m", "type": "message", "role": "assistant", "model": "truth", "stop_reason": "end_turn",
        "content": [{"type": "text", "text": "Hi"}], "usage": {"input_tokens": 1, "output_tokens": 1},
    }  # fmt: skip
    upstream.on_request = lambda *_: Answer(body=json.dumps(answer).encode())
    one = offer("a", f"{upstream.url}/v1", api_key_env="UPSTREAM_KEY", protocol="anthropic-messages")
    served = gateway(config_of(one), {"UPSTREAM_KEY": UPSTREAMS})
    sent = {"anthropic-version": "2023-06-01", "anthropic-beta": "tools-2024", "x-api-key": CLIENTS}
    asked = asks.body("anthropic-messages", "demo", 3)
    assert served.ask("anthropic-messages", asked, headers=sent).status == 200
    (seen,) = upstream.seen
    assert seen.headers["anthropic-version"] == "2023-06-01"
    assert seen.headers["anthropic-beta"] == "tools-2024"
    assert seen.headers["x-api-key"] == UPSTREAMS
    assert CLIENTS not in json.dumps(seen.headers)


def test_prompts_and_answers_are_not_kept(upstream: FakeServer, served: Gateway) -> None:
    def secretive(body: dict[str, object]) -> Answer:
        answer = good(body)
        answer.body = answer.body.replace(b"Hi", b"a confidential answer")
        return answer

    upstream.on_post = secretive
    for stream in (True, False):
        assert b"a confidential answer" in served.ask("openai-chat", question(stream)).raw
    served.entries(2)
    served.stop()
    kept = [path for path in served.home.rglob("*") if path.is_file() and path != served.file]
    assert any(path.suffix == ".jsonl" for path in kept)
    for path in kept:
        assert b"confidential" not in path.read_bytes(), path
        assert UPSTREAMS.encode() not in path.read_bytes(), path


def test_text_is_kept_where_the_config_says_so(gateway: Gateways, upstream: FakeServer) -> None:
    served = gateway(config_of(offer("a", f"{upstream.url}/v1"), keep_text=True))
    assert served.ask("openai-chat", question(stream=True)).status == 200
    assert served.entry()["attempts"][0]["row"]["text"] == "Hi"

"""What cannot be served is refused in the client's own protocol, by a stable code, and goes nowhere."""

from typing import Any

import httpx
import pytest

from paceline.protocols import Protocol
from tests.e2e.gateway.conftest import Engines, Gateways
from tests.support.gateway import asks
from tests.support.gateway.answers import Answer
from tests.support.gateway.engines import Engine
from tests.support.gateway.process import Gateway, config_of, offer

PROMPT = 20
PROTOCOLS: list[Protocol] = [*asks.STREAMING, "openai-embeddings"]


@pytest.fixture(scope="module")
def upstream(module_engine: Engines) -> Engine:
    return module_engine()


@pytest.fixture(scope="module")
def served(upstream: Engine, module_gateway: Gateways) -> Gateway:
    price = {"input_usd_per_mtok": 3.0, "output_usd_per_mtok": 5.0}
    offers = [
        offer("a", upstream.url, price=price, parameters=["max_tokens"], context_tokens=5_000),
        offer("b", upstream.url, price=price, tier="flex", parameters=["max_tokens"], context_tokens=5_000),
    ]
    return module_gateway(config_of(*offers, clients={"body_bytes": 100_000, "head_bytes": 8_192}))


def post(
    served: Gateway, protocol: Protocol, content: bytes, headers: dict[str, str] | None = None
) -> Answer:
    with served.client() as client:
        response = client.post(asks.path(protocol), content=content, headers=headers)
    return Answer(protocol, False, response.status_code, response.headers, response.content)


def assert_refused(answer: Answer, status: int, code: str) -> dict[str, Any]:
    assert (answer.status, answer.code) == (status, code), answer.raw
    (error,) = answer.errors
    assert isinstance(error["message"], str)
    assert error["type"]
    assert ("type" in answer.documents[0]) == (answer.protocol == "anthropic-messages")
    return error


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_json_that_is_broken(served: Gateway, protocol: Protocol) -> None:
    error = assert_refused(post(served, protocol, b'{"model": "demo",\n "x" 5}'), 400, "invalid_json")
    assert "line 2" in error["message"]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_who_sends_what_cannot_be_read_is_named_in_the_ledger(served: Gateway, protocol: Protocol) -> None:
    headers = {"x-title": f"clumsy {protocol}", "http-referer": "https://app.example"}
    answer = post(served, protocol, b"{", headers)
    entry = served.entry(app_title=f"clumsy {protocol}")
    assert entry["id"] == answer.headers["x-generation-id"]
    assert (entry["app_referer"], entry["outcome"], entry["code"]) == (
        "https://app.example", "refused", "invalid_json",
    )  # fmt: skip


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_model_that_there_is_not(served: Gateway, protocol: Protocol) -> None:
    error = assert_refused(served.ask(protocol, asks.body(protocol, "demmo", PROMPT)), 404, "unknown_model")
    assert '"demo"' in error["message"]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_body_that_is_too_large(served: Gateway, protocol: Protocol) -> None:
    body = asks.body(protocol, "demo", 30_000)
    assert_refused(served.ask(protocol, body), 413, "body_too_large")


def test_a_head_that_is_too_large(served: Gateway) -> None:
    answer = post(served, "openai-chat", b"{}", {"x-large": "x" * 10_000})
    assert_refused(answer, 431, "head_too_large")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_preference_that_there_is_not(served: Gateway, protocol: Protocol) -> None:
    body = asks.body(protocol, "demo", PROMPT, provider={"sorrt": "price"})
    error = assert_refused(served.ask(protocol, body), 400, "invalid_request")
    assert "sorrt" in error["message"]


def test_a_parameter_that_no_offer_supports(served: Gateway) -> None:
    tools = [{"type": "function", "function": {"name": "f", "parameters": {}}}]
    body = asks.body("openai-chat", "demo", PROMPT, tools=tools, provider={"require_parameters": True})
    error = assert_refused(served.ask("openai-chat", body), 404, "unsupported_parameters")
    assert "tools" in error["message"]


@pytest.mark.parametrize(
    ("provider", "code"),
    [
        ({"only": ["nobody"]}, "no_allowed_provider"),
        ({"ignore": ["a", "b"]}, "no_allowed_provider"),
        ({"only": ["a"], "max_price": {"completion": 1.0}}, "no_offer"),
        ({"max_price": {"completion": 1.0}}, "max_price_too_low"),
        ({"max_price": {"prompt": 0.1}}, "max_price_too_low"),
    ],
)
def test_constraints_that_no_offer_meets(served: Gateway, provider: dict[str, Any], code: str) -> None:
    answer = served.ask("openai-chat", asks.body("openai-chat", "demo", PROMPT, provider=provider))
    assert (answer.status, answer.code) == (404, code)
    considered = answer.errors[0]["metadata"]["considered"]
    assert {one["offer"] for one in considered} == {"a", "b"}
    assert all(one["why"] for one in considered)


def test_a_prompt_that_is_too_long_for_every_offer(served: Gateway) -> None:
    body = asks.body("openai-chat", "demo", 10, max_tokens=6_000)
    assert_refused(served.ask("openai-chat", body), 400, "context_length_exceeded")


def test_paths_and_methods(served: Gateway) -> None:
    missing = httpx.post(f"{served.url}/v1/chat/completion", json={}, trust_env=False)
    assert (missing.status_code, missing.json()["error"]["code"]) == (404, "unknown_path")
    wrong = served.get("/v1/chat/completions")
    assert (wrong.status_code, wrong.json()["error"]["code"]) == (405, "method_not_allowed")


def test_nothing_of_all_this_was_asked_upstream(served: Gateway, upstream: Engine) -> None:
    assert upstream.truth() == []
    body = asks.body("openai-chat", "demo", PROMPT)
    assert served.ask("openai-chat", body).is_whole(6)

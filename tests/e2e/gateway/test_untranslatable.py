"""Whole answers that have no words in the client's protocol."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from paceline.protocols import Protocol
from tests.e2e.gateway.conftest import Engines, Gateways
from tests.support.fake_server import Answer, FakeServer, serving
from tests.support.gateway import asks
from tests.support.gateway.process import config_of, offer

CHAT: Protocol = "openai-chat"
MESSAGES: Protocol = "anthropic-messages"

# From a messages upstream: a call without a name. From a chat upstream: no message; a call without a name.
_BLOCK = {"type": "tool_use", "id": "t", "input": {}}
_CALL = {"id": "t", "type": "function", "function": {"arguments": "{}"}}
_SAID = {"content": "Hi", "tool_calls": [_CALL]}
CASES: dict[str, tuple[Protocol, dict[str, Any], str]] = {
    "nameless-block": (
        MESSAGES,
        {
            "id": "m",
            "type": "message",
            "role": "assistant",
            "model": "truth",
            "content": [{"type": "text", "text": "Hi"}, _BLOCK],
            "stop_reason": "tool_use",
            "usage": {"input_tokens": 9, "output_tokens": 3},
        },
        "content[1].name: this is missing",
    ),
    "nameless-call": (
        CHAT,
        {
            "choices": [{"message": _SAID, "finish_reason": "tool_calls"}],
            "usage": {"prompt_tokens": 9, "completion_tokens": 3},
        },
        "choices[0].message.tool_calls[0].function.name",
    ),
}


def _says(document: dict[str, Any]) -> Callable[[str, dict[str, Any]], Answer]:
    return lambda path, body: Answer(body=json.dumps(document).encode())


@pytest.mark.parametrize("case", CASES)
def test_who_asked_is_told_what_could_not_be_said(gateway: Gateways, case: str) -> None:
    upstream, document, why = CASES[case]
    client = CHAT if upstream == MESSAGES else MESSAGES
    with serving(FakeServer(on_request=_says(document))) as server:
        gate = gateway(config_of(offer("bad", f"{server.url}/v1", protocol=upstream)))
        answer = gate.ask(client, asks.body(client, "demo", 9, stream=False))
    assert (answer.status, answer.code) == (502, "upstream_failed")
    assert why in answer.errors[0]["message"]
    entry = gate.entry(id=answer.headers["x-generation-id"])
    assert entry["outcome"] == "failed"
    (attempt,) = entry["attempts"]
    assert (attempt["served"], attempt["row"]["outcome"]) == (False, "malformed")
    assert why in attempt["row"]["error"]
    # The upstream has made it, and will charge for it.
    assert (attempt["usage"]["prompt_tokens"], attempt["usage"]["completion_tokens"]) == (9, 3)
    assert entry["cost_usd"] == pytest.approx((9 * 1.0 + 3 * 2.0) / 1e6)


@pytest.mark.parametrize("case", CASES)
def test_another_offer_is_asked(gateway: Gateways, engine: Engines, case: str) -> None:
    upstream, document, _ = CASES[case]
    client = CHAT if upstream == MESSAGES else MESSAGES
    with serving(FakeServer(on_request=_says(document))) as server:
        bad = offer("bad", f"{server.url}/v1", protocol=upstream)
        gate = gateway(config_of(bad, offer("good", engine().url)))
        body = asks.body(client, "demo", 9, stream=False, provider={"order": ["bad", "good"]})
        answer = gate.ask(client, body)
    assert answer.is_whole(6), answer.raw
    attempts = gate.entry(id=answer.headers["x-generation-id"])["attempts"]
    assert [(one["offer"], one["row"]["outcome"]) for one in attempts] == [
        ("bad", "malformed"),
        ("good", "ok"),
    ]

"""Chat completions over offers that speak messages, and messages over offers that speak chat completions."""

import json
from dataclasses import dataclass
from typing import Any

import pytest

from paceline.protocols import Protocol
from tests.e2e.gateway.conftest import Engines, Gateways
from tests.support.gateway import asks
from tests.support.gateway.answers import Answer
from tests.support.gateway.engines import Engine, wait_for
from tests.support.gateway.process import Entry, Gateway, config_of, cost_usd, offer

PRICE = {"input_usd_per_mtok": 3.0, "output_usd_per_mtok": 5.0, "cache_read_usd_per_mtok": 1.0}
CHAT: Protocol = "openai-chat"
MESSAGES: Protocol = "anthropic-messages"


def _after_two(kind: str) -> dict[str, Any]:
    return {"kind": kind, "after_events": 2}


BOTH = [(CHAT, MESSAGES), (MESSAGES, CHAT)]
PROMPT = 20
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


BREAKS = ("cut", "error_event", "malformed_json", "end_early")
SPEAKERS: dict[str, dict[str, Any]] = {
    "cached": {"exact": {"cached_tokens": 16}},
    "calling": {"exact": {"tool_tokens": 3}},
    "seeing": {"image_tokens": 50},
    "refusing": {"fault": {"kind": "http_400"}},
    # So slow that the client has the first tokens before it breaks, and so quick that they come together.
    **{f"slow-{kind}": {"exact": {"itl_us": 100_000}, "fault": _after_two(kind)} for kind in BREAKS},
    **{f"quick-{kind}": {"exact": {"itl_us": 0}, "fault": _after_two(kind)} for kind in BREAKS},
}


@dataclass
class Place:
    """A gateway whose offers speak one protocol each: a model for each engine and protocol."""

    engines: dict[str, Engine]
    gateway: Gateway
    asked: int = 0

    def ask(self, speaker: str, pair: tuple[Protocol, Protocol], stream: bool, **more: Any) -> "Asked":
        """A prompt of another length each time."""
        client, upstream = pair
        self.asked += 1
        prompt = PROMPT + self.asked
        body = asks.body(client, f"{speaker}-{upstream}", prompt, stream, **more)
        return Asked(self.gateway.ask(client, body), prompt)

    def entry(self, answer: Answer) -> Entry:
        return self.gateway.entry(id=answer.headers["x-generation-id"])


@dataclass(frozen=True)
class Asked:
    """An answer, and how long its prompt was."""

    answer: Answer
    prompt: int


@pytest.fixture(scope="module")
def place(module_engine: Engines, module_gateway: Gateways) -> Place:
    engines = {name: module_engine(**config) for name, config in SPEAKERS.items()}
    offers = [
        offer(f"{name}-{protocol}", engine.url, model=f"{name}-{protocol}", protocol=protocol, price=PRICE)
        for name, engine in engines.items()
        for protocol in (CHAT, MESSAGES, "openai-completions")
    ]
    return Place(engines, module_gateway(config_of(*offers)))


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(("client", "upstream"), BOTH)
def test_an_answer_is_the_clients_own(
    place: Place, client: Protocol, upstream: Protocol, stream: bool
) -> None:
    asked = place.ask("cached", (client, upstream), stream)
    answer = asked.answer
    assert answer.is_whole(6), answer.raw
    assert answer.is_done == stream
    assert answer.finish == ("stop" if client == CHAT else "end_turn")
    (record,) = place.engines["cached"].truth_of(asked.prompt)
    assert (record["protocol"], record["end"]) == (upstream, "complete")
    expected = pytest.approx(cost_usd(PRICE, asked.prompt, 6, cached=16), abs=1e-9)
    assert answer.usage == {"prompt": asked.prompt, "completion": 6, "cached": 16, "cost": expected}
    entry = place.entry(answer)
    assert entry["protocol"] == client
    assert entry["attempts"][0]["protocol"] == upstream
    assert entry["cost_usd"] == expected


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(("client", "upstream"), BOTH)
def test_a_limit_ends_it(place: Place, client: Protocol, upstream: Protocol, stream: bool) -> None:
    answer = place.ask("cached", (client, upstream), stream, max_tokens=4).answer
    assert answer.is_whole(4)
    assert answer.finish == ("length" if client == CHAT else "max_tokens")


def tools(client: Protocol) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"q": {"type": "string"}}}
    if client == CHAT:
        return {"tools": [{"type": "function", "function": {"name": "look_up", "parameters": schema}}]}
    return {"tools": [{"name": "look_up", "input_schema": schema}]}


def calls(client: Protocol, stream: bool, documents: list[dict[str, Any]]) -> tuple[str, str]:
    """Name and arguments of the tool call."""
    name = arguments = ""
    if client == CHAT:
        field = "delta" if stream else "message"
        for document in documents:
            for choice in document["choices"]:
                for call in choice.get(field, {}).get("tool_calls") or ():
                    name += call["function"].get("name") or ""
                    arguments += call["function"].get("arguments") or ""
        return name, arguments
    if not stream:
        block = next(one for one in documents[0]["content"] if one["type"] == "tool_use")
        return block["name"], json.dumps(block["input"])
    for document in documents:
        name += (document.get("content_block") or {}).get("name") or ""
        arguments += (document.get("delta") or {}).get("partial_json") or ""
    return name, arguments


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(("client", "upstream"), BOTH)
def test_a_tool_is_called(place: Place, client: Protocol, upstream: Protocol, stream: bool) -> None:
    answer = place.ask("calling", (client, upstream), stream, **tools(client)).answer
    assert answer.finish == ("tool_calls" if client == CHAT else "tool_use")
    name, arguments = calls(client, stream, answer.documents)
    assert name
    assert isinstance(json.loads(arguments), dict)
    assert answer.usage is not None
    assert answer.usage["completion"] == 6


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(("client", "upstream"), BOTH)
def test_an_image_and_a_tools_result_arrive(
    place: Place, client: Protocol, upstream: Protocol, stream: bool
) -> None:
    speaker = place.engines["seeing"]
    before = len(speaker.truth())
    more = {**tools(client), "messages": conversation(client)}
    assert place.ask("seeing", (client, upstream), stream, **more).answer.is_whole(6)
    # Two words and the image; `{"q": "a"}` as it is written; one word of the tool's, one more of the user's.
    (record,) = wait_for("the answer in the log", lambda: speaker.truth()[before:] or None)
    assert 2 + 50 + 1 + 1 + 1 <= record["prompt_tokens"] <= 2 + 50 + 2 + 1 + 1


def conversation(client: Protocol) -> list[dict[str, Any]]:
    if client == CHAT:
        url = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}
        function = {"name": "look_up", "arguments": '{"q":"a"}'}
        call = {"id": "call-1", "type": "function", "function": function}
        return [
            {"role": "user", "content": [{"type": "text", "text": "see this"}, url]},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "call-1", "content": "found"},
            {"role": "user", "content": "well"},
        ]
    source = {"type": "base64", "media_type": "image/png", "data": PIXEL}
    return [
        {
            "role": "user",
            "content": [{"type": "text", "text": "see this"}, {"type": "image", "source": source}],
        },
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "toolu_1", "name": "look_up", "input": {"q": "a"}}],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "toolu_1", "content": "found"},
                {"type": "text", "text": "well"},
            ],
        },
    ]


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(("client", "upstream"), BOTH)
def test_a_refusal_of_the_upstreams_is_said_in_the_clients_words(
    place: Place, client: Protocol, upstream: Protocol, stream: bool
) -> None:
    answer = place.ask("refusing", (client, upstream), stream).answer
    assert answer.status == 400
    assert answer.code == "upstream_rejected"
    (error,) = answer.errors
    assert error["type"] == "invalid_request_error"
    assert error["message"]
    assert ("type" in answer.documents[0]) == (client == MESSAGES)


@pytest.mark.parametrize("kind", BREAKS)
@pytest.mark.parametrize(("client", "upstream"), BOTH)
def test_a_break_is_an_error_in_the_clients_stream(
    place: Place, client: Protocol, upstream: Protocol, kind: str
) -> None:
    answer = place.ask(f"slow-{kind}", (client, upstream), stream=True).answer
    assert answer.status == 200
    assert len(answer.tokens) == 2
    assert answer.code in ("upstream_cut", "upstream_failed")
    assert not answer.is_done
    assert answer.finish is None
    entry = place.entry(answer)
    assert entry["outcome"] == "error_in_stream"
    assert entry["attempts"][0]["usage"]["completion_tokens"] == 2


@pytest.mark.parametrize("kind", BREAKS)
@pytest.mark.parametrize(("client", "upstream"), BOTH)
def test_a_break_that_comes_with_the_tokens_is_no_clean_end(
    place: Place, client: Protocol, upstream: Protocol, kind: str
) -> None:
    for _ in range(5):
        answer = place.ask(f"quick-{kind}", (client, upstream), stream=True).answer
        assert answer.errors
        assert not answer.is_done
        assert answer.finish is None
        assert len(answer.tokens) <= 2


def test_other_pairs_are_refused_with_the_reason(place: Place) -> None:
    asked = place.ask("cached", ("openai-responses", "openai-completions"), stream=False)
    assert (asked.answer.status, asked.answer.code) == (404, "protocol_unsupported")
    assert "openai-responses" in asked.answer.errors[0]["message"]
    assert place.engines["cached"].truth(asked.prompt) == []

"""The error events of docs/reference/gateway-errors.md, read by the official clients.

That the gateway writes these very bytes is checked where it is written, in `refusal/tests.rs` of its crate.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import openai
import pytest

REFERENCE = Path(__file__).parents[2] / "docs/reference/gateway-errors.md"

CHAT_TOKEN = (
    'data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":'
    '{"role":"assistant","content":"one"},"finish_reason":null}]}\n\n'
)
COMPLETION_TOKEN = (
    'data: {"id":"c","object":"text_completion","created":1,"model":"m","choices":[{"index":0,"text":"one",'
    '"finish_reason":null,"logprobs":null}]}\n\n'
)
RESPONSE_TOKEN = (
    'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","sequence_number":4,'
    '"item_id":"i","output_index":0,"content_index":0,"delta":"one","logprobs":[]}\n\n'
)
MESSAGE_TOKEN = (
    'event: message_start\ndata: {"type":"message_start","message":{"id":"m","type":"message",'
    '"role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,'
    '"usage":{"input_tokens":1,"output_tokens":1}}}\n\n'
    'event: content_block_start\ndata: {"type":"content_block_start","index":0,'
    '"content_block":{"type":"text","text":""}}\n\n'
    'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,'
    '"delta":{"type":"text_delta","text":"one"}}\n\n'
)


def events() -> list[str]:
    """The reference's three events: of chat and completions, of responses, of messages."""
    found = re.findall(r"```text\n((?:event: .*\n)?data: .*\n)```", REFERENCE.read_text())
    assert len(found) == 3
    return [f"{event}\n" for event in found]


def answering(body: str) -> httpx2.Client:
    """A client whose every request gets this stream."""

    def answer(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=body.encode())

    return httpx2.Client(transport=httpx2.MockTransport(answer))


def openai_of(body: str) -> openai.OpenAI:
    return openai.OpenAI(
        api_key="k", base_url="http://gateway.test/v1", http_client=answering(body), max_retries=0
    )


def chat(body: str) -> Iterator[Any]:
    messages: Any = [{"role": "user", "content": "hi"}]
    return iter(openai_of(body).chat.completions.create(model="m", messages=messages, stream=True))


def completion(body: str) -> Iterator[Any]:
    return iter(openai_of(body).completions.create(model="m", prompt="hi", stream=True))


def response(body: str) -> Iterator[Any]:
    return iter(openai_of(body).responses.create(model="m", input="hi", stream=True))


@pytest.mark.parametrize(
    ("ask", "token", "place"),
    [(chat, CHAT_TOKEN, 0), (completion, COMPLETION_TOKEN, 0), (response, RESPONSE_TOKEN, 1)],
    ids=["chat", "completions", "responses"],
)
def test_openai_client_raises(ask: Callable[[str], Iterator[Any]], token: str, place: int) -> None:
    stream = ask(token + events()[place])
    next(stream)
    with pytest.raises(openai.APIError) as raised:
        list(stream)
    assert raised.value.code == "upstream_cut"
    assert raised.value.type == "server_error"
    assert raised.value.message == "The answer broke off: the connection was closed."
    assert isinstance(raised.value.body, dict)
    assert raised.value.body["metadata"] == {"status": 502}


def messages_of(body: str) -> anthropic.Anthropic:
    return anthropic.Anthropic(
        api_key="k", base_url="http://gateway.test", http_client=answering(body), max_retries=0
    )


def test_anthropic_client_raises() -> None:
    stream = messages_of(MESSAGE_TOKEN + events()[2]).messages.create(
        model="m", max_tokens=9, messages=[{"role": "user", "content": "hi"}], stream=True
    )
    with pytest.raises(anthropic.APIStatusError) as raised:
        list(stream)
    assert raised.value.error_code == "upstream_cut"
    assert raised.value.type == "api_error"
    assert "broke off" in str(raised.value)


def test_anthropic_helper_raises() -> None:
    client = messages_of(MESSAGE_TOKEN + events()[2])
    with (
        client.messages.stream(
            model="m", max_tokens=9, messages=[{"role": "user", "content": "hi"}]
        ) as stream,
        pytest.raises(anthropic.APIStatusError),
    ):
        stream.get_final_message()


def test_no_event_is_an_end_marker() -> None:
    for event in events():
        assert "[DONE]" not in event
        assert "message_stop" not in event
        assert event.count("\n\n") == 1

"""Bodies of requests in each protocol, word by word, and held against the types of the official packages."""

import itertools
from collections.abc import Iterator
from typing import Any, get_args

import pytest
from pydantic import TypeAdapter

from paceline.errors import ConfigError
from paceline.protocols import (
    PROTOCOLS,
    Dialect,
    Message,
    Protocol,
    parse_protocol,
    request_body,
)

PNG = "data:image/png;base64,iVBORw0KGgo="
URL = "https://h.example/cat.png"
TALK = (
    Message("system", "Be brief."),
    Message("user", "Hi"),
    Message("assistant", "Hello."),
    Message("user", "And now?"),
)
SEEN = (Message("user", "What is it?", (PNG, URL)),)


def body(protocol: Protocol, messages: tuple[Message, ...] = TALK, **options: Any) -> dict[str, Any]:
    options = {"max_tokens": 8, "streaming": True} | options
    return request_body(protocol, "m", messages, **options)


TURNS = [
    {"role": "user", "content": "Hi"},
    {"role": "assistant", "content": "Hello."},
    {"role": "user", "content": "And now?"},
]
SYSTEM = {"role": "system", "content": "Be brief."}

TALKS: dict[Protocol, dict[str, Any]] = {
    "openai-chat": {
        "model": "m",
        "messages": [SYSTEM, *TURNS],
        "max_tokens": 8,
        "stream": True,
        "stream_options": {"include_usage": True},
    },
    "openai-completions": {
        "model": "m",
        "prompt": "Be brief.\n\nHi\n\nHello.\n\nAnd now?",
        "max_tokens": 8,
        "stream": True,
        "stream_options": {"include_usage": True},
    },
    "openai-responses": {
        "model": "m",
        "input": [{"type": "message", **turn} for turn in (SYSTEM, *TURNS)],
        "max_output_tokens": 8,
        "stream": True,
        "store": False,
    },
    "openai-embeddings": {"model": "m", "input": ["Hi", "And now?"]},
    "anthropic-messages": {
        "model": "m",
        "system": "Be brief.",
        "messages": TURNS,
        "max_tokens": 8,
        "stream": True,
    },
}
IMAGES: dict[Protocol, list[dict[str, Any]]] = {
    "openai-chat": [
        {"type": "text", "text": "What is it?"},
        {"type": "image_url", "image_url": {"url": PNG}},
        {"type": "image_url", "image_url": {"url": URL}},
    ],
    "openai-responses": [
        {"type": "input_text", "text": "What is it?"},
        {"type": "input_image", "image_url": PNG, "detail": "auto"},
        {"type": "input_image", "image_url": URL, "detail": "auto"},
    ],
    "anthropic-messages": [
        {"type": "text", "text": "What is it?"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}},
        {"type": "image", "source": {"type": "url", "url": URL}},
    ],
}


def official(protocol: Protocol, streaming: bool) -> Any:
    """The official package's type of a request."""
    if protocol == "anthropic-messages":
        from anthropic.types import message_create_params as messages

        return (
            messages.MessageCreateParamsStreaming if streaming else messages.MessageCreateParamsNonStreaming
        )
    from openai.types import completion_create_params as completions
    from openai.types import embedding_create_params as embeddings
    from openai.types.chat import completion_create_params as chat
    from openai.types.responses import response_create_params as responses

    if protocol == "openai-embeddings":
        return embeddings.EmbeddingCreateParams
    module: Any = {
        "openai-chat": chat,
        "openai-completions": completions,
        "openai-responses": responses,
    }[protocol]
    prefix = "ResponseCreateParams" if protocol == "openai-responses" else "CompletionCreateParams"
    return getattr(module, prefix + ("Streaming" if streaming else "NonStreaming"))


def plain(value: Any) -> Any:
    """Lists for the lazy sequences that the types call `Iterable`: only reading them checks them."""
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, str | bytes | int | float | bool) or value is None:
        return value
    return [plain(one) for one in value]


def hold_against_the_official_type(protocol: Protocol, found: dict[str, Any]) -> None:
    kind = official(protocol, found.get("stream") is True)
    adapter: TypeAdapter[Any] = TypeAdapter(kind)
    if protocol == "anthropic-messages":
        # The package types version 2026-10-21 of the API, which has no temperature; we ask for 2023-06-01.
        found = {key: value for key, value in found.items() if key != "temperature"}
    # Keys that the type does not know are dropped in reading, so nothing may be missing.
    assert plain(adapter.validate_python(found)) == found


@pytest.mark.parametrize("protocol", get_args(Protocol))
def test_a_talk_word_by_word(protocol: Protocol) -> None:
    found = body(protocol)
    assert found == TALKS[protocol]
    hold_against_the_official_type(protocol, found)


@pytest.mark.parametrize("protocol", IMAGES)
def test_images_word_by_word(protocol: Protocol) -> None:
    found = body(protocol, SEEN)
    kind = {"type": "message"} if protocol == "openai-responses" else {}
    (message,) = found["input" if protocol == "openai-responses" else "messages"]
    assert message == kind | {"role": "user", "content": IMAGES[protocol]}
    hold_against_the_official_type(protocol, found)


def variants() -> Iterator[dict[str, Any]]:
    for streaming, limit, temperature in itertools.product((True, False), (None, 5), (None, 0.5)):
        yield {"streaming": streaming, "max_tokens": limit, "temperature": temperature}


@pytest.mark.parametrize("protocol", get_args(Protocol))
@pytest.mark.parametrize("options", list(variants()), ids=str)
def test_every_variant_has_the_official_form(protocol: Protocol, options: dict[str, Any]) -> None:
    hold_against_the_official_type(protocol, body(protocol, **options))


def test_the_check_finds_what_is_wrong() -> None:
    good = body("openai-chat")
    for wrong in (
        good | {"prompt": "x"},
        good | {"messages": [{"role": "user", "content": [{"type": "x"}]}]},
    ):
        with pytest.raises((AssertionError, ValueError)):
            hold_against_the_official_type("openai-chat", wrong)


def test_without_a_limit_only_messages_has_one() -> None:
    for protocol in get_args(Protocol):
        limits = {name for name in body(protocol, max_tokens=None) if "tokens" in name}
        assert limits == ({"max_tokens"} if protocol == "anthropic-messages" else set())
    assert body("anthropic-messages", max_tokens=None)["max_tokens"] == 4096


def test_the_newer_name_of_the_limit_is_for_chat_alone() -> None:
    dialect = Dialect(max_tokens_field="max_completion_tokens")
    chat = body("openai-chat", dialect=dialect)
    assert "max_tokens" not in chat
    assert chat["max_completion_tokens"] == 8
    hold_against_the_official_type("openai-chat", chat)
    assert body("openai-completions", dialect=dialect)["max_tokens"] == 8
    assert body("anthropic-messages", dialect=dialect)["max_tokens"] == 8


@pytest.mark.parametrize("protocol", ["openai-chat", "openai-completions"])
def test_usage_is_asked_for_in_streams_where_the_server_knows_how(protocol: Protocol) -> None:
    assert "stream_options" in body(protocol)
    assert "stream_options" not in body(protocol, streaming=False)
    assert "stream_options" not in body(protocol, stream_usage=False)
    assert "stream_options" not in body(protocol, dialect=Dialect(stream_options=False))


def test_an_exact_length_is_asked_for_where_the_server_knows_how() -> None:
    for protocol in get_args(Protocol):
        plain_body = body(protocol, exact_output=True)
        assert plain_body == body(protocol)
        told = body(protocol, exact_output=True, dialect=Dialect(exact_output="ignore_eos"))
        counted = body(protocol, exact_output=True, dialect=Dialect(exact_output="min_tokens"))
        if protocol == "openai-embeddings":
            assert told == counted == plain_body
            continue
        assert told == plain_body | {"ignore_eos": True}
        assert counted == plain_body | {"min_tokens": 8}
        # Without a limit such an answer would have no end.
        unlimited = body(
            protocol, max_tokens=None, exact_output=True, dialect=Dialect(exact_output="min_tokens")
        )
        assert unlimited == body(protocol, max_tokens=None)


@pytest.mark.parametrize("protocol", get_args(Protocol))
def test_further_fields_go_over_all(protocol: Protocol) -> None:
    assert body(protocol, extra={"model": "n", "top_k": 1}) == body(protocol) | {"model": "n", "top_k": 1}


def test_several_system_turns_are_one_text_for_messages() -> None:
    talk = (Message("system", "A"), Message("user", "Hi"), Message("system", "B"))
    assert body("anthropic-messages", talk)["system"] == "A\n\nB"
    assert "system" not in body("anthropic-messages", talk[1:2])


@pytest.mark.parametrize("protocol", ["openai-completions", "openai-embeddings"])
def test_images_have_no_place_in_texts(protocol: Protocol) -> None:
    with pytest.raises(ConfigError, match="no place for images"):
        body(protocol, SEEN)


@pytest.mark.parametrize("url", ["cat.png", "file:///cat.png", "data:image/png,abc", ""])
@pytest.mark.parametrize("protocol", IMAGES)
def test_an_image_that_is_no_url_is_refused(protocol: Protocol, url: str) -> None:
    with pytest.raises(ConfigError, match="an image is no URL") as caught:
        body(protocol, (Message("user", "x", (url,)),))
    assert caught.value.hint


def test_names() -> None:
    assert tuple(PROTOCOLS) == get_args(Protocol)
    assert {info.short for info in PROTOCOLS.values()} == {
        *("chat", "completions", "responses", "embeddings", "messages")
    }
    for name, info in PROTOCOLS.items():
        assert parse_protocol(name) == parse_protocol(info.short) == name == info.name
    with pytest.raises(ConfigError, match="'chatty' is unknown") as caught:
        parse_protocol("chatty")
    assert "chat, completions, responses" in (caught.value.hint or "")


def test_a_turn_of_pictures_alone_has_no_text_part() -> None:
    message = Message("user", "", images=("https://example.com/a.png",))
    for protocol in ("openai-chat", "openai-responses", "anthropic-messages"):
        body = request_body(protocol, "m", [message], max_tokens=4, streaming=False)
        turn = body["input" if protocol == "openai-responses" else "messages"][0]
        assert len(turn["content"]) == 1
        assert "image" in turn["content"][0]["type"]

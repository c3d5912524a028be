"""The protocols that endpoints speak, and how a request is written in each.

Shapes of the bodies: OpenAI API reference (chat, completions, responses, embeddings) and Anthropic API
reference (messages), as the official Python packages `openai` and `anthropic` type them; a test holds the
bodies against those types. `ignore_eos` and `min_tokens` are extensions of engines (vLLM, SGLang, llama.cpp).
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

from paceline.errors import ConfigError

Protocol = Literal[
    "openai-chat", "openai-completions", "openai-responses", "openai-embeddings", "anthropic-messages"
]
Role = Literal["system", "user", "assistant"]
MaxTokensField = Literal["max_tokens", "max_completion_tokens"]
ExactOutput = Literal["ignore_eos", "min_tokens"]

# The messages protocol has no request without a limit.
ANTHROPIC_MAX_TOKENS = 4096
_NOTHING: Mapping[str, Any] = MappingProxyType({})
_DATA_URL = re.compile(r"data:([^;,]+);base64,(.+)", re.DOTALL)


@dataclass(frozen=True)
class ProtocolInfo:
    """A protocol: its full name, the end of its path, whether it can stream, what `--protocol` takes."""

    name: Protocol
    path: str
    streams: bool
    short: str


PROTOCOLS: dict[Protocol, ProtocolInfo] = {
    info.name: info
    for info in (
        ProtocolInfo("openai-chat", "/chat/completions", True, "chat"),
        ProtocolInfo("openai-completions", "/completions", True, "completions"),
        ProtocolInfo("openai-responses", "/responses", True, "responses"),
        ProtocolInfo("openai-embeddings", "/embeddings", False, "embeddings"),
        ProtocolInfo("anthropic-messages", "/messages", True, "messages"),
    )
}


@dataclass(frozen=True)
class Message:
    """One turn. `images` are `data:` URLs with base64, or `http(s):` URLs that the server fetches."""

    role: Role
    text: str
    images: tuple[str, ...] = ()


@dataclass(frozen=True)
class Dialect:
    """How bodies must be written for one server, where servers differ.

    exact_output: the field that makes an answer as long as it may be; None where the server has none.
    """

    stream_options: bool = True
    max_tokens_field: MaxTokensField = "max_tokens"
    exact_output: ExactOutput | None = None


DEFAULT_DIALECT = Dialect()


def parse_protocol(name: str) -> Protocol:
    """`chat` or `openai-chat` -> `openai-chat`. Raises ConfigError for a name that is neither."""
    for info in PROTOCOLS.values():
        if name in (info.name, info.short):
            return info.name
    known = ", ".join(info.short for info in PROTOCOLS.values())
    raise ConfigError(f"protocol {name!r} is unknown", f"it is one of {known}")


def request_body(
    protocol: Protocol,
    model: str,
    messages: Sequence[Message],
    *,
    max_tokens: int | None,
    streaming: bool,
    dialect: Dialect = DEFAULT_DIALECT,
    exact_output: bool = False,
    stream_usage: bool = True,
    temperature: float | None = None,
    extra: Mapping[str, Any] = _NOTHING,
) -> dict[str, Any]:
    """The JSON body of a request; `extra` goes over everything else.

    max_tokens: limit of the answer; None leaves it to the server, except with messages, which always has one
    (4096). exact_output: ask for exactly max_tokens, where the dialect knows how. Embeddings take the texts
    of the user alone, and no limit, temperature or stream. Raises ConfigError for images where a protocol
    has no place for them, and for an image that is no `data:` or `http(s):` URL.
    """
    body: dict[str, Any] = {"model": model, **_input(protocol, messages)}
    if protocol == "openai-embeddings":
        return body | dict(extra)
    body |= _limit(protocol, max_tokens, dialect)
    if exact_output and max_tokens is not None and dialect.exact_output is not None:
        body[dialect.exact_output] = True if dialect.exact_output == "ignore_eos" else max_tokens
    if temperature is not None:
        body["temperature"] = temperature
    body["stream"] = streaming
    if streaming and stream_usage and dialect.stream_options and protocol in _WITH_STREAM_OPTIONS:
        body["stream_options"] = {"include_usage": True}
    if protocol == "openai-responses":
        # A measurement leaves nothing behind on the server.
        body["store"] = False
    return body | dict(extra)


_WITH_STREAM_OPTIONS: tuple[Protocol, ...] = ("openai-chat", "openai-completions")


def _input(protocol: Protocol, messages: Sequence[Message]) -> dict[str, Any]:
    match protocol:
        case "openai-chat":
            return {"messages": [{"role": one.role, "content": _chat_content(one)} for one in messages]}
        case "openai-responses":
            return {"input": [_item(one) for one in messages]}
        case "anthropic-messages":
            return _anthropic(messages)
        case "openai-completions":
            _refuse_images(protocol, messages)
            return {"prompt": "\n\n".join(one.text for one in messages)}
        case "openai-embeddings":
            _refuse_images(protocol, messages)
            return {"input": [one.text for one in messages if one.role == "user"]}


def _limit(protocol: Protocol, max_tokens: int | None, dialect: Dialect) -> dict[str, int]:
    if protocol == "anthropic-messages":
        return {"max_tokens": ANTHROPIC_MAX_TOKENS if max_tokens is None else max_tokens}
    if max_tokens is None:
        return {}
    match protocol:
        case "openai-chat":
            return {dialect.max_tokens_field: max_tokens}
        case "openai-responses":
            return {"max_output_tokens": max_tokens}
        case _:
            return {"max_tokens": max_tokens}


def _chat_content(message: Message) -> str | list[dict[str, Any]]:
    if not message.images:
        return message.text
    images = [{"type": "image_url", "image_url": {"url": _checked(url)}} for url in message.images]
    return [*_text_part("text", message), *images]


def _text_part(kind: str, message: Message) -> list[dict[str, Any]]:
    # A part without text is refused by some servers.
    return [{"type": kind, "text": message.text}] if message.text else []


def _item(message: Message) -> dict[str, Any]:
    # The type may be left out by the reference, and llama-server knows no assistant's turn without it.
    return {"type": "message", "role": message.role, "content": _responses_content(message)}


def _responses_content(message: Message) -> str | list[dict[str, Any]]:
    if not message.images:
        return message.text
    images = [{"type": "input_image", "image_url": _checked(url), "detail": "auto"} for url in message.images]
    return [*_text_part("input_text", message), *images]


def _anthropic(messages: Sequence[Message]) -> dict[str, Any]:
    system = [one.text for one in messages if one.role == "system"]
    turns = [
        {"role": one.role, "content": _anthropic_content(one)} for one in messages if one.role != "system"
    ]
    return ({"system": "\n\n".join(system)} if system else {}) | {"messages": turns}


def _anthropic_content(message: Message) -> str | list[dict[str, Any]]:
    if not message.images:
        return message.text
    images = [{"type": "image", "source": _anthropic_source(url)} for url in message.images]
    return [*_text_part("text", message), *images]


def _anthropic_source(url: str) -> dict[str, str]:
    data = _DATA_URL.fullmatch(_checked(url))
    if data is None:
        return {"type": "url", "url": url}
    return {"type": "base64", "media_type": data.group(1), "data": data.group(2)}


def _checked(url: str) -> str:
    if url.startswith(("http://", "https://")) or _DATA_URL.fullmatch(url):
        return url
    raise ConfigError(f"an image is no URL: {url[:40]!r}", "give data:image/png;base64,... or http(s)://...")


def _refuse_images(protocol: Protocol, messages: Sequence[Message]) -> None:
    if any(one.images for one in messages):
        raise ConfigError(
            f"the protocol {protocol} has no place for images", "use chat, responses or messages"
        )

"""Requests in each of the five protocols. The number of a prompt's words tells requests apart upstream."""

from typing import Any

from paceline.protocols import PROTOCOLS, Protocol

STREAMING: tuple[Protocol, ...] = tuple(name for name, one in PROTOCOLS.items() if one.streams)
# Protocol and whether it streams: all there is to ask in.
WAYS: tuple[tuple[Protocol, bool], ...] = tuple(
    (name, stream)
    for name, one in PROTOCOLS.items()
    for stream in ((True, False) if one.streams else (False,))
)
LIMIT = {
    "openai-chat": "max_tokens",
    "openai-completions": "max_tokens",
    "openai-responses": "max_output_tokens",
    "anthropic-messages": "max_tokens",
}


def words(count: int) -> str:
    """A prompt of so many tokens of the reference engine."""
    return " ".join(f"w{place}" for place in range(count))


def body(
    protocol: Protocol, model: str, prompt_tokens: int, stream: bool = False, **more: Any
) -> dict[str, Any]:
    """A request for `model`; in a stream of OpenAI's older protocols the usage is asked for.

    `max_tokens` has the protocol's own name.
    """
    text = words(prompt_tokens)
    limit = more.pop("max_tokens", 1_000 if protocol == "anthropic-messages" else None)
    match protocol:
        case "openai-chat" | "anthropic-messages":
            asked: dict[str, Any] = {"messages": [{"role": "user", "content": text}]}
        case "openai-completions":
            asked = {"prompt": text}
        case "openai-responses":
            asked = {"input": text}
        case _:
            asked = {"input": [text]}
    if limit is not None:
        asked[LIMIT[protocol]] = limit
    if PROTOCOLS[protocol].streams:
        asked["stream"] = stream
    if stream and protocol in ("openai-chat", "openai-completions"):
        asked["stream_options"] = {"include_usage": True}
    return {"model": model, **asked, **more}


def path(protocol: Protocol) -> str:
    return f"/v1{PROTOCOLS[protocol].path}"

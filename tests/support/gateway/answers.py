"""What a client has seen of an answer, read apart from the product's own readers."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx

from paceline.protocols import Protocol

Document = dict[str, Any]


@dataclass
class Answer:
    """A response as it came. `broken`: how the transport failed, if it did."""

    protocol: Protocol
    stream: bool
    status: int = 0
    headers: httpx.Headers = field(default_factory=httpx.Headers)
    raw: bytes = b""
    broken: str | None = None

    @property
    def is_stream(self) -> bool:
        return str(self.headers.get("content-type", "")).startswith("text/event-stream")

    @property
    def payloads(self) -> list[str]:
        """The data of each event, whatever its lines look like."""
        text = self.raw.decode().replace("\r\n", "\n").replace("\r", "\n")
        found = []
        for event in text.split("\n\n"):
            lines = [line[5:].removeprefix(" ") for line in event.split("\n") if line.startswith("data:")]
            found += ["\n".join(lines)] if lines else []
        return found

    @property
    def comments(self) -> int:
        return sum(line.startswith(b":") for line in self.raw.split(b"\n"))

    @property
    def documents(self) -> list[Document]:
        """The events that are JSON, or the body."""
        if self.is_stream:
            return [json.loads(one) for one in self.payloads if one != "[DONE]"]
        return [json.loads(self.raw)]

    @property
    def is_done(self) -> bool:
        """The protocol's end marker has come, and nothing after it."""
        last = self.payloads[-1] if self.payloads else ""
        ends = ("message_stop", "response.completed", "response.incomplete")
        return last == "[DONE]" or bool(last.startswith("{") and json.loads(last).get("type") in ends)

    @property
    def finish(self) -> str | None:
        """Why it ended, in the protocol's own word."""
        return next((reason for one in self.documents if (reason := _finish(self.protocol, one))), None)

    @property
    def tokens(self) -> list[str]:
        """The text of each event that has some; of a whole answer its words."""
        if not self.is_stream:
            return [word for text in _whole_texts(self.protocol, self.documents[0]) for word in text.split()]
        texts = (_delta(self.protocol, one) for one in self.documents)
        return [text for text in texts if text]

    @property
    def vectors(self) -> int:
        return len(self.documents[0].get("data", ()))

    @property
    def errors(self) -> list[Document]:
        """The error objects in it, each with the `code` that is stable, wherever the protocol has it."""
        return [error for one in self.documents if (error := _error(one))]

    @property
    def code(self) -> str | None:
        return next((error["code"] for error in self.errors), None)

    @property
    def usage(self) -> dict[str, Any] | None:
        """The last usage: prompt, completion, cached tokens and cost."""
        found = [usage for one in self.documents if (usage := _usage(one)) is not None]
        return found[-1] if found else None

    def is_whole(self, tokens: int) -> bool:
        """A good answer with so many tokens, and the end that it must have."""
        if self.status != 200 or self.broken or self.errors:
            return False
        if self.protocol == "openai-embeddings":
            return self.vectors == 1
        return len(" ".join(self.tokens).split()) == tokens and self.finish is not None


def _finish(protocol: Protocol, document: Document) -> str | None:
    if protocol == "anthropic-messages":
        found = document.get("stop_reason") or (document.get("delta") or {}).get("stop_reason")
    elif protocol == "openai-responses":
        response = document.get("response", document)
        status = response.get("status")
        found = status if status in ("completed", "incomplete") else None
    else:
        found = next((one.get("finish_reason") for one in document.get("choices") or ()), None)
    return found if isinstance(found, str) else None


def _delta(protocol: Protocol, document: Document) -> str:
    if protocol == "openai-responses":
        delta = document.get("delta")
        return delta if isinstance(delta, str) else ""
    if protocol == "anthropic-messages":
        delta = document.get("delta") or {}
        return str(delta.get("text") or delta.get("thinking") or delta.get("partial_json") or "")
    text = ""
    for choice in document.get("choices") or ():
        delta = choice.get("delta") or {}
        text += choice.get("text") or delta.get("reasoning_content") or delta.get("content") or ""
        for call in delta.get("tool_calls") or ():
            text += call["function"].get("arguments") or ""
    return text


def _whole_texts(protocol: Protocol, document: Document) -> Iterator[str]:
    if protocol == "anthropic-messages":
        for block in document.get("content") or ():
            yield block.get("text") or block.get("thinking") or ""
    elif protocol == "openai-responses":
        for item in document.get("output") or ():
            for part in item.get("content") or ():
                yield part.get("text") or ""
    else:
        for choice in document.get("choices") or ():
            yield choice.get("text") or (choice.get("message") or {}).get("content") or ""


def _error(document: Document) -> Document | None:
    error = document.get("error")
    if not error and document.get("type") == "response.failed":
        error = document["response"].get("error")
    if not error:
        return None
    # Anthropic's clients know no code: it stands among the details.
    code = error.get("code") or (error.get("details") or {}).get("error_code")
    return {**error, "code": code}


def _usage(document: Document) -> dict[str, Any] | None:
    if document.get("type") == "message_start":
        return None
    usage = document.get("usage") or (document.get("response") or {}).get("usage")
    if not usage:
        return None
    cached = (usage.get("prompt_tokens_details") or usage.get("input_tokens_details") or {}).get(
        "cached_tokens"
    )
    read = usage.get("cache_read_input_tokens")
    prompt = usage.get("prompt_tokens", usage.get("input_tokens"))
    if read is not None:
        prompt += read + usage.get("cache_creation_input_tokens", 0)
    return {
        "prompt": prompt,
        "completion": usage.get("completion_tokens", usage.get("output_tokens", 0)),
        "cached": cached if read is None else read,
        "cost": usage.get("cost"),
    }

"""What the official `openai` and `anthropic` packages read in a response, and what our reader says of it."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from paceline.measure.border import core_observe
from paceline.protocols import PROTOCOLS, Protocol
from tests.support.fake_server import Answer, FakeServer, serving

CONTENT, REASONING, TOOL_CALL = 1, 2, 4


@dataclass(frozen=True)
class Read:
    """texts: (content, reasoning, tool-call arguments). Counts are None where the response tells none.

    mixed: text of events that have several kinds, as the one event of a whole answer may. kinds: all there
    are.
    """

    texts: tuple[str, str, str]
    finish: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    vectors: int = 0
    mixed: str = ""
    kinds: int = 0


class Refused(Exception):  # noqa: N818
    """The package raised, as it does for an error in the response."""


def _read(parts: Iterator[tuple[int, str]], finish: str | None, usage: tuple[int | None, ...]) -> Read:
    texts: dict[int, str] = defaultdict(str)
    kinds = 0
    for kind, text in parts:
        single = kind in (CONTENT, REASONING, TOOL_CALL)
        texts[kind if single else 0] += text
        kinds |= kind if text else 0
    split = (texts[CONTENT], texts[REASONING], texts[TOOL_CALL])
    prompt, completion, cached = usage or (None, None, None)
    return Read(split, finish, prompt, completion, cached, mixed=texts[0], kinds=kinds)


def ours(protocol: Protocol, streaming: bool, body: bytes) -> tuple[Read, str]:
    """The reader's account and its outcome."""
    kind = "text/event-stream" if streaming else "application/json"
    seen = core_observe(protocol, streaming, 200, kind, [body])
    text = seen["text"].encode()
    parts, at = [], 0
    for kinds, size in zip(seen["event_kind"], seen["event_bytes"], strict=True):
        parts.append((kinds, text[at : at + size].decode()))
        at += size
    usage = (seen["prompt_tokens"], seen["completion_tokens"], seen["cached_tokens"])
    return _read(iter(parts), seen["finish_reason"], usage), seen["outcome"]


def theirs(protocol: Protocol, streaming: bool, url: str, body: dict[str, Any]) -> Read:
    """The official package as a client of a server. Raises Refused where it finds an error."""
    import anthropic
    import openai

    try:
        if protocol == "anthropic-messages":
            with anthropic.Anthropic(base_url=url, api_key="k", max_retries=0) as messages:
                return _messages(messages.messages.create(**body), streaming)
        with openai.OpenAI(base_url=f"{url}/v1", api_key="k", max_retries=0) as client:
            match protocol:
                case "openai-chat":
                    return _chat(client.chat.completions.create(**body), streaming)
                case "openai-completions":
                    return _completions(client.completions.create(**body), streaming)
                case "openai-responses":
                    return _responses(client.responses.create(**body), streaming)
                case _:
                    return _embeddings(client.embeddings.create(**body))
    except (openai.APIError, anthropic.APIError) as error:
        raise Refused(str(error)) from error


def replayed(protocol: Protocol, streaming: bool, body: bytes) -> Read:
    """The official package on these very bytes."""
    kind = "text/event-stream" if streaming else "application/json"
    answer = Answer(headers={"content-type": kind}, body=body)
    with serving(FakeServer(on_request=lambda *_: answer)) as server:
        return theirs(protocol, streaming, server.url, question(protocol, streaming))


def question(protocol: Protocol, streaming: bool, model: str = "m", tokens: int = 8) -> dict[str, Any]:
    """What a package is told to ask; its own names of the fields, which are the protocol's."""
    told: dict[Protocol, dict[str, Any]] = {
        "openai-chat": {"messages": [{"role": "user", "content": "Say hello."}], "max_tokens": tokens},
        "openai-completions": {"prompt": "Say hello.", "max_tokens": tokens},
        "openai-responses": {"input": "Say hello.", "max_output_tokens": tokens},
        "anthropic-messages": {"messages": [{"role": "user", "content": "Say hello."}], "max_tokens": tokens},
        "openai-embeddings": {"input": ["Say hello."], "encoding_format": "float"},
    }
    more: dict[str, Any] = {"stream": streaming} if PROTOCOLS[protocol].streams else {}
    if streaming and protocol in ("openai-chat", "openai-completions"):
        more["stream_options"] = {"include_usage": True}
    return {"model": model, **told[protocol], **more}


def _openai_usage(usage: Any) -> tuple[int | None, ...]:
    if usage is None:
        return None, None, None
    details = usage.prompt_tokens_details
    return usage.prompt_tokens, usage.completion_tokens, None if details is None else details.cached_tokens


def _message_parts(message: Any) -> Iterator[tuple[int, str]]:
    # The packages have no field for reasoning; what servers send is kept beside the known ones.
    extra = message.model_extra or {}
    details = extra.get("reasoning_details") or ()
    said = "".join(one.get("text") or one.get("summary") or "" for one in details)
    yield REASONING, extra.get("reasoning_content") or extra.get("reasoning") or said
    yield CONTENT, message.content or ""
    yield CONTENT, message.refusal or ""
    yield CONTENT, _transcript(getattr(message, "audio", None))
    for call in message.tool_calls or ():
        yield TOOL_CALL, (call.function.arguments or "") if call.function is not None else ""


def _transcript(audio: Any) -> str:
    said = audio.get("transcript") if isinstance(audio, dict) else getattr(audio, "transcript", None)
    return said or ""


def _chat(answer: Any, streaming: bool) -> Read:
    if not streaming:
        (choice,) = answer.choices
        return _read(_message_parts(choice.message), choice.finish_reason, _openai_usage(answer.usage))
    parts, finish, usage = [], None, None
    for chunk in answer:
        usage = chunk.usage or usage
        for choice in chunk.choices:
            parts += list(_message_parts(choice.delta))
            finish = choice.finish_reason or finish
    return _read(iter(parts), finish, _openai_usage(usage))


def _completions(answer: Any, streaming: bool) -> Read:
    chunks = list(answer) if streaming else [answer]
    choices = [choice for chunk in chunks for choice in chunk.choices]
    usage = next((chunk.usage for chunk in reversed(chunks) if chunk.usage), None)
    finish = next((one.finish_reason for one in reversed(choices) if one.finish_reason), None)
    return _read(((CONTENT, choice.text) for choice in choices), finish, _openai_usage(usage))


_DELTAS = {
    "response.output_text.delta": CONTENT,
    "response.refusal.delta": CONTENT,
    "response.reasoning_text.delta": REASONING,
    "response.reasoning_summary_text.delta": REASONING,
    "response.function_call_arguments.delta": TOOL_CALL,
    "response.custom_tool_call_input.delta": TOOL_CALL,
    "response.mcp_call_arguments.delta": TOOL_CALL,
    "response.code_interpreter_call_code.delta": TOOL_CALL,
    "response.shell_call_command.delta": TOOL_CALL,
}


def _responses(answer: Any, streaming: bool) -> Read:
    if not streaming:
        return _read(iter([*_items(answer)]), *_response_end(answer))
    parts, closing = [], None
    for event in answer:
        if event.type in _DELTAS:
            parts.append((_DELTAS[event.type], event.delta))
        if event.type in ("response.completed", "response.incomplete"):
            closing = event.response
        if event.type in ("error", "response.failed"):
            raise Refused(str(event))
    # What came piece by piece is what stands in the whole answer at the end.
    if closing is not None and closing.output:
        streamed, whole = _read(iter(parts), None, ()), _read(_items(closing), None, ())
        assert [sorted(one) for one in streamed.texts] == [sorted(one) for one in whole.texts]
    return _read(iter(parts), *_response_end(closing))


def _items(answer: Any) -> Iterator[tuple[int, str]]:
    for item in answer.output:
        if item.type == "message":
            for part in item.content:
                yield CONTENT, part.text if part.type == "output_text" else part.refusal
        elif item.type == "reasoning":
            for part in [*(item.content or ()), *item.summary]:
                yield REASONING, part.text
        elif item.type in ("function_call", "mcp_call"):
            yield TOOL_CALL, item.arguments
        elif item.type == "custom_tool_call":
            yield TOOL_CALL, item.input
        elif item.type == "code_interpreter_call":
            yield TOOL_CALL, item.code or ""
        elif item.type == "shell_call":
            yield TOOL_CALL, "".join(item.action.commands)


def _response_end(answer: Any) -> tuple[str | None, tuple[int | None, ...]]:
    if answer is None:
        return None, (None, None, None)
    details = answer.incomplete_details
    finish = details.reason if details is not None and details.reason else answer.status
    usage = answer.usage
    if usage is None:
        return finish, (None, None, None)
    inner = usage.input_tokens_details
    return finish, (usage.input_tokens, usage.output_tokens, None if inner is None else inner.cached_tokens)


def _messages(answer: Any, streaming: bool) -> Read:
    if not streaming:
        return _read(_blocks(answer.content), answer.stop_reason, _anthropic_usage([answer.usage]))
    parts, usages, finish = [], [], None
    for event in answer:
        match event.type:
            case "message_start":
                usages.append(event.message.usage)
            case "message_delta":
                usages.append(event.usage)
                finish = event.delta.stop_reason or finish
            case "content_block_delta":
                parts.append(_delta(event.delta))
    return _read(iter(parts), finish, _anthropic_usage(usages))


def _delta(delta: Any) -> tuple[int, str]:
    match delta.type:
        case "text_delta":
            return CONTENT, delta.text
        case "thinking_delta":
            return REASONING, delta.thinking
        case "input_json_delta":
            return TOOL_CALL, delta.partial_json
        case _:
            return CONTENT, ""


def _blocks(content: Any) -> Iterator[tuple[int, str]]:
    import json

    for block in content:
        match block.type:
            case "text":
                yield CONTENT, block.text
            case "thinking":
                yield REASONING, block.thinking
            case "tool_use" | "server_tool_use":
                yield TOOL_CALL, json.dumps(block.input, ensure_ascii=False, separators=(",", ":"))


def _anthropic_usage(usages: list[Any]) -> tuple[int | None, ...]:
    """Later values win; the prompt is all that went in, cached or not."""
    found: dict[str, int] = {}
    for usage in usages:
        for name, value in usage.model_dump(exclude_none=True).items() if usage is not None else ():
            if isinstance(value, int):
                found[name] = value
    if "input_tokens" not in found:
        return None, found.get("output_tokens"), None
    cached = found.get("cache_read_input_tokens")
    prompt = found["input_tokens"] + (cached or 0) + found.get("cache_creation_input_tokens", 0)
    return prompt, found.get("output_tokens"), cached


def _embeddings(answer: Any) -> Read:
    usage = (answer.usage.prompt_tokens, None, None)
    found = _read(iter(()), None, usage)
    return Read(found.texts, "completed", *usage, vectors=len(answer.data))

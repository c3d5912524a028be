"""What an endpoint can do beyond answering: one question, one finding."""

import base64
import struct
import time
import zlib
from dataclasses import replace
from typing import Any

from paceline.endpoints.probe_record import Finding
from paceline.endpoints.questions import Questions, Said, keys_of, no, unknown, yes
from paceline.protocols import ExactOutput, Message, Protocol

# Bits of the row's event_kind (docs/design/0001).
REASONING, TOOL_CALL = 2, 4
_REASONING_FIELDS = ("reasoning_content", "reasoning", "reasoning_details", "reasoning_text", "thinking")
# A prefix is kept from 1,024 tokens on by hosted APIs (OpenAI's and Anthropic's prompt caching guides).
_CACHED_WORDS = 1300
_WORDS = "the river runs past old stone walls and every night a small light burns in one high window"
_ONE_WORD = (Message("user", "Answer with the one word yes, and nothing else."),)
_EXACT_TOKENS = 24
_LONGER_TOKENS = 128
_TOOL_TOKENS = 64
_PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
_TOOL_PROMPT = (Message("user", "What time is it in Paris? Use the tool."),)


def per_chunk_usage(ask: Questions, plain: Said) -> Finding:
    """Usage in each event of a stream, as vLLM and SGLang send it when asked."""
    if ask.protocol not in ("openai-chat", "openai-completions"):
        return no("the protocol has no such field")
    if counted(plain):
        return (
            yes("without being asked")
            if '"token_ids"' not in _text(plain)
            else unknown("token numbers come unasked, so usage was not looked for")
        )
    extra = {"stream_options": {"include_usage": True, "continuous_usage_stats": True}}
    said = ask.ask(streaming=True, extra=extra)
    if not said.answered:
        return said.otherwise()
    if counted(said):
        return yes("asked with stream_options.continuous_usage_stats")
    return no("continuous_usage_stats is taken, and events carry no usage")


def token_ids(ask: Questions, plain: Said) -> Finding:
    """The numbers of an event's tokens, as vLLM sends them when asked."""
    if ask.protocol not in ("openai-chat", "openai-completions"):
        return no("the protocol has no such field")
    if '"token_ids"' in _text(plain) and counted(plain):
        return yes("without being asked")
    said = ask.ask(streaming=True, extra={"return_token_ids": True})
    if not said.answered:
        return said.otherwise()
    if '"token_ids"' in _text(said) and counted(said):
        return yes("asked with return_token_ids")
    return no("return_token_ids is taken, and events carry none")


def counted(said: Said) -> bool:
    """Each event of a stream tells how many tokens it carries."""
    tokens = said.seen.get("event_tokens") or []
    return said.tiny.streaming and bool(tokens) and all(one >= 0 for one in tokens)


def log_probabilities(ask: Questions) -> Finding:
    """Log probabilities of the tokens."""
    extra: dict[Protocol, dict[str, Any]] = {
        "openai-chat": {"logprobs": True, "top_logprobs": 1},
        "openai-completions": {"logprobs": 1},
        "openai-responses": {"include": ["message.output_text.logprobs"]},
    }
    if ask.protocol not in extra:
        return no("the protocol has no such field")
    said = ask.ask(streaming=False, extra=extra[ask.protocol])
    if not said.answered:
        return said.otherwise()
    if keys_of(said.document(), ("logprobs",)):
        return yes()
    return no("they are asked for, and the answer has none")


def reasoning(said: list[Said]) -> Finding:
    """Thinking that is sent apart from the answer, in any of the answers that came anyway, the best first."""
    answered = [one for one in said if one.answered]
    came = [one for one in answered if any(kind & REASONING for kind in one.seen["event_kind"])]
    counts = any(one.seen["reasoning_tokens"] is not None for one in answered)
    tail = "; usage has a field for its tokens" if counts else ""
    if came:
        # The names are those of one protocol.
        text = "".join(_text(one) for one in came if one.tiny.protocol == came[0].tiny.protocol)
        names = [name for name in _REASONING_FIELDS if f'"{name}"' in text or f"{name}_delta" in text]
        where = f" in {', '.join(names)}" if names else ""
        return yes(f"thinking came apart from the answer{where}{tail}", names)
    if not answered:
        return unknown("there was no answer")
    return unknown(f"none came in {len(answered)} short answers: this model may not think{tail}")


def cache_reporting(ask: Questions) -> Finding:
    """Whether usage tells that a prompt was known: the same long one is sent twice."""
    # It begins as no earlier probe's did.
    words = _WORDS.split()
    text = " ".join(words[(n * n + n // 7) % len(words)] for n in range(_CACHED_WORDS))
    prompt = (Message("user", f"Probe {time.time_ns()}. {text}\n\nSay hello."),)
    extra: dict[str, Any] = {}
    if ask.protocol == "anthropic-messages":
        block = {"type": "text", "text": prompt[0].text, "cache_control": {"type": "ephemeral"}}
        extra = {"messages": [{"role": "user", "content": [block]}]}
    first = ask.ask(streaming=False, messages=prompt, extra=extra)
    if not first.answered:
        return first.otherwise()
    second = ask.ask(streaming=False, messages=prompt, extra=extra)
    if not second.answered:
        return second.otherwise()
    cached, prompt_tokens = second.seen["cached_tokens"], second.seen["prompt_tokens"]
    if cached is None:
        return no("usage has no field for cached tokens")
    of = "" if prompt_tokens is None else f" of {prompt_tokens} prompt tokens"
    if cached > 0:
        return yes(f"{cached}{of} were cached when a prompt was sent again", cached)
    return no(f"0 cached tokens{of} when a prompt was sent again", 0)


def exact_output(ask: Questions) -> tuple[Finding, ExactOutput | None]:
    """Whether an answer can be made as long as it may be: one of a single word is asked to go on."""
    limit = max(_EXACT_TOKENS, ask.limit)
    plain = ask.ask(streaming=False, messages=_ONE_WORD, limit=limit)
    if plain.answered and (plain.seen["completion_tokens"] or 0) >= limit:
        # A model may only be slow to stop.
        filled, limit = limit, _LONGER_TOKENS
        plain = ask.ask(streaming=False, messages=_ONE_WORD, limit=limit)
        if not plain.answered or (plain.seen["completion_tokens"] or limit) >= limit:
            more = f", nor those of {limit}" if plain.answered else ""
            return unknown(f"answers do not end before their limit of {filled} tokens{more}"), None
    if not plain.answered:
        return plain.otherwise(), None
    before = plain.seen["completion_tokens"]
    if before is None:
        return unknown("usage tells no answer's length"), None
    fields: tuple[ExactOutput, ...] = ("ignore_eos", "min_tokens")
    why = []
    for name in fields:
        dialect = replace(ask.dialect, exact_output=name)
        said = ask.ask(streaming=False, messages=_ONE_WORD, limit=limit, exact_output=True, dialect=dialect)
        if said.tiny.dialect.exact_output != name or said.refused:
            why.append(f"{name} is refused")
        elif not said.answered:
            return said.otherwise(), None
        elif said.seen["completion_tokens"] == limit:
            return yes(f"{name}: {limit} tokens in place of {before}", name), name
        else:
            why.append(f"{name} is taken without effect")
    return no("; ".join(why)), None


def tools(ask: Questions) -> Finding:
    """Whether a tool is taken, and called when a call is asked for."""
    body = _tool_body(ask.protocol)
    if body is None:
        return no("the protocol has no tools")
    said = ask.ask(streaming=True, messages=_TOOL_PROMPT, limit=_TOOL_TOKENS, extra=body)
    if said.refused and "tool_choice" in (said.why or ""):
        body = {name: value for name, value in body.items() if name != "tool_choice"}
        said = ask.ask(streaming=True, messages=_TOOL_PROMPT, limit=_TOOL_TOKENS, extra=body)
    if not said.answered:
        return said.otherwise()
    if any(kind & TOOL_CALL for kind in said.seen["event_kind"]):
        return yes("a call came when one was asked for")
    return unknown("a tool is taken, and the answer held no call")


def _tool_body(protocol: Protocol) -> dict[str, Any] | None:
    name, about = "get_time", "The local time of a city."
    function = {"name": name, "description": about, "parameters": _PARAMETERS}
    match protocol:
        case "openai-chat":
            return {"tools": [{"type": "function", "function": function}], "tool_choice": "required"}
        case "openai-responses":
            return {"tools": [{"type": "function", **function, "strict": False}], "tool_choice": "required"}
        case "anthropic-messages":
            tool = {"name": name, "description": about, "input_schema": _PARAMETERS}
            return {"tools": [tool], "tool_choice": {"type": "any"}}
        case _:
            return None


def images(ask: Questions, plain: Said) -> Finding:
    """Whether an image is taken, and counted: a grey square of 64 pixels."""
    if ask.protocol in ("openai-completions", "openai-embeddings"):
        return no("the protocol has no place for images")
    messages = tuple(replace(one, images=(grey_square(64),)) for one in plain.tiny.messages)
    said = ask.ask(streaming=plain.tiny.streaming, messages=messages)
    if not said.answered:
        return said.otherwise()
    without, tokens = plain.seen.get("prompt_tokens"), said.seen["prompt_tokens"]
    if without is None or tokens is None:
        return yes("it is taken; usage does not tell whether it counts")
    if tokens <= without:
        return no(f"it is taken and left out: the prompt counts {tokens} tokens, and {without} without it")
    return yes(f"a square of 64 pixels counts {tokens - without} tokens", tokens - without)


def grey_square(pixels: int) -> str:
    """A PNG as a data URL."""

    def part(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", pixels, pixels, 8, 0, 0, 0, 0)
    rows = zlib.compress(b"".join(b"\x00" + b"\x80" * pixels for _ in range(pixels)))
    png = b"\x89PNG\r\n\x1a\n" + part(b"IHDR", head) + part(b"IDAT", rows) + part(b"IEND", b"")
    return "data:image/png;base64," + base64.b64encode(png).decode()


def _text(said: Said) -> str:
    return "" if said.reply is None else said.reply.body

"""A server that speaks five protocols well, and can be told to know less of each."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from paceline.protocols import PROTOCOLS, Protocol
from tests.support.fake_server import NOT_FOUND, Answer, Body, error, stream

WORDS = ("Hel", "lo", " there")


def named_stream(*events: dict[str, Any]) -> Answer:
    """Events with their type as their name, as responses and messages send them."""
    lines = [f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in events]
    return Answer(headers={"content-type": "text/event-stream"}, body="".join(lines).encode())


def whole(document: Any) -> Answer:
    return Answer(body=json.dumps(document).encode())


@dataclass
class Speaker:
    """Answers POSTs. `words` are one token each; a prompt costs 7 tokens, and one more for each image.

    protocols: which there are. refuses: fields of a body that it does not know. ends_early: how many words
    come where nothing asks for more; None: as many as are asked for. heeds: fields that it obeys. cached: it
    knows a prompt again.
    """

    protocols: Sequence[Protocol] = tuple(PROTOCOLS)
    refuses: Sequence[str] = ()
    ends_early: int | None = None
    heeds: Sequence[str] = (
        "ignore_eos",
        "min_tokens",
        "return_token_ids",
        "continuous_usage_stats",
        "logprobs",
    )
    cached: bool = True
    thinks: bool = False
    usage: bool = True
    images: bool = True
    calls_tools: bool = True
    seen: list[str] = field(default_factory=list)

    def __call__(self, path: str, body: Body) -> Answer:
        protocol = next((name for name in self.protocols if path == f"/v1{PROTOCOLS[name].path}"), None)
        if protocol is None:
            return NOT_FOUND
        for name in self.refuses:
            if name in body:
                return error(400, f"Unrecognized request argument supplied: {name}")
        if not self.images and "image" in json.dumps(body):
            return error(400, "this model has no eyes")
        usage = self._usage(protocol, body)
        words = self._words(body)
        match protocol:
            case "openai-embeddings":
                vectors = [{"index": 0, "object": "embedding", "embedding": [0.5, -0.25]}]
                return whole(
                    {"object": "list", "model": body["model"], "data": vectors, "usage": {"prompt_tokens": 7}}
                )
            case "openai-responses":
                return self._responses(body, words, usage)
            case "anthropic-messages":
                return self._messages(body, words, usage)
            case _:
                return self._openai(protocol, body, words, usage)

    def _words(self, body: Body) -> list[str]:
        limit = next((body[name] for name in body if name.startswith("max_")), 3)
        told = any(name in self.heeds and body.get(name) for name in ("ignore_eos", "min_tokens"))
        n = limit if told or self.ends_early is None else min(limit, self.ends_early)
        return [WORDS[k % len(WORDS)] for k in range(n)]

    def _usage(self, protocol: Protocol, body: Body) -> dict[str, int]:
        """(prompt, cached) of the body."""
        prompt = json.dumps(body.get("messages") or body.get("input") or body.get("prompt"))
        tokens = 7 + prompt.count("base64") + len(prompt) // 1000
        cached = tokens - 1 if self.cached and prompt in self.seen else 0
        self.seen.append(prompt)
        return {"prompt": tokens, "cached": cached}

    def _openai(self, protocol: Protocol, body: Body, words: list[str], usage: dict[str, int]) -> Answer:
        chat = protocol == "openai-chat"
        head = {"id": "c1", "model": body["model"], "created": 1}
        kind = "chat.completion" if chat else "text_completion"
        counts = {
            "prompt_tokens": usage["prompt"],
            "completion_tokens": len(words),
            "total_tokens": usage["prompt"] + len(words),
            "prompt_tokens_details": {"cached_tokens": usage["cached"]},
        }
        extras = (
            {"logprobs": {"content": [{"token": "x", "logprob": -0.5}]}}
            if self._asks(body, "logprobs")
            else {}
        )
        if not body["stream"]:
            text = "".join(words)
            said = {"message": {"role": "assistant", "content": text}} if chat else {"text": text}
            answer = {**said, "index": 0, "finish_reason": "stop", **extras}
            return whole(
                head | {"object": kind, "choices": [answer]} | ({"usage": counts} if self.usage else {})
            )
        options = body.get("stream_options") or {}
        events: list[Any] = []
        deltas: list[dict[str, Any]] = [{"content": word} if chat else {} for word in words]
        if self.thinks and chat:
            deltas.insert(0, {"reasoning_content": "hm"})
        if body.get("tools") and self.calls_tools:
            function = {"name": "get_time", "arguments": '{"city": "Paris"}'}
            deltas = [{"tool_calls": [{"index": 0, "id": "t1", "type": "function", "function": function}]}]
        for n, delta in enumerate(deltas):
            choice: dict[str, Any] = {"index": 0, **({"delta": delta} if chat else {"text": words[n]})}
            if self._asks(body, "return_token_ids"):
                choice["token_ids"] = [n]
            event: dict[str, Any] = head | {"object": kind + ".chunk" if chat else kind, "choices": [choice]}
            if self._asks(options, "continuous_usage_stats"):
                event["usage"] = counts | {"completion_tokens": n + 1}
            events.append(event)
        last: dict[str, Any] = {"index": 0, "delta": {}} if chat else {"index": 0, "text": ""}
        events.append(head | {"choices": [last | {"finish_reason": "stop"}]})
        if options.get("include_usage") and self.usage:
            events.append(head | {"choices": [], "usage": counts})
        return stream(*events)

    def _asks(self, holder: Body, name: str) -> bool:
        return name in self.heeds and bool(holder.get(name))

    def _responses(self, body: Body, words: list[str], usage: dict[str, int]) -> Answer:
        text = "".join(words)
        part = {"type": "output_text", "text": text, "annotations": []}
        item = {"type": "message", "id": "m1", "role": "assistant", "status": "completed", "content": [part]}
        counts = {
            "input_tokens": usage["prompt"],
            "output_tokens": len(words),
            "total_tokens": usage["prompt"] + len(words),
            "input_tokens_details": {"cached_tokens": usage["cached"]},
            "output_tokens_details": {"reasoning_tokens": 0},
        }
        done = {"id": "r1", "object": "response", "status": "completed", "model": body["model"]}
        done |= {"output": [item]} | ({"usage": counts} if self.usage else {})
        if not body["stream"]:
            return whole(done)
        created = {"id": "r1", "object": "response", "status": "in_progress", "model": body["model"]}
        place = {"item_id": "m1", "output_index": 0, "content_index": 0}
        return named_stream(
            {"type": "response.created", "response": created},
            *({"type": "response.output_text.delta", **place, "delta": word} for word in words),
            {"type": "response.output_text.done", **place, "text": text},
            {"type": "response.completed", "response": done},
        )

    def _messages(self, body: Body, words: list[str], usage: dict[str, int]) -> Answer:
        cached = usage["cached"]
        counts = {
            "input_tokens": usage["prompt"] - cached,
            "cache_read_input_tokens": cached,
            "output_tokens": 1,
        }
        head = {"id": "a1", "type": "message", "role": "assistant", "model": body["model"]}
        if not self.usage:
            counts = {}
        if not body["stream"]:
            content = [{"type": "text", "text": "".join(words)}]
            counts |= {"output_tokens": len(words)} if counts else {}
            return whole(head | {"content": content, "stop_reason": "end_turn", "usage": counts})
        start = head | {"content": [], "stop_reason": None, "usage": counts}
        return named_stream(
            {"type": "message_start", "message": start},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            *(
                {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": word}}
                for word in words
            ),
            {"type": "content_block_stop", "index": 0},
            {
                "type": "message_delta",
                "delta": {"stop_reason": "end_turn", "stop_sequence": None},
                "usage": {"output_tokens": len(words)} if counts else {},
            },
            {"type": "message_stop"},
        )

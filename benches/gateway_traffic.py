"""Mixed traffic for the soak: protocols, streams and whole answers, clients that leave, requests that are
wrong.

Each request names itself in `x-title`, which the ledger keeps, so that its line can be found. What a
client saw is one of:

- `whole`: status 200 and the protocol's end;
- `broken`: status 200, and an error in the stream or no end;
- `refused`: another status;
- `left`: it hung up, after a time drawn from the seed;
- `unconnected`: no answer at all.
"""

import asyncio
import json
import random
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import httpx

REQUEST_LIMIT_S = 60.0
LEAVES, MALFORMED, UNKNOWN_MODEL = 0.05, 0.01, 0.01
MODEL = "demo"
# (protocol, share, streams): what the soak's clients speak.
MIX = (
    ("openai-chat", 0.40),
    ("anthropic-messages", 0.25),
    ("openai-responses", 0.15),
    ("openai-completions", 0.10),
    ("openai-embeddings", 0.10),
)
PATHS = {
    "openai-chat": "/v1/chat/completions",
    "openai-completions": "/v1/completions",
    "openai-responses": "/api/v1/responses",
    "anthropic-messages": "/v1/messages",
    "openai-embeddings": "/v1/embeddings",
}
ENDS = {
    "openai-chat": b"data: [DONE]",
    "openai-completions": b"data: [DONE]",
    "openai-responses": b'"type":"response.completed"',
    "anthropic-messages": b'"type":"message_stop"',
}
# What an error looks like after the head, in each protocol's stream.
ERRORS = (b'"error":{', b"event: error", b'"type":"response.failed"')


@dataclass(frozen=True)
class Ask:
    """One request. leaves_after_s: when its client hangs up; None: it stays."""

    name: str
    protocol: str
    streaming: bool
    body: bytes
    leaves_after_s: float | None


@dataclass(frozen=True)
class Seen:
    """What its client saw. status: 0 where none came."""

    ask: Ask
    verdict: str
    status: int
    generation: str | None


@dataclass
class Counts:
    """What all clients have seen."""

    seen: list[Seen] = field(default_factory=list)
    under_way: int = 0

    def by_verdict(self) -> Counter[str]:
        """How many of each."""
        return Counter(one.verdict for one in self.seen)


def draw_ask(name: str, draw: random.Random) -> Ask:
    """A request of the mix."""
    (protocol,) = draw.choices([one for one, _ in MIX], [share for _, share in MIX])
    streaming = protocol != "openai-embeddings" and draw.random() < 0.7
    model = "nobody-has-it" if draw.random() < UNKNOWN_MODEL else MODEL
    words = f"{name} " + " ".join("word" for _ in range(draw.randint(5, 400)))
    body = document(protocol, model, words, draw.randint(1, 60), streaming)
    text = json.dumps(body).encode()
    if draw.random() < MALFORMED:
        text = text[: len(text) // 2]
    leaves_after_s = draw.uniform(0.0, 0.8) if draw.random() < LEAVES else None
    return Ask(name, protocol, streaming, text, leaves_after_s)


def document(protocol: str, model: str, prompt: str, tokens: int, streaming: bool) -> dict[str, object]:
    """A request in a protocol."""
    stream: dict[str, object] = {"stream": True} if streaming else {}
    messages = [{"role": "user", "content": prompt}]
    match protocol:
        case "openai-chat":
            return {"model": model, "messages": messages, "max_completion_tokens": tokens} | stream
        case "openai-completions":
            return {"model": model, "prompt": prompt, "max_tokens": tokens} | stream
        case "openai-responses":
            return {"model": model, "input": prompt, "max_output_tokens": max(tokens, 16)} | stream
        case "anthropic-messages":
            return {"model": model, "messages": messages, "max_tokens": tokens} | stream
        case _:
            return {"model": model, "input": prompt}


async def make(client: httpx.AsyncClient, ask: Ask, headers: Sequence[tuple[str, str]]) -> Seen:
    """Makes a request, as a client that stays to the end or leaves."""
    status, generation = 0, None
    got = bytearray()
    own = [*headers, ("content-type", "application/json"), ("x-title", ask.name)]
    try:
        async with asyncio.timeout(ask.leaves_after_s or REQUEST_LIMIT_S):
            async with client.stream("POST", PATHS[ask.protocol], content=ask.body, headers=own) as answer:
                status, generation = answer.status_code, answer.headers.get("x-generation-id")
                async for piece in answer.aiter_raw():
                    got += piece
        verdict = verdict_of(ask, status, bytes(got))
    except TimeoutError:
        verdict = "left" if ask.leaves_after_s is not None else "never ended"
    except httpx.HTTPError:
        verdict = "broken" if status == 200 else "unconnected"
    return Seen(ask, verdict, status, generation)


def verdict_of(ask: Ask, status: int, got: bytes) -> str:
    """`whole`, `broken` or `refused`."""
    if status != 200:
        return "refused"
    if not ask.streaming:
        with suppress(ValueError):
            return "broken" if json.loads(got).get("error") else "whole"
        return "broken"
    # A stream that was cut by its limit ends as `incomplete` in the Responses API.
    ended = ENDS[ask.protocol] in got or b'"type":"response.incomplete"' in got
    return "whole" if ended and not any(error in got for error in ERRORS) else "broken"


async def offer_load(
    base_url: str, headers: Sequence[tuple[str, str]], requests_s: float, seconds: float, counts: Counts
) -> None:
    """Makes requests of the mix, Poisson at a rate, for so long; returns when the last has ended."""
    draw = random.Random(1)
    loop = asyncio.get_running_loop()
    until = loop.time() + seconds
    due = loop.time()
    limits = httpx.Limits(max_connections=2_000, max_keepalive_connections=50)
    async with (
        httpx.AsyncClient(base_url=base_url, limits=limits, timeout=None) as client,
        asyncio.TaskGroup() as group,
    ):

        async def one(ask: Ask) -> None:
            counts.under_way += 1
            counts.seen.append(await make(client, ask, headers))
            counts.under_way -= 1

        number = 0
        while (due := due + draw.expovariate(requests_s)) < until:
            await asyncio.sleep(max(0.0, due - loop.time()))
            number += 1
            group.create_task(one(draw_ask(f"soak-{number}", draw)))

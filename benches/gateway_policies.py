"""The client of the routing simulation, and the policies that Paceline is compared with.

The policies pick an offer on the client's side and ask it without anything between. They have what a
gateway has that runs them: an offer that fails before its first token (connection, status 408, 409, 425,
429, 5xx, 401, 403, 404, an error in the stream, a cut, no first token in time) is followed by another, at
most three in all; `retry-after` is honoured; five failures in a row open an offer's breaker for 5 s,
which is doubled each time again. These are the gateway's own defaults. Where all offers are cooling down,
any is asked.
"""

import asyncio
import json
import random
import re
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from time import monotonic

from benches.gateway_world import MODEL, Offer, Request

FIRST_TOKEN_LIMIT_S = 2.5
REQUEST_LIMIT_S = 10.0
ATTEMPTS = 3
BREAKER_FAILURES, BREAKER_OPEN_S, BREAKER_MOST = 5, 5.0, 32.0
SAMPLES = 10
CLIENTS_OWN = (400, 413, 422)
TOKEN = re.compile(rb'"content":"[^"]')
RETRY_AFTER = re.compile(rb"\r\nretry-after: *(\d+)", re.IGNORECASE)


@dataclass(frozen=True)
class Answer:
    """How an offer answered: when its first token came, whether it ended well, and what it said where not."""

    first_token_s: float | None
    ended_well: bool
    status: int = 0
    retry_after_s: float = 0.0


@dataclass(frozen=True)
class Result:
    """How a request went for its client. ttft_ms: from the instant at which it was meant to be sent."""

    at_s: float
    deadline_ms: int
    ttft_ms: float | None
    outcome: str


def body(request: Request, *, tell_deadline: bool = False) -> bytes:
    """A streaming chat request of so many prompt tokens (words), which begins as no other does."""
    content = f"request-{request.number}" + " word" * (request.prompt_tokens - 1)
    document: dict[str, object] = {
        "model": MODEL,
        "messages": [{"role": "user", "content": content}],
        "stream": True,
        "max_tokens": request.output_tokens,
    }
    if tell_deadline:
        document["provider"] = {"deadline_ms": request.deadline_ms}
    return json.dumps(document).encode()


async def ask(
    address: str,
    content: bytes,
    headers: Sequence[tuple[str, str]],
    first_token_s: float,
    on_first: Callable[[float], None] | None = None,
) -> Answer:
    """Sends a request and reads its answer to the end, or until no first token has come in time."""
    host, port = address.rsplit(":", 1)
    got = bytearray()
    first: float | None = None
    writer = None
    try:
        async with asyncio.timeout(first_token_s) as limit:
            reader, writer = await asyncio.open_connection(host, int(port))
            lines = [f"{name}: {value}" for name, value in headers]
            head = [
                "POST /v1/chat/completions HTTP/1.1",
                f"host: {address}",
                "content-type: application/json",
                f"content-length: {len(content)}",
                "connection: close",
                *lines,
            ]
            writer.write("\r\n".join(head).encode() + b"\r\n\r\n" + content)
            while piece := await reader.read(65_536):
                got += piece
                if first is None and TOKEN.search(got):
                    first = monotonic()
                    if on_first is not None:
                        on_first(first)
                    limit.reschedule(asyncio.get_running_loop().time() + REQUEST_LIMIT_S)
    except (OSError, TimeoutError, asyncio.IncompleteReadError):
        pass
    finally:
        if writer is not None:
            writer.transport.abort()
            with suppress(OSError):
                await writer.wait_closed()
    status = int(got[9:12]) if len(got) > 12 else 0
    retry_after = RETRY_AFTER.search(got)
    ended_well = status == 200 and b"[DONE]" in got and b'"error":' not in got
    return Answer(first, ended_well, status, float(retry_after[1]) if retry_after else 0.0)


@dataclass
class State:
    """What a policy knows of an offer."""

    in_flight: int = 0
    ttft_s: deque[float] = field(default_factory=lambda: deque(maxlen=SAMPLES))
    failures: int = 0
    opened: float = 1.0
    closed_until: float = 0.0


class Policy:
    """Picks offers; the base of those below."""

    def __init__(self, offers: Sequence[Offer], seed: int) -> None:
        self.offers = offers
        self.states = [State() for _ in offers]
        self.draw = random.Random(seed)

    def pick(self, places: list[int]) -> int:
        """One of these places of `offers`."""
        raise NotImplementedError

    def next(self, tried: set[int]) -> int:
        """An offer that was not tried, and if there is one, that is not cooling down."""
        untried = [place for place in range(len(self.offers)) if place not in tried]
        now = monotonic()
        ready = [place for place in untried if self.states[place].closed_until <= now]
        place = self.pick(ready or untried)
        self.states[place].in_flight += 1
        return place

    def first_token(self, place: int, ttft_s: float) -> None:
        """An offer's first token has come."""
        state = self.states[place]
        state.ttft_s.append(ttft_s)
        state.failures, state.opened = 0, 1.0

    def ended(self, place: int, answer: Answer) -> None:
        """An offer's answer has ended, well or not."""
        state = self.states[place]
        state.in_flight -= 1
        if answer.first_token_s is not None:
            return
        # A failure counts as the slowest answer that is waited for.
        state.ttft_s.append(FIRST_TOKEN_LIMIT_S)
        state.failures += 1
        closed_s = answer.retry_after_s
        if state.failures >= BREAKER_FAILURES:
            closed_s = max(closed_s, BREAKER_OPEN_S * state.opened)
            state.opened = min(state.opened * 2.0, BREAKER_MOST)
        state.closed_until = max(state.closed_until, monotonic() + closed_s)


class Random(Policy):
    """Any of them."""

    def pick(self, places: list[int]) -> int:
        return self.draw.choice(places)


class RoundRobin(Policy):
    """Each in turn."""

    def __init__(self, offers: Sequence[Offer], seed: int) -> None:
        super().__init__(offers, seed)
        self.last = -1

    def pick(self, places: list[int]) -> int:
        self.last = min(places, key=lambda place: (place - self.last - 1) % len(self.offers))
        return self.last


class LowestMean(Policy):
    """The lowest mean time to first token of the last ten answers; one that was never asked goes first."""

    def pick(self, places: list[int]) -> int:
        def mean_s(place: int) -> float:
            samples = self.states[place].ttft_s
            return sum(samples) / len(samples) if samples else 0.0

        return min(places, key=lambda place: (mean_s(place), self.draw.random()))


class LeastLoad(Policy):
    """The fewest requests in flight, whichever of several."""

    def pick(self, places: list[int]) -> int:
        return min(places, key=lambda place: (self.states[place].in_flight, self.draw.random()))


class Cheapest(Policy):
    """The lowest price."""

    def pick(self, places: list[int]) -> int:
        return min(places, key=lambda place: self.offers[place].output_usd_per_mtok)


POLICIES: dict[str, type[Policy]] = {
    "random": Random,
    "round robin": RoundRobin,
    "lowest mean of 10": LowestMean,
    "least load": LeastLoad,
    "price only": Cheapest,
}


async def by_policy(policy: Policy, addresses: Sequence[str], request: Request, due: float) -> Result:
    """A request through a policy."""
    content = body(request)
    tried: set[int] = set()
    answer = Answer(None, False)
    for _ in range(ATTEMPTS):
        place = policy.next(tried)
        tried.add(place)
        began = monotonic()

        def on_first(at: float, place: int = place, began: float = began) -> None:
            policy.first_token(place, at - began)

        answer = await ask(addresses[place], content, [], FIRST_TOKEN_LIMIT_S, on_first)
        policy.ended(place, answer)
        if answer.first_token_s is not None or answer.status in CLIENTS_OWN:
            break
    return result(request, answer, due)


async def by_gateway(
    address: str, headers: Sequence[tuple[str, str]], request: Request, due: float, *, tell_deadline: bool
) -> Result:
    """A request through a gateway, which does all else."""
    content = body(request, tell_deadline=tell_deadline)
    answer = await ask(address, content, headers, REQUEST_LIMIT_S)
    return result(request, answer, due)


def result(request: Request, answer: Answer, due: float) -> Result:
    """A request's end for its client: `ok`, `broken` (after the first token), `failed`."""
    if answer.first_token_s is None:
        return Result(request.at_s, request.deadline_ms, None, f"failed {answer.status}")
    outcome = "ok" if answer.ended_well else "broken"
    return Result(request.at_s, request.deadline_ms, (answer.first_token_s - due) * 1_000, outcome)

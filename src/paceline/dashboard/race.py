"""Race: one prompt to two to four endpoints at once, told as it happens.

A process of its own asks the sides and stamps what comes (`race_reader`); here it is read as a run's answers
are, and told to whoever watches.
"""

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from paceline.catalogue.price import Price, PriceUnknown
from paceline.dashboard.race_lanes import Lane, Lanes
from paceline.dashboard.race_result import result_of, summary
from paceline.dashboard.race_side import Side
from paceline.endpoints.tiny import Tiny
from paceline.measure.probing import known_dialect
from paceline.protocols import Message, parse_protocol

FEWEST, MOST = 2, 4
MOST_PROMPT = 20_000
MOST_TOKENS, DEFAULT_TOKENS = 4_096, 256
MOST_SECONDS, DEFAULT_SECONDS = 180.0, 60.0
COMMAND = (sys.executable, "-m", "paceline.dashboard.race_reader")
# At most so often something is told, and at least so often.
_TICK_S, _QUIET_S = 0.05, 0.25
_LINE_BYTES = 1 << 24
# For the reader to start and to be done with its sides.
_GRACE_S = 30.0

Event = tuple[str, dict[str, Any]]
PriceOf = Callable[[Lane], Price | PriceUnknown]


class RaceOrder(BaseModel):
    """What a browser asks for. lanes: ids of `Lane`s; the same one twice shows how much chance alone does."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    lanes: Annotated[
        tuple[Annotated[str, StringConstraints(max_length=300)], ...],
        Field(min_length=FEWEST, max_length=MOST),
    ]
    prompt: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MOST_PROMPT)]
    max_tokens: int = Field(default=DEFAULT_TOKENS, ge=1, le=MOST_TOKENS)
    max_seconds: float = Field(default=DEFAULT_SECONDS, ge=1, le=MOST_SECONDS)


def sides_of(order: RaceOrder, lanes: Lanes) -> list[Side]:
    """The sides of a race. Raises ConfigError for a lane that is not there, or whose key cannot be had."""
    sides = []
    for number, lane_id in enumerate(order.lanes):
        lane = lanes.find(lane_id)
        protocol = parse_protocol(lane.protocol)
        target = lane.target().with_model(lane.model).with_protocol(protocol)
        tiny = Tiny(
            protocol,
            lane.model,
            streaming=True,
            messages=(Message("user", order.prompt),),
            extra=lane.extra,
            dialect=known_dialect(target, lane.model),
            limit=order.max_tokens,
        )
        sides.append(Side(number, lane, target, tiny, order.max_seconds))
    return sides


async def run_race(
    order: RaceOrder, sides: Sequence[Side], price_of: PriceOf, command: Sequence[str] = COMMAND
) -> AsyncIterator[Event]:
    """What happens, until every side has ended: `start`, many `tick`s, `end`.

    Closing the iterator closes every connection. An `error` in place of `end`: the reader itself has failed.
    """
    yield (
        "start",
        {
            "lanes": [{"lane": side.number, **side.lane.described()} for side in sides],
            "max_tokens": order.max_tokens,
            "max_seconds": order.max_seconds,
        },
    )
    race = _Race(sides, price_of)
    try:
        await race.begin(command)
        async for tick in race.ticks():
            yield "tick", tick
    finally:
        await race.close()
    if race.problem is not None:
        yield "error", {"message": race.problem}
        return
    yield "end", summary(sides, race.results)


class _Race:
    def __init__(self, sides: Sequence[Side], price_of: PriceOf) -> None:
        self._sides = sides
        self._price_of = price_of
        self._process: asyncio.subprocess.Process | None = None
        self._listening: asyncio.Task[None] | None = None
        self._news = asyncio.Event()
        self._latest_s = time.monotonic() + max(side.timeout_s for side in sides) * 2 + _GRACE_S
        self.results: dict[int, dict[str, Any]] = {}
        self.problem: str | None = None

    async def begin(self, command: Sequence[str]) -> None:
        self._process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            limit=_LINE_BYTES,
            # Ctrl-C is for the dashboard, which then lets go of this one.
            start_new_session=True,
        )
        self._listening = asyncio.create_task(self._listen())
        await self._tell({"ask": [side.order() for side in self._sides]})

    async def ticks(self) -> AsyncIterator[dict[str, Any]]:
        while True:
            # Not `wait_for`, which in Python 3.11 loses a cancellation that comes as its wait ends.
            with suppress(TimeoutError):
                async with asyncio.timeout(_QUIET_S):
                    await self._news.wait()
            self._news.clear()
            begun_s = time.monotonic()
            looked = await self._look()
            spent_s = time.monotonic() - begun_s
            yield {"lanes": looked}
            if len(self.results) == len(self._sides):
                return
            if self.problem is None and time.monotonic() > self._latest_s:
                self.problem = "the race has not come to its end in time"
            if self.problem is not None:
                return
            # A long answer takes long to read, each time: half of the time is left to others.
            await asyncio.sleep(max(_TICK_S, spent_s))

    async def _look(self) -> list[dict[str, Any]]:
        now_ns = time.monotonic_ns()
        told = []
        for side in self._sides:
            if side.number in self.results:
                continue
            if side.close_at_marker():
                await self._tell({"drop": side.number})
            if side.ask_again():
                await self._tell({"ask": [side.order()]})
            progress = side.progress(now_ns)
            if side.end is not None:
                result = result_of(side, self._price_of(side.lane))
                self.results[side.number] = progress["result"] = result
            told.append(progress)
            # Pages are not to wait for all sides at once.
            await asyncio.sleep(0)
        return told

    async def _listen(self) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        # What it says and cannot be read is its end, too.
        with suppress(ValueError, LookupError):
            while line := await self._process.stdout.readline():
                event = json.loads(line)
                self._sides[event["side"]].take(event)
                self._news.set()
        self.problem = "the process that asks the endpoints has ended"
        self._news.set()

    async def _tell(self, order: dict[str, Any]) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        # That it is gone shows where it is listened to.
        with suppress(BrokenPipeError, ConnectionResetError):
            self._process.stdin.write(json.dumps(order).encode() + b"\n")
            await self._process.stdin.drain()

    async def close(self) -> None:
        """End the reader, and with it all that still streams."""
        if self._listening is not None:
            self._listening.cancel()
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()

"""Watches a gateway once a second while anybody looks, however many look."""

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

import httpx

from paceline.dashboard.gateway import Watched, find_gateway
from paceline.dashboard.ledger_tail import LastRequest, last_requests
from paceline.dashboard.live_reading import MOST_BYTES, Rates, Reading, rates_between, read_gateway
from paceline.dashboard.state import State
from paceline.dashboard.work import in_thread

EVERY_S = 1.0
KEPT = 120
MOST_WATCHING = 24
_TIMEOUT_S = 2.0
# A reading of so long ago tells of now.
_FRESH_S = 3.0


@dataclass(frozen=True)
class Moment:
    """What the page shows. problem: why there is no reading, in words. history: of the last two minutes."""

    watched: Watched
    reading: Reading | None
    problem: str | None
    history: tuple[Rates, ...]
    last: tuple[LastRequest, ...]


class TooManyError(Exception):
    """As many watch as may."""


class Feed:
    """One for a dashboard; used from its event loop alone. `clock`: seconds, monotonic."""

    def __init__(self, state: State, clock: Callable[[], float] = time.monotonic) -> None:
        self._state = state
        self._clock = clock
        self._watching = 0
        self._before: Reading | None = None
        self._history: deque[Rates] = deque(maxlen=KEPT)
        self._moment: Moment | None = None
        self._made_s = 0.0
        self._lock = asyncio.Lock()

    async def now(self) -> Moment:
        """The present moment; of less than a second ago, the one that was."""
        async with self._lock:
            if self._moment is None or self._clock() - self._made_s >= EVERY_S * 0.9:
                self._moment = await self._look()
                self._made_s = self._clock()
            return self._moment

    def enter(self) -> Callable[[], None]:
        """Take a place among those who watch; what is returned gives it back. Raises TooManyError."""
        if self._watching >= MOST_WATCHING:
            raise TooManyError
        self._watching += 1
        places = [1]

        def leave() -> None:
            if places:
                self._watching -= places.pop()

        return leave

    async def moments(self) -> AsyncIterator[Moment]:
        """One about every second, without end."""
        while True:
            yield await self.now()
            await asyncio.sleep(EVERY_S)

    async def _look(self) -> Moment:
        watched, last = await in_thread(lambda: (find_gateway(self._state), last_requests(self._state.home)))
        if watched.url is None:
            self._forget()
            return Moment(watched, None, None, (), tuple(last))
        try:
            reading = await self._read(watched.url)
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            self._forget()
            why = f"{watched.url} does not answer ({type(error).__name__})"
            return Moment(watched, None, why, (), tuple(last))
        except (ValueError, OverflowError, RecursionError) as error:
            self._forget()
            return Moment(watched, None, f"{watched.url}: {error}", (), tuple(last))
        if self._before is not None:
            rates = rates_between(self._before, reading)
            if rates is None or reading.at_s - self._before.at_s > _FRESH_S * 20:
                self._history.clear()
            if rates is not None:
                self._history.append(rates)
        self._before = reading
        return Moment(watched, reading, None, tuple(self._history), tuple(last))

    def _forget(self) -> None:
        self._before = None
        self._history.clear()

    async def _read(self, url: str) -> Reading:
        # No proxy of the environment's: what is watched is this machine's, or named. Certificates are read
        # only where they are needed: it takes long, and is done each second. The whole has an end, too.
        async with (
            asyncio.timeout(2 * _TIMEOUT_S),
            httpx.AsyncClient(timeout=_TIMEOUT_S, trust_env=False, verify=url.startswith("https:")) as client,
        ):
            metrics, endpoints = await asyncio.gather(
                _text(client, f"{url}/metrics"), _text(client, f"{url}/endpoints")
            )
        return read_gateway(metrics, endpoints, self._clock())


async def _text(client: httpx.AsyncClient, url: str) -> str:
    """The text of a page. Raises httpx.HTTPError, and ValueError for what is no page or has no end."""
    async with client.stream("GET", url) as answer:
        if answer.status_code != 200:
            raise ValueError(
                f"it answers with {answer.status_code}: that is not a gateway's operators' address"
            )
        found = bytearray()
        async for piece in answer.aiter_bytes():
            found += piece
            if len(found) > MOST_BYTES:
                raise ValueError(f"its answer has more than {MOST_BYTES // 2**20} MiB")
    return found.decode("utf-8", "replace")

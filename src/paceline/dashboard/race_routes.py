"""`/race`: the page of races, and the stream of one."""

import asyncio
import json
import time
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from paceline.advisor.identity import KnownOffer
from paceline.catalogue.price import Price, PriceUnknown
from paceline.config import validate
from paceline.dashboard.events import EventStream
from paceline.dashboard.race import (
    DEFAULT_SECONDS,
    DEFAULT_TOKENS,
    MOST,
    MOST_PROMPT,
    MOST_SECONDS,
    MOST_TOKENS,
    PriceOf,
    RaceOrder,
    run_race,
    sides_of,
)
from paceline.dashboard.race_lanes import Lane, Lanes, find_lanes
from paceline.dashboard.race_side import Side
from paceline.dashboard.render import fill
from paceline.dashboard.state import State
from paceline.errors import PacelineError, UsageError

MOST_AT_ONCE, MOST_OF_ONE = 4, 1
_LOOK_EVERY_S = 0.05
PROMPT = "Explain in three short paragraphs why the sky is blue and sunsets are red."
_GROUPS = (
    ("offer", "Your offers"),
    ("gateway", "The running gateway"),
    ("url", "Allowed at the start"),
    ("run", "Endpoints of stored runs"),
)


class TooManyError(UsageError):
    """As many races run as may."""


class Room:
    """How many races run, and whose.

    Who has just stopped a race may start the next: it is waited `patience_s` for the first one to be gone.
    """

    def __init__(
        self, most: int = MOST_AT_ONCE, most_of_one: int = MOST_OF_ONE, patience_s: float = 1.0
    ) -> None:
        self._most = most
        self._most_of_one = most_of_one
        self._patience_s = patience_s
        self._running: Counter[str] = Counter()

    async def enter(self, client: str) -> Callable[[], None]:
        """Take a place; what is returned gives it back, once. Raises TooManyError."""
        until_s = time.monotonic() + self._patience_s
        while True:
            try:
                return self._take(client)
            except TooManyError:
                if time.monotonic() > until_s:
                    raise
            await asyncio.sleep(_LOOK_EVERY_S)

    def _take(self, client: str) -> Callable[[], None]:
        if self._running[client] >= self._most_of_one:
            raise TooManyError(
                "a race of yours is running already", "wait for its end, or stop it in its window"
            )
        if self._running.total() >= self._most:
            raise TooManyError(f"{self._most} races are running", "wait for the end of one")
        self._running[client] += 1
        left = [client]

        def leave() -> None:
            if left:
                self._running[left.pop()] -= 1

        return leave


def race_routes(state: State, *, urls: Sequence[str] = (), gateway_key_env: str | None = None) -> list[Route]:
    """The pages of races. urls: `URL MODEL` each, which may be raced besides what is stored.

    gateway_key_env: the variable that holds a key of the gateway's. Raises UsageError for a wrong URL.
    """
    room = Room()

    def lanes() -> Lanes:
        known: tuple[KnownOffer, ...] = ()
        notes: tuple[str, ...] = ()
        try:
            known = tuple(state.known())
        except PacelineError as error:
            notes = (error.message,)
        found = find_lanes(state.home, state.config, known, urls=urls, gateway_key_env=gateway_key_env)
        return Lanes(found.lanes, tuple(dict.fromkeys((*notes, *found.notes))))

    # A wrong one is told at the start, not in a page.
    find_lanes(state.home, state.home / "none", urls=urls)

    async def page(_request: Request) -> HTMLResponse:
        return HTMLResponse(await state.work.run(lambda: _page(lanes())))

    async def start(request: Request) -> ASGIApp:
        leave: Callable[[], None] = lambda: None  # noqa: E731
        try:
            order = validate(RaceOrder, await _document(request), "the race")
            leave = await room.enter(request.client.host if request.client else "")
            sides, price_of = await state.work.run(lambda: _ready(state, order, lanes()))
        except PacelineError as error:
            leave()
            status = 429 if isinstance(error, TooManyError) else 400
            return JSONResponse({"error": error.message, "hint": error.hint}, status)
        except BaseException:
            leave()
            raise
        return EventStream(lambda: run_race(order, sides, price_of), state.closing, leave)

    return [Route("/race", page), Route("/race/start", start, methods=["POST"])]


def _ready(state: State, order: RaceOrder, lanes: Lanes) -> tuple[list[Side], PriceOf]:
    """What reads files, before a race begins."""
    sides = sides_of(order, lanes)
    prices = {side.lane.id: _price(state, side.lane) for side in sides}
    return sides, lambda lane: prices[lane.id]


def _price(state: State, lane: Lane) -> Price | PriceUnknown:
    if lane.group == "gateway":
        return PriceUnknown("the gateway chooses whom it asks", "the page Usage has what each request cost")
    try:
        stated = lane.known.price if lane.known is not None else None
        now = datetime.now(UTC)
        return state.prices().price(lane.key, lane.endpoint, lane.model, lane.extra, stated, now)
    except PacelineError as error:
        return PriceUnknown(error.message, error.hint or "mend that file")


async def _document(request: Request) -> dict[str, Any]:
    try:
        found = json.loads(await request.body())
    except (ValueError, RecursionError):
        raise UsageError("the body is no JSON", "send one JSON object") from None
    if not isinstance(found, dict):
        raise UsageError("the body is no JSON object", "send one JSON object")
    return found


def _page(lanes: Lanes) -> str:
    free = [lane for lane in lanes.lanes if lane.why_not is None]
    # Two that differ, where there are two.
    chosen = [free[0].id, free[1 % len(free)].id] if free else []
    return fill(
        "race.html",
        {
            "title": "Race",
            "here": "/race",
            "groups": [
                (name, [lane for lane in lanes.lanes if lane.group == group]) for group, name in _GROUPS
            ],
            "chosen": [*chosen, *[""] * (MOST - len(chosen))],
            "barred": [lane for lane in lanes.lanes if lane.why_not is not None],
            "any": bool(free),
            "notes": lanes.notes,
            "prompt": PROMPT,
            "most_prompt": MOST_PROMPT,
            "tokens": DEFAULT_TOKENS,
            "most_tokens": MOST_TOKENS,
            "seconds": int(DEFAULT_SECONDS),
            "most_seconds": int(MOST_SECONDS),
        },
    )

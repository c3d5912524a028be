"""Server-sent events as an answer, which ends when its reader leaves or the dashboard closes."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, suppress
from typing import Any

from starlette.types import Receive, Scope, Send

Events = Callable[[], AsyncIterator[tuple[str, dict[str, Any]]]]


class EventStream:
    """An ASGI answer: each `(name, data)` is an event, its data as JSON.

    `events` is closed on every way out, so that what it holds (connections, processes) does not outlive its
    reader. `ended` is called after it.
    """

    def __init__(
        self, events: Events, closing: asyncio.Event, ended: Callable[[], None] = lambda: None
    ) -> None:
        self._events = events
        self._closing = closing
        self._ended = ended

    async def __call__(self, _: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        # No proxy may collect them.
        headers = [
            (b"content-type", b"text/event-stream; charset=utf-8"),
            (b"cache-control", b"no-store"),
            (b"x-accel-buffering", b"no"),
        ]
        try:
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            pouring = asyncio.create_task(self._pour(send))
            watching = [asyncio.create_task(_gone(receive)), asyncio.create_task(self._closing.wait())]
            try:
                await asyncio.wait({pouring, *watching}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in (pouring, *watching):
                    task.cancel()
                found = await asyncio.gather(pouring, *watching, return_exceptions=True)
            if isinstance(found[0], Exception) and not isinstance(found[0], OSError):
                raise found[0]
            with suppress(OSError):
                await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            self._ended()

    async def _pour(self, send: Send) -> None:
        async with aclosing(self._events()) as events:  # type: ignore[type-var]
            async for name, data in events:
                text = f"event: {name}\ndata: {json.dumps(data, allow_nan=False)}\n\n"
                await send({"type": "http.response.body", "body": text.encode(), "more_body": True})


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass

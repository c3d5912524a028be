"""Server-sent events end with their reader, and with the dashboard."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from paceline.dashboard.events import EventStream

Sent = list[dict[str, Any]]


class Watched:
    """Events without end, or so many; `closed` once they were closed."""

    def __init__(self, n: int | None = None, error: Exception | None = None) -> None:
        self.n, self.error = n, error
        self.closed = False
        self.left = 0

    async def __call__(self) -> AsyncIterator[tuple[str, dict[str, Any]]]:
        place = 0
        try:
            while self.n is None or place < self.n:
                yield "tick", {"place": place}
                place += 1
                await asyncio.sleep(0)
            if self.error is not None:
                raise self.error
        finally:
            self.closed = True

    def leave(self) -> None:
        assert self.closed
        self.left += 1


async def answer(
    events: Watched, *, leaves_after: int | None = None, closes_after: int | None = None, breaks: bool = False
) -> Sent:
    sent: Sent = []
    gone, closing = asyncio.Event(), asyncio.Event()
    asked = iter([{"type": "http.request", "body": b"", "more_body": False}])

    async def receive() -> dict[str, Any]:
        for message in asked:
            return message
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        if breaks and message["type"] == "http.response.body":
            raise OSError
        sent.append(message)
        if leaves_after is not None and len(sent) > leaves_after:
            gone.set()
        if closes_after is not None and len(sent) > closes_after:
            closing.set()

    await asyncio.wait_for(EventStream(events, closing, events.leave)({}, receive, send), 60)
    return sent


def test_events_to_their_end() -> None:
    events = Watched(3)
    sent = asyncio.run(answer(events))
    assert dict(sent[0]["headers"])[b"content-type"].startswith(b"text/event-stream")
    lines = sent[2]["body"].decode().splitlines()
    assert lines[0] == "event: tick"
    assert json.loads(lines[1].removeprefix("data: ")) == {"place": 1}
    assert sent[-1] == {"type": "http.response.body", "body": b"", "more_body": False}
    assert (events.closed, events.left) == (True, 1)


@pytest.mark.parametrize("how", [{"leaves_after": 3}, {"closes_after": 3}, {"breaks": True}])
def test_without_a_reader_nothing_goes_on(how: dict[str, Any]) -> None:
    events = Watched()
    asyncio.run(answer(events, **how))
    assert (events.closed, events.left) == (True, 1)


def test_what_fails_is_no_quiet_end() -> None:
    events = Watched(1, ValueError("unforeseen"))
    with pytest.raises(ValueError, match="unforeseen"):
        asyncio.run(answer(events))
    assert events.left == 1

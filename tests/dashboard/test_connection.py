"""Clients that say nothing, say it slowly, take nothing, or come in crowds."""

import asyncio
import contextlib
import functools
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import ParamSpec

import pytest
import uvicorn
from starlette.types import Receive, Scope, Send

from paceline.dashboard.connection import Connection

HEAD = b"POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 4\r\n\r\n"
ENDED = b""
_P = ParamSpec("_P")


def in_a_loop(test: Callable[_P, Awaitable[None]]) -> Callable[_P, None]:
    """A test that is a coroutine."""

    @functools.wraps(test)
    def run(*args: _P.args, **fields: _P.kwargs) -> None:
        async def whole() -> None:
            await test(*args, **fields)

        asyncio.run(whole())

    return run


async def app(_: Scope, receive: Receive, send: Send) -> None:
    """Reads a body; after the body `flow` it pours until nobody is there, else it says ok."""
    body, more = b"", True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    await send({"type": "http.response.start", "status": 200, "headers": []})
    gone: asyncio.Future[object] = asyncio.ensure_future(receive())
    while body == b"flow" and not gone.done():
        await send({"type": "http.response.body", "body": bytes(1 << 18), "more_body": True})
        await asyncio.sleep(0)
    gone.cancel()
    await send({"type": "http.response.body", "body": b"ok"})


@asynccontextmanager
async def listening(**limits: float) -> AsyncIterator[int]:
    kind = type("Short", (Connection,), limits)
    config = uvicorn.Config(app, http=kind, log_config=None, access_log=False, lifespan="off", ws="none")
    config.load()
    state = uvicorn.server.ServerState()
    server = await asyncio.get_running_loop().create_server(
        lambda: kind(config=config, server_state=state, app_state={}), "127.0.0.1", 0
    )
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


async def rest(reader: asyncio.StreamReader) -> bytes:
    """What comes until the server hangs up."""
    with contextlib.suppress(ConnectionResetError):
        return await reader.read()
    return ENDED


@pytest.mark.parametrize("begun", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: here\r\n", HEAD, HEAD + b"ab"])
@in_a_loop
async def test_who_does_not_come_to_the_point_is_hung_up_on(begun: bytes) -> None:
    async with listening(request_s=0.05) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(begun)
        assert await rest(reader) == ENDED
        writer.close()


@in_a_loop
async def test_a_letter_now_and_then_gives_no_more_time() -> None:
    async with listening(request_s=0.2) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        ended = asyncio.create_task(rest(reader))
        for _ in range(1000):
            if ended.done():
                break
            writer.write(b"x")
            await asyncio.sleep(0.01)
        assert await ended == ENDED
        writer.close()


@in_a_loop
async def test_requests_one_after_another_are_answered() -> None:
    async with listening() as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for _ in range(2):
            writer.write(HEAD)
            writer.write(b"body")
            assert (await reader.readuntil(b"0\r\n\r\n")).startswith(b"HTTP/1.1 200")
        writer.close()


@in_a_loop
async def test_a_time_that_is_over_does_not_end_an_answer_under_way() -> None:
    async with listening(request_s=0.02) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(HEAD + b"flow")
        await asyncio.sleep(0.1)
        # More than all buffers hold.
        await reader.readexactly(32 << 20)
        writer.close()


@in_a_loop
async def test_who_takes_nothing_is_hung_up_on() -> None:
    async with listening(stall_s=0.02) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 10)
        writer.write(HEAD + b"flow")
        await asyncio.sleep(0.3)
        with pytest.raises((ConnectionResetError, asyncio.IncompleteReadError)):
            await reader.readexactly(64 << 20)
        writer.close()


@in_a_loop
async def test_a_crowd_is_let_in_as_far_as_there_is_room() -> None:
    async with listening(most_open=4) as port:
        pairs = [await asyncio.open_connection("127.0.0.1", port) for _ in range(4)]
        reader, late = await asyncio.open_connection("127.0.0.1", port)
        assert await rest(reader) == ENDED
        late.close()
        for reader, writer in pairs:
            writer.write(HEAD + b"body")
            assert (await reader.readuntil(b"ok")).startswith(b"HTTP/1.1 200")
            writer.close()

"""Serve until Ctrl-C, which ends whatever still streams at once."""

import asyncio
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import uvicorn
from starlette.types import ASGIApp

from paceline.dashboard.connection import MOST_CONNECTIONS, Connection
from paceline.dashboard.state import State

# Answers that are being written may end; streams have been told to.
_GRACE_S = 1
_IDLE_S = 30
_MOST_HEAD_BYTES = 32 * 1024


class _Server(uvicorn.Server):
    """Signals are taken by `serve`, and are not raised again after the end: to be stopped is no failure."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """None."""
        yield


def serve(app: ASGIApp, state: State, listening: socket.socket, ready: Callable[[], None]) -> None:
    """Serve on a socket that listens, until SIGINT or SIGTERM. `ready` is called once it answers."""
    asyncio.run(_serve(app, state, listening, ready))


async def _serve(app: ASGIApp, state: State, listening: socket.socket, ready: Callable[[], None]) -> None:
    server = _Server(
        uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            lifespan="off",
            ws="none",
            http=Connection,
            loop="asyncio",
            server_header=False,
            proxy_headers=False,
            limit_concurrency=MOST_CONNECTIONS,
            timeout_keep_alive=_IDLE_S,
            timeout_graceful_shutdown=_GRACE_S,
            h11_max_incomplete_event_size=_MOST_HEAD_BYTES,
        )
    )

    def stop() -> None:
        state.closing.set()
        # A second one does not wait for anything.
        server.force_exit = server.should_exit
        server.should_exit = True

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        with suppress(NotImplementedError):
            loop.add_signal_handler(number, stop)
    ready()
    await server.serve(sockets=[listening])

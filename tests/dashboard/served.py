"""A dashboard that really listens, in a thread, for tests with a browser; and lanes of races."""

import asyncio
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvicorn

from paceline.advisor.identity import KnownOffer, OfferKey
from paceline.dashboard.app import create_app
from paceline.dashboard.place import bind
from paceline.dashboard.race_lanes import Lane
from paceline.dashboard.secret import Token
from paceline.dashboard.state import State
from paceline.endpoints.target import Target
from paceline.protocols import Protocol

TOKEN = "a-token-of-the-tests-0123456789"


def lane(url: str, model: str = "tiny", protocol: Protocol = "openai-chat", **fields: Any) -> Lane:
    """A lane to a base URL."""
    target = fields.pop("target", None) or Target.parse(url, model=model, protocol=protocol)
    return Lane(
        id=fields.pop("id", "url:0"),
        group="url",
        key=OfferKey(model, "test"),
        model=model,
        endpoint=target.display,
        protocol=protocol,
        target=lambda: target,
        **fields,
    )


def state_of(
    home: Path,
    *,
    port: int = 8090,
    config: Path | None = None,
    known: Callable[[], Sequence[KnownOffer]] = tuple,
) -> State:
    """The state of a dashboard on loopback, which need not listen."""
    from paceline.dashboard.place import Place

    return State(home, Place("127.0.0.1", port), Token(TOKEN), config or home / "paceline.toml", known)


@dataclass(frozen=True)
class Served:
    """url: with a slash at its end. entry: an address of one of its pages, with the token."""

    url: str
    state: State

    def entry(self, path: str) -> str:
        """Where a browser comes in at a page."""
        return f"{self.url}{path}#token={TOKEN}"


@contextmanager
def serving_dashboard(home: Path, *, race_urls: Sequence[str] = (), **fields: Any) -> Iterator[Served]:
    """A dashboard over a home until the block ends."""
    listening, place = bind("127.0.0.1", 0)
    with listening:
        state = state_of(home, port=place.port, **fields)
        app = create_app(state, race_urls=race_urls)
        server = uvicorn.Server(
            uvicorn.Config(app, log_config=None, lifespan="off", loop="asyncio", timeout_graceful_shutdown=1)
        )
        loops: list[asyncio.AbstractEventLoop] = []

        async def serve() -> None:
            loops.append(asyncio.get_running_loop())
            await server.serve(sockets=[listening])

        thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
        thread.start()
        try:
            yield Served(place.url, state)
        finally:
            if loops:
                loops[0].call_soon_threadsafe(state.closing.set)
            server.should_exit = True
            thread.join()

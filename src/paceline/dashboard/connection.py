"""A client's connection: what it sends comes in time, what it is sent is taken, and not too many are open."""

import asyncio
import logging

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

MOST_CONNECTIONS = 256
"""As many are served; more are told so."""

_MOST_OPEN = 512
REQUEST_S = 20.0
"""So long a client may take to send a request."""

STALL_S = 60.0
"""So long it may take nothing of what it is sent."""

# Its warnings are of what clients do wrong; the guard tells of what goes wrong here.
logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)


class Connection(H11Protocol):
    """Without this, whoever opens connections and says nothing would keep all others out."""

    request_s, stall_s = REQUEST_S, STALL_S
    most_open = _MOST_OPEN
    _late: asyncio.TimerHandle | None = None
    _stalled: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client has come."""
        super().connection_made(transport)
        if len(self.connections) > self.most_open:
            transport.abort()
            return
        self._watch()

    def data_received(self, data: bytes) -> None:
        """A piece of a request, or of several."""
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """The client has gone."""
        self._forget()
        self._taken()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """As much waits to be taken as may."""
        super().pause_writing()
        self._taken()
        self._stalled = self.loop.call_later(self.stall_s, self.transport.abort)

    def resume_writing(self) -> None:
        """It was taken."""
        self._taken()
        super().resume_writing()

    def _watch(self) -> None:
        """From the first byte that is awaited to the last of the body, one time limit holds."""
        if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
            self._forget()
        elif self._late is None:
            self._late = self.loop.call_later(self.request_s, self._hang_up)

    def _forget(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _taken(self) -> None:
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None

    def _hang_up(self) -> None:
        self._late = None
        if self.conn.their_state in (h11.IDLE, h11.SEND_BODY):
            self.transport.abort()

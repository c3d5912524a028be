"""A bound on the whole of an exchange, whatever the server does within it.

The HTTP client's own timeouts lie between two reads, so a server that drips a byte a second, or sends
interim answers without end, is never late for them.
"""

import socket
import struct
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Any, Self

_READ_BYTES = 1 << 20
# More than the system keeps for one connection.
_MOST_READS = 256


class Deadline:
    """As a context manager, ends the connections of what runs inside it after `timeout_s` seconds.

    `watch` is the client's trace callback: it learns of connections from there. Raises TimeoutError on
    leaving where the time ran out and the client took the end of the connection for the end of the answer.
    `connections`: how many were made.
    """

    def __init__(self, timeout_s: float) -> None:
        self.timeout_s = timeout_s
        self.expired = False
        self.connections = 0
        self._guard = threading.Lock()
        self._sockets: list[socket.socket] = []
        self._timer: threading.Timer | None = None

    def watch(self, event: str, info: Mapping[str, Any]) -> None:
        """Note a connection when it is made."""
        if not event.endswith("connect_tcp.complete"):
            return
        self.connections += 1
        made = info["return_value"].get_extra_info("socket")
        with self._guard:
            # Its own handle: TLS takes the client's away from the object that is known here.
            self._sockets.append(made.dup())
            late = self.expired
        if late:
            self._end()

    def close(self) -> None:
        """Let go of the handles."""
        with self._guard:
            for one in self._sockets:
                one.close()
            self._sockets.clear()

    def __enter__(self) -> Self:
        self.expired = False
        self._timer = threading.Timer(self.timeout_s, self._end)
        self._timer.daemon = True
        self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
            # One that has just gone off must not reach into the next exchange.
            self._timer.join()
        if self.expired and kind is None:
            raise TimeoutError

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """Ends the connections after a time that is short of the deadline; nothing is late by that."""
        timer = threading.Timer(seconds, self._shut)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            timer.join()

    def _end(self) -> None:
        with self._guard:
            self.expired = True
        self._shut()

    def _shut(self) -> None:
        with self._guard:
            for one in self._sockets:
                # A read that waits returns at once, and what still comes is refused by the system.
                with suppress(OSError):
                    # A server that writes against a full window would not learn of a plain close.
                    one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    one.shutdown(socket.SHUT_RDWR)
                    _drain(one)


def _drain(one: socket.socket) -> None:
    """Take away what has come and was not read: megabytes of small things keep a reader busy for minutes."""
    for _ in range(_MOST_READS):
        if not one.recv(_READ_BYTES, socket.MSG_DONTWAIT):
            return

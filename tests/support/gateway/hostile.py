"""An upstream that says what it is told to say, byte for byte."""

import contextlib
import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

# Of a connection's requests, from 0: its number and its bytes; what is answered. None: the connection ends.
Says = Callable[[int, bytes], bytes | None]

STREAM_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"


def event(text: str) -> bytes:
    return b'data: {"choices":[{"index":0,"delta":{"content":"%s"}}]}\n\n' % text.encode()


STOP = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'


def chunk(content: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(content), content)


def stream(text: str) -> bytes:
    """A whole answer of one token, as it should be."""
    return STREAM_HEAD + b"transfer-encoding: chunked\r\n\r\n" + chunk(event(text) + STOP) + b"0\r\n\r\n"


class Hostile:
    """A server on a port of its own, a thread a connection."""

    def __init__(self, says: Says, closes: bool) -> None:
        self._says, self._closes = says, closes
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}/v1"
        self.connections = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self.connections += 1
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        number, received = 0, b""
        with client, contextlib.suppress(OSError):
            while True:
                while (request := whole(received)) is None:
                    piece = client.recv(1 << 16)
                    if not piece:
                        return
                    received += piece
                received = received[len(request) :]
                answer = self._says(number, request)
                number += 1
                if answer is None:
                    return
                client.sendall(answer)
                if self._closes:
                    return

    def stop(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


def whole(received: bytes) -> bytes | None:
    """The first request of what has come, once it is whole."""
    head, end, _ = received.partition(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
    if not end or length is None:
        return None
    size = len(head) + len(end) + int(length.group(1))
    return received[:size] if len(received) >= size else None


@contextmanager
def hostile(says: Says, *, closes: bool = False) -> Iterator[Hostile]:
    """`closes`: after each answer, at once."""
    server = Hostile(says, closes)
    try:
        yield server
    finally:
        server.stop()

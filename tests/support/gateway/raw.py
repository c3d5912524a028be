"""A client by its socket: one that can wait, read slowly, and leave."""

import json
import socket
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

from paceline.protocols import Protocol
from tests.support.gateway.asks import path
from tests.support.gateway.engines import WAIT_S


class RawClient:
    """One connection. `received` is all that has come, head and chunks as they are."""

    def __init__(self, url: str, receive_buffer: int | None = None) -> None:
        parts = urlsplit(url)
        self._socket = socket.socket()
        if receive_buffer is not None:
            # Before the connect, or the window is agreed on already.
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self._socket.settimeout(WAIT_S)
        self._socket.connect((parts.hostname, parts.port))
        self.received = bytearray()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def send(self, data: bytes) -> None:
        self._socket.sendall(data)

    def post(self, protocol: Protocol, body: dict[str, Any], *headers: str) -> None:
        content = json.dumps(body).encode()
        lines = [
            "host: gateway",
            "content-type: application/json",
            *headers,
            f"content-length: {len(content)}",
        ]
        head = "\r\n".join(lines)
        self.send(f"POST {path(protocol)} HTTP/1.1\r\n{head}\r\n\r\n".encode() + content)

    def more(self) -> bool:
        """Reads some; False at the end."""
        piece = self._socket.recv(1 << 16)
        self.received += piece
        return bool(piece)

    def read_until(self, seen: Callable[[bytearray], bool]) -> None:
        while not seen(self.received):
            assert self.more(), self.received[-500:]

    def read_token_events(self, protocol: Protocol, count: int) -> None:
        """Until so many events with tokens have come."""
        mark = {
            "openai-chat": b'"content":" ',
            "openai-completions": b'"text":" ',
            "openai-responses": b"event: response.output_text.delta",
            "anthropic-messages": b'"text_delta"',
        }[protocol]
        self.read_until(lambda received: received.count(mark) >= count)

    def close(self) -> None:
        self._socket.close()

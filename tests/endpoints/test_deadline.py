"""Servers that never end, and are never late for a single read."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

from paceline.endpoints.client import Client
from paceline.endpoints.deadline import Deadline
from paceline.endpoints.target import Target
from paceline.errors import EndpointError

TIMEOUT_S = 0.3


@contextmanager
def talking(talk: Callable[[socket.socket, threading.Event], None]) -> Iterator[str]:
    """A server that hands each connection to `talk` until it is over; its URL."""
    over = threading.Event()
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with suppress(OSError):
            while True:
                connection, _ = listener.accept()
                with connection, suppress(OSError):
                    connection.recv(65536)
                    talk(connection, over)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        over.set()
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


def drip_head(connection: socket.socket, over: threading.Event) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nX: ")
    while not over.wait(TIMEOUT_S / 10):
        connection.sendall(b"a")


def interim_answers(connection: socket.socket, over: threading.Event) -> None:
    while not over.is_set():
        connection.sendall(b"HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n" * 50)


def drip_body(connection: socket.socket, over: threading.Event) -> None:
    # Its end is the connection's end, which the client's own giving up must not be taken for.
    connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
    while not over.wait(TIMEOUT_S / 10):
        connection.sendall(b"a")


def silence(connection: socket.socket, over: threading.Event) -> None:
    over.wait()


@pytest.mark.parametrize("talk", [drip_head, interim_answers, drip_body, silence])
def test_the_whole_exchange_ends_in_time(talk: Callable[[socket.socket, threading.Event], None]) -> None:
    with talking(talk) as url, Client(Target.parse(url), TIMEOUT_S) as client:
        with pytest.raises(EndpointError, match=r"no complete answer within 0\.3 s") as caught:
            client.get("/v1/models")
        assert "--timeout" in (caught.value.hint or "")


def test_a_connection_that_is_made_too_late_is_ended() -> None:
    ours, theirs = socket.socketpair()

    class Stream:
        def get_extra_info(self, name: str) -> socket.socket:
            assert name == "socket"
            return ours

    deadline = Deadline(60)
    deadline._end()
    deadline.watch("connection.connect_tcp.started", {})
    deadline.watch("connection.connect_tcp.complete", {"return_value": Stream()})
    assert theirs.recv(1) == b""
    deadline.close()
    ours.close()
    theirs.close()


def test_in_time_nothing_happens() -> None:
    with Deadline(60) as deadline:
        assert deadline._timer is not None
        timer = deadline._timer
    assert not timer.is_alive()
    assert not deadline.expired

"""The process that asks the sides of a race and stamps what they answer.

It does nothing else, so that a page which the dashboard makes meanwhile does not come into a side's times.
Orders come by stdin as lines of JSON, secrets among them; what happens goes out by stdout. It ends when stdin
does, which closes every connection.

    {"ask": [SIDE, ...]}    all at once
    {"drop": NUMBER}        close a side's connection

    SIDE: number, scheme, host, port, path, headers, body (text), ca_pem, timeout_s, most_bytes

    {"side", "kind": "sent", "ns", "connect_ns", "tls_ns"}    just before the request's first byte is written
    {"side", "kind": "head", "ns", "status", "content_type"}
    {"side", "kind": "body", "ns", "data"}                    base64, as it was read from the connection
    {"side", "kind": "end", "ns", "outcome", "error", "hint"} outcome: null as HTTP says that a body ends

Instants are CLOCK_MONOTONIC, ns.
"""

import asyncio
import base64
import json
import os
import ssl
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import httpx

from paceline import __version__
from paceline.endpoints.client import explain
from paceline.endpoints.target import Target

# Four sides, each with a bundle of certificates.
_ORDER_BYTES = 1 << 26


@dataclass
class _Times:
    """Of one request: durations of TCP connect and TLS handshake, ns, as the client library tells of them."""

    connect_ns: int | None = None
    tls_ns: int | None = None
    _since_ns: int = 0

    def see(self, event: str) -> int | None:
        """Take an event of the client's; the instant of sending, where it is that one."""
        now_ns = time.monotonic_ns()
        if event.endswith(("connect_tcp.started", "start_tls.started")):
            self._since_ns = now_ns
        elif event.endswith("connect_tcp.complete"):
            self.connect_ns = now_ns - self._since_ns
        elif event.endswith("start_tls.complete"):
            self.tls_ns = now_ns - self._since_ns
        elif event == "http11.send_request_headers.started":
            return now_ns
        return None


class Reader:
    """All sides, in one event loop."""

    def __init__(self) -> None:
        self._tasks: dict[int, asyncio.Task[None]] = {}

    async def obey(self, order: dict[str, Any]) -> None:
        """Do one order."""
        if "drop" in order:
            task = self._tasks.pop(order["drop"], None)
            if task is not None:
                task.cancel()
            return
        # What takes time, the roots of certificates above all, is done before the first one starts.
        clients = [(side, _client(side)) for side in order["ask"]]
        for side, client in clients:
            self._tasks[side["number"]] = asyncio.create_task(_ask(side, client))


def _client(side: dict[str, Any]) -> httpx.AsyncClient:
    secure = ssl.create_default_context(cadata=side["ca_pem"]) if side["scheme"] == "https" else False
    # As the load generator does: no proxy, no redirects; the whole exchange is bounded below.
    return httpx.AsyncClient(verify=secure, timeout=None, trust_env=False, follow_redirects=False)


async def _ask(side: dict[str, Any], client: httpx.AsyncClient) -> None:
    number: int = side["number"]
    outcome = error = hint = None
    try:
        async with client, asyncio.timeout(side["timeout_s"]):
            await _exchange(side, client)
    except TimeoutError:
        outcome, error = "timeout", f"not at its end within {side['timeout_s']:g} s"
    except _TooLargeError:
        outcome, error = "malformed", f"the answer is larger than {side['most_bytes'] // 1024} KiB"
    except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, OSError) as problem:
        connecting = isinstance(problem, httpx.ConnectError | httpx.ConnectTimeout)
        outcome = "connect_error" if connecting else "truncated"
        error, hint = explain(problem, _target(side), side["timeout_s"])
    _tell(side=number, kind="end", ns=time.monotonic_ns(), outcome=outcome, error=error, hint=hint)


class _TooLargeError(Exception):
    pass


async def _exchange(side: dict[str, Any], client: httpx.AsyncClient) -> None:
    number, times = side["number"], _Times()

    async def trace(event: str, _info: dict[str, Any]) -> None:
        sent_ns = times.see(event)
        if sent_ns is not None:
            _tell(side=number, kind="sent", ns=sent_ns, connect_ns=times.connect_ns, tls_ns=times.tls_ns)

    headers = [tuple(pair) for pair in side["headers"]]
    given = {name.lower() for name, _ in headers}
    own = [
        ("user-agent", f"paceline/{__version__}"),
        ("accept-encoding", "identity"),
        ("accept", "text/event-stream"),
        ("content-type", "application/json"),
    ]
    async with client.stream(
        "POST",
        _target(side).origin + side["path"],
        content=side["body"].encode(),
        headers=[pair for pair in own if pair[0] not in given] + headers,
        extensions={"trace": trace},
    ) as response:
        kind = response.headers.get("content-type")
        _tell(
            side=number, kind="head", ns=time.monotonic_ns(), status=response.status_code, content_type=kind
        )
        size = 0
        async for data in response.aiter_raw():
            ns = time.monotonic_ns()
            size += len(data)
            if size > side["most_bytes"]:
                raise _TooLargeError
            _tell(side=number, kind="body", ns=ns, data=base64.b64encode(data).decode("ascii"))


def _target(side: dict[str, Any]) -> Target:
    """The side's place, for its URL and for words about it: without what is secret."""
    return Target(side["scheme"], side["host"], side["port"], "", "openai-chat")


def _tell(**what: Any) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


async def _warm() -> None:
    """Load what the client library loads at its first connection, lest the first side wait for it."""
    import anyio
    import httpcore

    httpcore.AnyIOBackend()
    await anyio.sleep(0)


async def _serve() -> None:
    await _warm()
    reader = Reader()
    orders = asyncio.StreamReader(limit=_ORDER_BYTES)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(orders), sys.stdin)
    while line := await orders.readline():
        await reader.obey(json.loads(line))


def main() -> None:
    """Read orders until their end."""
    # Whoever listened is gone: nothing is left to do, and nobody to tell.
    with suppress(KeyboardInterrupt, BrokenPipeError):
        asyncio.run(_serve())
    os._exit(0)


if __name__ == "__main__":
    main()

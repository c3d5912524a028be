"""A plain HTTP client for the few questions before a run, and what its failures mean in words."""

import os
import re
import select
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from paceline import __version__
from paceline.endpoints.deadline import Deadline
from paceline.endpoints.target import Target
from paceline.errors import EndpointError

if TYPE_CHECKING:
    import httpx

# Enough of an answer to judge it, a long embedding included; a tiny request has no reason to give more.
MAX_BODY_BYTES = 1024 * 1024
# For the end of the body, which is sent with the end marker or not at all; and for closing the connection.
_TAIL_S = 0.5
_CLOSING_MS = 50
# An event so named, or so written, is the last of its stream (docs/design/0002).
_LAST_EVENT = re.compile(
    rb"\A(?:data: ?\[DONE\]|event: ?(?:message_stop|response\.(?:completed|incomplete|failed))\r?\n)"
)


@dataclass(frozen=True)
class Reply:
    """An answer to one request.

    headers: names in lower case. chunks: up to about `most_bytes` of the body, as pieces came. cut: the
    body had more than was read. elapsed_ms: from the sending to the end of what was read. sent_unix_s,
    headers_unix_s: this machine's clock at the sending and at the response head. reused: it came on a
    connection that was open before. streamed: it is a stream of events. ended: its body was read to the end,
    so that the connection can be used again, if the server lets it.
    """

    status: int
    headers: dict[str, str]
    chunks: tuple[bytes, ...]
    elapsed_ms: float
    sent_unix_s: float = 0.0
    headers_unix_s: float = 0.0
    cut: bool = False
    reused: bool = False
    streamed: bool = False
    ended: bool = True

    @cached_property
    def body(self) -> str:
        """The body as text; what is not UTF-8 is replaced."""
        return b"".join(self.chunks).decode("utf-8", "replace")


class Client:
    """Talks to a target as the load generator will: same headers, same certificates, no proxy, no redirects.

    Proxy settings of the environment are left aside on purpose: the load generator connects directly, so a
    check through a proxy would prove nothing, and times through one would be the proxy's.
    """

    def __init__(self, target: Target, timeout_s: float, *, most_bytes: int = MAX_BODY_BYTES) -> None:
        import httpx

        self.target = target
        self._most_bytes = most_bytes
        self.timeout_s = timeout_s
        self._deadline = Deadline(timeout_s)
        self._http = httpx.Client(
            verify=target.ssl_context() if target.scheme == "https" else False,
            timeout=timeout_s,
            trust_env=False,
            follow_redirects=False,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()
        self._deadline.close()

    def get(self, path: str, target: Target | None = None, accept: str = "application/json") -> Reply:
        """GET a path of the target's origin; EndpointError when no answer comes.

        `target`: the client's own, in another protocol, whose headers are then sent.
        """
        return self._send(target or self.target, "GET", path, None, accept)

    def post(self, target: Target, body: dict[str, Any], streaming: bool) -> Reply:
        """POST a JSON body to a target's path; EndpointError when no answer comes.

        `target` is the client's own, or the same in another protocol.
        """
        accept = "text/event-stream" if streaming else "application/json"
        return self._send(target, "POST", target.path, body, accept)

    def _send(
        self, target: Target, method: str, path: str, body: dict[str, Any] | None, accept: str
    ) -> Reply:
        with _failures_in_words(target, self._deadline), self._deadline:
            connections = self._deadline.connections
            started, sent_unix_s = time.perf_counter(), time.time()
            with self._http.stream(
                method,
                target.origin + path,
                json=body,
                headers=_headers(target, accept),
                extensions={"trace": self._deadline.watch},
            ) as response:
                headers_unix_s = time.time()
                if method == "POST":
                    self._refuse_encoding(response)
                # As it came: decoding could make a thousand times as much of it.
                parts = response.iter_raw()
                chunks, cut = _read(parts, self._most_bytes)
                streamed = response.headers.get("content-type", "").startswith("text/event-stream")
                ended = not cut and (not streamed or self._finished(response, parts))
            return Reply(
                status=response.status_code,
                headers={name.lower(): value for name, value in response.headers.items()},
                chunks=chunks,
                elapsed_ms=(time.perf_counter() - started) * 1000,
                sent_unix_s=sent_unix_s,
                headers_unix_s=headers_unix_s,
                cut=cut,
                reused=self._deadline.connections == connections,
                streamed=streamed,
                ended=ended,
            )

    def _finished(self, response: "httpx.Response", parts: Iterator[bytes]) -> bool:
        """Read what is behind a stream's end marker, if it ends soon; whether it did.

        A server that closes the connection then has a moment to do so, lest the next request cross that.
        """
        import httpx

        with self._deadline.within(_TAIL_S), suppress(httpx.HTTPError, httpx.StreamError, OSError):
            for _ in parts:
                pass
            connection = response.extensions["network_stream"].get_extra_info("socket")
            if connection is not None and connection.fileno() >= 0:
                closing = select.poll()
                closing.register(connection, select.POLLIN)
                closing.poll(_CLOSING_MS)
            return True
        return False

    def _refuse_encoding(self, response: "httpx.Response") -> None:
        """The load generator asks for none and reads none: decoding would be part of what it measures."""
        encoding = response.headers.get("content-encoding", "").strip()
        if encoding and encoding.lower() != "identity":
            raise EndpointError(
                f"{self.target.display}: the answer comes in content-encoding "
                f"{self.target.redact(encoding)[:40]}, though none but identity was asked for",
                "turn compression off in the server, or in the proxy before it",
            )


def _headers(target: Target, accept: str) -> list[tuple[str, str]]:
    own = [("user-agent", f"paceline/{__version__}"), ("accept-encoding", "identity"), ("accept", accept)]
    given = {name.lower() for name, _ in target.headers}
    return [pair for pair in own if pair[0] not in given] + target.all_headers()


def _read(parts: Iterator[bytes], most_bytes: int) -> tuple[tuple[bytes, ...], bool]:
    """Pieces of the body, and whether there was more than is read."""
    chunks: list[bytes] = []
    size, event = 0, bytearray()
    for part in parts:
        chunks.append(part)
        size += len(part)
        if size > most_bytes:
            return tuple(chunks), True
        event += part
        # Some servers keep the connection open behind the end marker.
        if event.endswith((b"\n\n", b"\r\n\r\n")):
            last = re.split(rb"\r?\n\r?\n", event.rstrip())[-1]
            if _LAST_EVENT.match(last):
                return tuple(chunks), False
            event.clear()
    return tuple(chunks), False


@contextmanager
def _failures_in_words(target: Target, deadline: Deadline) -> Iterator[None]:
    import httpx

    try:
        yield
    except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, TimeoutError) as error:
        message, hint = explain(error, target, deadline.timeout_s, expired=deadline.expired)
        raise EndpointError(f"{target.display}: {target.redact(message)}", hint) from None


def explain(error: Exception, target: Target, timeout_s: float, *, expired: bool = False) -> tuple[str, str]:
    """What an error of the HTTP client means, and what to do. `expired`: we ended it, as it took too long.

    Not redacted: what is said may hold what the server said.
    """
    import httpx

    if expired:
        return _explain_timeout(timeout_s)
    cause = _cause(error)
    if isinstance(cause, ssl.SSLError):
        return _explain_tls(cause)
    if isinstance(cause, socket.gaierror):
        return (
            f"the host name {target.host!r} cannot be resolved: {cause.strerror}",
            "check the spelling of the host, and this machine's DNS",
        )
    where = f"{target.host} port {target.port}"
    if isinstance(error, httpx.ConnectTimeout):
        return f"no connection to {where} within {timeout_s:g} s", _reach_hint()
    if isinstance(error, httpx.TimeoutException):
        return _explain_timeout(timeout_s)
    if isinstance(error, httpx.ConnectError):
        if isinstance(cause, ConnectionRefusedError):
            return f"connection refused: nothing listens at {where}", _reach_hint()
        reason = cause.strerror if isinstance(cause, OSError) and cause.strerror else str(error)
        return f"no connection to {where}: {reason}", _reach_hint()
    hint = "is this the port of the HTTP API? a server that speaks TLS needs https:// in the URL"
    return f"the connection was closed or broken before the answer was complete: {error}", hint


def _explain_timeout(timeout_s: float) -> tuple[str, str]:
    return (
        f"no complete answer within {timeout_s:g} s",
        "the server may still be loading the model, or be overloaded: wait, or give a longer --timeout",
    )


def _explain_tls(cause: ssl.SSLError) -> tuple[str, str]:
    if isinstance(cause, ssl.SSLCertVerificationError):
        return (
            f"the server's certificate is not trusted: {cause.verify_message}",
            "give the CA that signed it (--ca-file), and the host name that the certificate is for",
        )
    reason = (cause.reason or "").replace("_", " ").lower()
    hint = "does the server speak TLS at this port at all? if not, use http://"
    return f"the TLS handshake failed: {reason or cause.strerror or 'unknown reason'}", hint


def _cause(error: BaseException) -> BaseException | None:
    """The operating system's or TLS's own error, which the client library wraps."""
    seen: BaseException | None = error
    found: BaseException | None = None
    for _ in range(10):
        if seen is None:
            break
        if isinstance(seen, OSError):
            found = seen
            # One without a number is the library's own summary of what is behind it.
            if seen.errno is not None:
                break
        # Several addresses were tried: the first one's failure stands for all.
        first = seen.exceptions[0] if isinstance(seen, BaseExceptionGroup) else None
        seen = first or seen.__cause__ or seen.__context__
    return found


def _reach_hint() -> str:
    hint = "check that the server runs, and its host and port"
    if any(
        os.environ.get(name) or os.environ.get(name.lower())
        for name in ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY")
    ):
        hint += "; a proxy is set in the environment, and Paceline connects directly, never through a proxy"
    return hint

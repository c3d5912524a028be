"""A plain HTTP client for the few questions before a run, and what its failures mean in words."""

import os
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from paceline import __version__
from paceline.endpoints.deadline import Deadline
from paceline.endpoints.target import Target
from paceline.errors import EndpointError

if TYPE_CHECKING:
    import httpx

# Enough of an answer to judge it; a tiny request has no reason to give more.
MAX_BODY_BYTES = 256 * 1024


@dataclass(frozen=True)
class Reply:
    """An answer: status, lower-case header names, up to MAX_BODY_BYTES of body, and the time to its end."""

    status: int
    headers: dict[str, str]
    body: str
    elapsed_ms: float


class Client:
    """Talks to a target as the load generator will: same headers, same certificates, no proxy, no redirects.

    Proxy settings of the environment are left aside on purpose: the load generator connects directly, so a
    check through a proxy would prove nothing, and times through one would be the proxy's.
    """

    def __init__(self, target: Target, timeout_s: float) -> None:
        import httpx

        self.target = target
        self.timeout_s = timeout_s
        self._deadline = Deadline(timeout_s)
        own = [("user-agent", f"paceline/{__version__}"), ("accept-encoding", "identity")]
        given = {name.lower() for name, _ in target.headers}
        headers = [pair for pair in own if pair[0] not in given] + target.all_headers()
        self._http = httpx.Client(
            verify=target.ssl_context() if target.scheme == "https" else False,
            headers=headers,
            timeout=timeout_s,
            trust_env=False,
            follow_redirects=False,
        )

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()
        self._deadline.close()

    def get(self, path: str) -> Reply:
        """GET a path of the target's origin; EndpointError when no answer comes."""
        return self._send("GET", path, None, "application/json")

    def post(self, path: str, body: dict[str, Any], streaming: bool) -> Reply:
        """POST a JSON body; EndpointError when no answer comes."""
        return self._send("POST", path, body, "text/event-stream" if streaming else "application/json")

    def _send(self, method: str, path: str, body: dict[str, Any] | None, accept: str) -> Reply:
        url = self.target.origin + path
        with _failures_in_words(self.target, self._deadline), self._deadline:
            started = time.perf_counter()
            with self._http.stream(
                method,
                url,
                json=body,
                headers={"accept": accept},
                extensions={"trace": self._deadline.watch},
            ) as response:
                if method == "POST":
                    self._refuse_encoding(response)
                read = _read(response)
            elapsed_ms = (time.perf_counter() - started) * 1000
            headers = {name.lower(): value for name, value in response.headers.items()}
            return Reply(response.status_code, headers, read.decode("utf-8", "replace"), elapsed_ms)

    def _refuse_encoding(self, response: "httpx.Response") -> None:
        """The load generator asks for none and reads none: decoding would be part of what it measures."""
        encoding = response.headers.get("content-encoding", "").strip()
        if encoding and encoding.lower() != "identity":
            raise EndpointError(
                f"{self.target.display}: the answer comes in content-encoding "
                f"{self.target.redact(encoding)[:40]}, though none but identity was asked for",
                "turn compression off in the server, or in the proxy before it",
            )


def _read(response: "httpx.Response") -> bytes:
    read = bytearray()
    for part in response.iter_bytes():
        read += part
        # Some servers keep the connection open behind the end marker.
        if len(read) > MAX_BODY_BYTES or read.endswith(b"data: [DONE]\n\n"):
            break
    return bytes(read)


@contextmanager
def _failures_in_words(target: Target, deadline: Deadline) -> Iterator[None]:
    import httpx

    try:
        yield
    except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, TimeoutError) as error:
        message, hint = _explain(error, target, deadline)
        raise EndpointError(f"{target.display}: {target.redact(message)}", hint) from None


def _explain(error: Exception, target: Target, deadline: Deadline) -> tuple[str, str]:
    import httpx

    timeout_s = deadline.timeout_s
    if deadline.expired:
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
    for _ in range(10):
        if seen is None or isinstance(seen, OSError):
            return seen
        seen = seen.__cause__ or seen.__context__
    return None


def _reach_hint() -> str:
    hint = "check that the server runs, and its host and port"
    if any(
        os.environ.get(name) or os.environ.get(name.lower())
        for name in ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY")
    ):
        hint += "; a proxy is set in the environment, and Paceline connects directly, never through a proxy"
    return hint

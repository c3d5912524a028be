"""Where the dashboard listens, and by which names it may be called there."""

import ipaddress
import socket
from dataclasses import dataclass
from urllib.parse import urlsplit

from paceline.errors import UsageError

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
_BACKLOG = 128


@dataclass(frozen=True)
class Place:
    """A bound address. names: further hosts that the `Host` header may name, lower case."""

    host: str
    port: int
    names: frozenset[str] = frozenset()

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine reaches it."""
        return _is_loopback(self.host)

    @property
    def url(self) -> str:
        """Where a browser on this machine finds it, with a slash at its end."""
        host = self.host
        if ipaddress.ip_address(host).is_unspecified:
            host = "127.0.0.1" if ":" not in host else "::1"
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}/"

    def is_called(self, header: str | None) -> bool:
        """Whether a `Host` header names this dashboard.

        A page of a stranger whose name was pointed to this address (DNS rebinding) sends the stranger's name.
        """
        host = _host_of(header)
        if host is None:
            return False
        if host in self.names or host in LOOPBACK:
            return True
        if self.is_loopback:
            return _is_loopback(host)
        # A page that was loaded by an address is that address's own: no name stands between them.
        return _is_address(host) or host == socket.gethostname().lower()


def bind(host: str, port: int, names: tuple[str, ...] = ()) -> tuple[socket.socket, Place]:
    """A socket that listens, and its place. Raises UsageError where the address cannot be had."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        made = socket.socket(family, kind, protocol)
        try:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            made.bind(address)
            made.listen(_BACKLOG)
        except BaseException:
            made.close()
            raise
    except (OSError, UnicodeError, OverflowError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise UsageError(f"cannot listen on {host}:{port}: {why}", _hint(str(why))) from None
    bound = made.getsockname()
    known = frozenset(name.lower() for name in (*names, host))
    return made, Place(str(bound[0]), int(bound[1]), known)


def _hint(why: str) -> str:
    if "in use" in why:
        return "another server has that port: give another with --port, or 0 for a free one"
    if "denied" in why:
        return "ports below 1024 are root's: give a higher one with --port"
    return "give an address of this machine with --host, as 127.0.0.1"


def _host_of(header: str | None) -> str | None:
    if not header:
        return None
    try:
        parts = urlsplit(f"//{header}")
        _ = parts.port
    except ValueError:
        return None
    # Nothing but a host and its port.
    return parts.hostname if parts.netloc == header and "@" not in header else None


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _is_loopback(host: str) -> bool:
    return host == "localhost" or (_is_address(host) and ipaddress.ip_address(host).is_loopback)

"""Who listens on a port of this machine, as /proc tells."""

import errno
import os
import socket
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

from paceline.engines.engine import Address
from paceline.engines.processes import PROC, command_name, processes
from paceline.errors import UsageError

_LISTEN = "0A"


@dataclass(frozen=True, slots=True)
class Listener:
    """A socket that listens. address: of IP. uid: whose it is."""

    address: str
    inode: int
    uid: int


def check_port(address: Address) -> None:
    """Raise UsageError where the address cannot be had: taken, and by whom; not of this machine; root's."""
    try:
        found = socket.getaddrinfo(
            address.host.strip("[]") or None,
            address.port,
            type=socket.SOCK_STREAM,
            flags=socket.AI_PASSIVE,
        )
    except (OSError, UnicodeError) as error:
        raise _refused(address, getattr(error, "strerror", None) or str(error)) from None
    refused: list[OSError] = []
    for family, kind, protocol, _, place in found:
        try:
            with socket.socket(family, kind, protocol) as probe:
                # As engines do: connections of an engine that has ended do not hold the port.
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(place)
                probe.listen(1)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                who = ", ".join(_who(one) for one in listeners(address)) or "another process listens there"
                taken = f"port {address.port} is taken: {who}"
                raise UsageError(taken, "stop it, or give another --port") from None
            refused.append(error)
    # A name may stand for an address of a kind that this machine has not.
    if len(refused) == len(found):
        raise _refused(address, refused[0].strerror or str(refused[0]))


def _refused(address: Address, why: str) -> UsageError:
    root = "ports below 1024 are root's: give a higher one" if "denied" in why else None
    return UsageError(
        f"cannot listen on {address.host or '0.0.0.0'}:{address.port}: {why}",
        root or "give an address of this machine: --host 127.0.0.1",
    )


def listeners(address: Address) -> list[Listener]:
    """All that listen where a client of this address could come to them; none where /proc does not tell."""
    wanted = _addresses(address.host)
    return [
        one
        for name in ("tcp", "tcp6")
        for one in _table(PROC / "net" / name, address.port)
        if wanted is None or _any(one.address) or one.address in wanted
    ]


def strangers(address: Address, own: Callable[[], Iterable[int]]) -> list[str]:
    """Who else listens on an engine's address, in words; `own` lists its processes by id.

    Such a socket answers in the engine's place, or takes a part of its connections. One whose holder cannot
    be seen counts where it is another user's.
    """
    found = listeners(address)
    holders = _holders({one.inode for one in found})
    mine = set(own())
    return [
        _who(one, holders)
        for one in found
        if (holders[one.inode] not in mine if one.inode in holders else one.uid != os.geteuid())
    ]


def _who(one: Listener, holders: dict[int, int] | None = None) -> str:
    pid = (_holders({one.inode}) if holders is None else holders).get(one.inode)
    if pid is None:
        return f"a process of user {one.uid} listens there"
    name = command_name(pid)
    return f"process {pid} ({name}) listens there" if name.isprintable() and name else f"process {pid}"


def _addresses(host: str) -> set[str] | None:
    """IP addresses of a host; None where it stands for all of the machine's."""
    host = host.strip("[]")
    if not host or _any(host):
        return None
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError:
        return None
    return {str(one[4][0]).partition("%")[0] for one in found}


def _any(address: str) -> bool:
    return address in ("0.0.0.0", "::")


def _table(path: Path, port: int) -> list[Listener]:
    """Sockets that listen on a port, by one of the kernel's tables."""
    try:
        lines = path.read_text().splitlines()[1:]
    except OSError:
        return []
    found = []
    for line in lines:
        fields = line.split()
        host, _, number = fields[1].rpartition(":")
        if fields[3] == _LISTEN and int(number, 16) == port:
            found.append(Listener(_ip(host), int(fields[9]), int(fields[7])))
    return found


def _ip(written: str) -> str:
    """The kernel writes an address as words of 32 bits, each in the order of the machine."""
    raw = bytes.fromhex(written)
    if sys.byteorder == "little":
        raw = b"".join(raw[place : place + 4][::-1] for place in range(0, len(raw), 4))
    address = ip_address(raw)
    mapped = getattr(address, "ipv4_mapped", None)
    return str(mapped or address)


def _holders(inodes: set[int]) -> dict[int, int]:
    """Sockets, and a process that holds each, where it can be seen."""
    wanted = {f"socket:[{inode}]": inode for inode in inodes}
    found: dict[int, int] = {}
    for one in processes() if wanted else ():
        if len(found) == len(wanted):
            break
        with suppress(OSError):
            for handle in os.scandir(PROC / str(one.pid) / "fd"):
                with suppress(OSError):
                    inode = wanted.get(os.readlink(handle.path))  # noqa: PTH115
                    if inode is not None:
                        found.setdefault(inode, one.pid)
    return found

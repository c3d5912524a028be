"""Whether the gateway's ports are free, in words."""

import socket

from paceline.control.config import GatewayConfig
from paceline.errors import UsageError


def check_ports(config: GatewayConfig) -> None:
    """Raise UsageError where an address is taken.

    The event loops of a data plane share their port, and would share it with those of another gateway, too.
    """
    for key, address in (("listen", config.listen), ("admin_listen", config.admin_listen)):
        if not isinstance(address, str):
            continue
        host, _, port = address.rpartition(":")
        try:
            found = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_STREAM)[0]
            with socket.socket(found[0], found[1], found[2]) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(found[4])
                probe.listen(1)
        except OSError as error:
            message = f"cannot listen on {address} ({key}): {error.strerror}"
            raise UsageError(message, listen_hint(message)) from None


def listen_hint(message: str) -> str | None:
    """What to do where an address cannot be had; None where the message is of something else."""
    if "listen" not in message:
        return None
    if "in use" in message:
        return "another gateway or server has that port (ss -ltnp shows which): stop it, or give another"
    if "denied" in message:
        return "ports below 1024 are root's: give a higher one"
    return "give an address of this machine, as 127.0.0.1:8080 or 0.0.0.0:8080"

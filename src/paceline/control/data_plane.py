"""The data plane's process: the Rust gateway, told what to do on stdin, answering on stdout.

One JSON document a line (docs/design/0003-gateway.md). It imports nothing that is large: what stays in memory
here is counted as the gateway's. It ends when its stdin does, once what is in flight has ended.
"""

import json
import os
import select
import signal
import sys
from typing import Any, Protocol

_READ_BYTES = 1 << 20
# How often it is looked whether all has ended; only while it drains.
_DRAIN_LOOK_S = 0.02


class Gateway(Protocol):
    """`paceline._core.Gateway`, started with `paceline.gateway/1` and `paceline.routes/1`."""

    def __init__(self, settings_json: str, table_json: str) -> None: ...
    def start(self) -> str:
        """Listen; the addresses as JSON."""

    def swap(self, table_json: str) -> None:
        """Take another table; ValueError where it is wrong, and the old one stays."""

    def stats(self) -> str:
        """Counters as JSON."""

    def drain(self) -> None:
        """Take nothing new."""

    def finished(self) -> bool:
        """Drained, and nothing is in flight."""

    def stop(self) -> None:
        """End what is left."""


class Served:
    """A gateway by its orders."""

    def __init__(self, gateway_class: type[Gateway]) -> None:
        self._class = gateway_class
        self._gateway: Gateway | None = None
        self.draining = False
        self.ended = False

    def answer(self, line: bytes) -> dict[str, Any]:
        """Do what a line says; what is answered. Nothing of the line is repeated, since it holds keys."""
        try:
            order = json.loads(line)
            return {"ok": True, **self._do(order["do"], order)}
        except (KeyError, TypeError, json.JSONDecodeError) as error:
            return {"ok": False, "error": f"not an order: {type(error).__name__}"}
        except OSError as error:
            return {"ok": False, "error": error.strerror or str(error)}
        except (ValueError, RuntimeError) as error:
            return {"ok": False, "error": str(error)}

    def drain(self) -> None:
        """Take nothing new, and end once nothing is in flight."""
        self.draining = True
        if self._gateway is not None:
            self._gateway.drain()

    def look(self) -> None:
        """See whether what was in flight has ended."""
        if self.draining and (self._gateway is None or self._gateway.finished()):
            self.stop()

    def stop(self) -> None:
        """End at once."""
        self.ended = True
        if self._gateway is not None:
            self._gateway.stop()

    def _do(self, name: str, order: dict[str, Any]) -> dict[str, Any]:
        if name == "start":
            if self._gateway is not None:
                raise RuntimeError("it has started already")
            gateway = self._class(json.dumps(order["settings"]), json.dumps(order["table"]))
            addresses: dict[str, Any] = json.loads(gateway.start())
            self._gateway = gateway
            return addresses
        if self._gateway is None:
            raise RuntimeError("it has not started")
        if name == "swap":
            self._gateway.swap(json.dumps(order["table"]))
        elif name == "stats":
            return {"stats": json.loads(self._gateway.stats())}
        elif name == "drain":
            self.drain()
        elif name == "stop":
            self.stop()
        else:
            raise RuntimeError("there is no such order")
        return {}


def main(gateway_class: type[Gateway], orders: int = 0, answers: int = 1) -> int:
    """Serve until told to end, or until the orders do."""
    served = Served(gateway_class)
    waiting = b""
    while not served.ended:
        if not select.select([orders], [], [], _DRAIN_LOOK_S if served.draining else None)[0]:
            served.look()
            continue
        read = os.read(orders, _READ_BYTES)
        if not read:
            _finish(served)
            break
        *lines, waiting = (waiting + read).split(b"\n")
        for line in lines:
            if not _write(answers, served.answer(line)):
                _finish(served)
                return 0
    return 0


def _finish(served: Served) -> None:
    """Nobody is there any more to ask: what is in flight goes on to its end."""
    served.drain()
    while not served.ended:
        served.look()
        select.select([], [], [], _DRAIN_LOOK_S)


def _write(answers: int, document: dict[str, Any]) -> bool:
    data = json.dumps(document).encode() + b"\n"
    try:
        while data:
            data = data[os.write(answers, data) :]
    except OSError:
        return False
    return True


def serve(gateway_class: type[Gateway]) -> int:
    """`main` for a process of its own.

    Signals of the terminal and of a service manager go to the whole group: the control process says what they
    mean, and when it is gone stdin ends.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    return main(gateway_class)


if __name__ == "__main__":
    from paceline import _core

    sys.exit(serve(_core.Gateway))

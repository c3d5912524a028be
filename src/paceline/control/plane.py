"""The data plane as a child of this process: started, spoken to, and seen when it dies."""

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from paceline.errors import RunError, UsageError

COMMAND = (sys.executable, "-m", "paceline.control.data_plane")
_ANSWER_S = 30.0
# So long an answer that nobody needs at once is waited for; one that comes later is had at the next look.
_POLL_S = 0.2


class PlaneRefusedError(UsageError):
    """The data plane says that a document is wrong, or that it cannot do what was asked."""


class PlaneGoneError(RunError):
    """The data plane has ended, or does not answer."""


class Plane:
    """One data plane, from its start to its end."""

    def __init__(self, command: Sequence[str] = COMMAND, held: Sequence[int] = ()) -> None:
        """Begin the process. `held`: descriptors that it keeps open as long as it lives."""
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # Ctrl-C is for the control process, which then lets this one drain.
            start_new_session=True,
            pass_fds=tuple(held),
            bufsize=0,
        )
        if self._process.stdin is None or self._process.stdout is None:
            raise PlaneGoneError("the data plane has no pipes")
        self._orders = self._process.stdin.fileno()
        self._answers = self._process.stdout.fileno()
        os.set_blocking(self._orders, False)
        self._waiting = b""
        # Its counters were asked for, and the answer, which comes before any other, has not been read.
        self._polled = False

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def start(self, settings: dict[str, Any], table: dict[str, Any]) -> dict[str, str | None]:
        """Listen; `{"listen": "127.0.0.1:8080", "admin": ...}`."""
        answer = self.ask({"do": "start", "settings": settings, "table": table})
        return {"listen": answer.get("listen"), "admin": answer.get("admin")}

    def swap(self, table: dict[str, Any]) -> None:
        """Take another table. PlaneRefusedError where it is wrong: the old one stays."""
        self.ask({"do": "swap", "table": table})

    def poll(self, *, ask: bool = True) -> dict[str, Any] | None:
        """Its counters, without waiting for long; None: it has not answered yet, and can be polled again.

        Not `ask`: only where they were asked for before. Raises PlaneGoneError where it has ended.
        """
        if not self._polled:
            if not ask:
                return None
            self._write(b'{"do": "stats"}\n', time.monotonic() + _POLL_S)
            self._polled = True
        line = self._read(time.monotonic() + _POLL_S)
        if line is None:
            return None
        self._polled = False
        stats: dict[str, Any] | None = json.loads(line).get("stats")
        return stats

    def drain(self) -> None:
        """Take nothing new, and end when nothing is in flight."""
        self.ask({"do": "drain"})

    def ask(self, order: dict[str, Any]) -> dict[str, Any]:
        """The answer to an order. Raises PlaneRefusedError and PlaneGoneError."""
        until = time.monotonic() + _ANSWER_S
        # First: where the pipe is too small for it, the data plane reads no order before it is read.
        if self._polled:
            self._line(until)
            self._polled = False
        self._write(json.dumps(order).encode() + b"\n", until)
        answer: dict[str, Any] = json.loads(self._line(until))
        if not answer.get("ok"):
            raise PlaneRefusedError(str(answer.get("error", "the data plane refuses, and does not say why")))
        return answer

    def ended(self) -> int | None:
        """Its exit code, negative where a signal ended it; None while it runs."""
        return self._process.poll()

    def wait(self, seconds: float) -> bool:
        """Wait for its end; False where it goes on."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)
            return True
        return False

    def close(self) -> None:
        """Let go of it, and kill it where it still runs."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()

    def _write(self, data: bytes, until: float) -> None:
        while data:
            if not _ready([], [self._orders], until):
                raise self._silent()
            try:
                data = data[os.write(self._orders, data) :]
            except BlockingIOError:
                continue
            except OSError:
                raise self._gone() from None

    def _line(self, until: float) -> bytes:
        line = self._read(until)
        if line is None:
            raise self._silent()
        return line

    def _read(self, until: float) -> bytes | None:
        while b"\n" not in self._waiting:
            if not _ready([self._answers], [], until):
                return None
            read = os.read(self._answers, 1 << 20)
            if not read:
                raise self._gone()
            self._waiting += read
        line, _, self._waiting = self._waiting.partition(b"\n")
        return line

    def _silent(self) -> PlaneGoneError:
        return PlaneGoneError(f"the data plane has not answered for {_ANSWER_S:.0f} s")

    def _gone(self) -> PlaneGoneError:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(1.0)
        return PlaneGoneError(f"the data plane has ended: {how_ended(self._process.poll())}")


def _ready(readers: list[int], writers: list[int], until: float) -> bool:
    return any(select.select(readers, writers, [], max(until - time.monotonic(), 0.0)))


def how_ended(code: int | None) -> str:
    """`exit code 1`, `killed by SIGKILL`."""
    if code is None:
        return "its pipes are closed"
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"

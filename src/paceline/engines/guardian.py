"""The process between Paceline and an engine: whoever of the three ends, nothing of the engine is left.

Run as a file, with nothing but the standard library (`python -I -S guardian.py`), and one end of a socket
pair as stdin. It reads one line of JSON, the order, and then lines `stop SECONDS` and `kill`. It says, a line
of JSON each, `started`, `failed`, `log`, `ended`. The end of the socket, or of the process that started it,
is an order to stop.

It has one thread: the kernel ends the engine when the thread that started it is gone.
"""

import ctypes
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from paceline.engines.engine_log import EngineLog
    from paceline.engines.processes import Process

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_READ_BYTES = 64 * 1024
_MOST_ORDER_BYTES = 16 * 1024 * 1024
# Told to Paceline, and not yet taken: more of the log's own troubles than this is not kept.
_MOST_WAITING_BYTES = 64 * 1024
_GRACE_S = 10.0
# A process that does not die of SIGKILL hangs in the kernel; it is named, and waited for no longer.
_KILL_S = 10.0
_LAST_WORD_S = 10.0


class _Guardian:
    """One engine, from its order to the report of its end."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._read, self._write = os.pipe()
        self._out = bytearray()
        self._orders = b""
        self._grace_s = _GRACE_S
        self._engine: int | None = None
        self._exit_code: int | None = None
        # Monotonic: when what still runs is killed. None: nothing is to end yet.
        self._until_s: float | None = None
        self._log: EngineLog | None = None

    def run(self) -> None:
        """Raises OSError only where there is nobody left to tell."""
        from paceline.engines.engine_log import EngineLog

        parent = self._watch_parent()
        order = self._order()
        if order is None or self._until_s is not None:
            return
        self._grace_s = float(order["grace_s"])
        self._log = EngineLog(Path(order["log"]), order["secrets"], lambda text: self._say({"log": text}))
        output, engine_end = os.pipe()
        try:
            self._engine = _start(order["argv"], order["environment"], engine_end)
        except (OSError, ValueError) as error:
            self._say({"failed": getattr(error, "strerror", None) or str(error)})
            self._flush(_LAST_WORD_S)
            return
        finally:
            os.close(engine_end)
        os.set_blocking(output, False)
        self._say({"started": self._engine})
        self._watch(parent, output)
        left = self._end()
        with suppress(BlockingIOError):
            while data := os.read(output, _READ_BYTES):
                self._log.write(data)
        self._log.close()
        said = {"ended": self._exit_code, "tail": self._log.tail, "dropped": self._log.dropped_bytes}
        # Without it the engine would count as one whose guardian was killed.
        self._say({**said, "left": left}, always=True)
        self._flush(_LAST_WORD_S)

    def take_signals(self) -> None:
        """An end asked for by signal is soft; the end of a child wakes the loop."""
        for pipe in (self._read, self._write):
            os.set_blocking(pipe, False)
        signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda *_: self._stop(self._grace_s))

    def _watch_parent(self) -> int | None:
        """A handle of Paceline's process: a copy of the socket in a fork of it must not keep the engine."""
        parent = os.getppid()
        try:
            handle = os.pidfd_open(parent)
        except (OSError, AttributeError):
            # An older kernel, or a Python that was built on one: the socket alone has to tell.
            return None
        if os.getppid() != parent:
            self._stop(self._grace_s)
        return handle

    def _order(self) -> dict[str, Any] | None:
        """What to start; None where Paceline went before it said so."""
        while b"\n" not in self._orders:
            data = self._control.recv(_READ_BYTES)
            if not data or len(self._orders) > _MOST_ORDER_BYTES:
                return None
            self._orders += data
        line, _, self._orders = self._orders.partition(b"\n")
        order: dict[str, Any] = json.loads(line)
        return order

    def _watch(self, parent: int | None, output: int) -> None:
        """Until the engine has ended, or is to be killed."""
        poll = select.poll()
        watched: dict[int, Callable[[], bool]] = {
            self._control.fileno(): self._obey,
            output: lambda: self._drain(output),
            self._read: self._woken,
        }
        if parent is not None:
            watched[parent] = self._parent_gone
        for one in watched:
            poll.register(one, select.POLLIN)
        # What came with the order, or before the loop.
        self._take_orders()
        self._reap()
        while self._exit_code is None:
            left_s = None if self._until_s is None else self._until_s - time.monotonic()
            if left_s is not None and left_s <= 0:
                return
            for one, _ in poll.poll(None if left_s is None else left_s * 1e3 + 1):
                if not watched[one]():
                    poll.unregister(one)
            self._flush(0)

    def _obey(self) -> bool:
        """Read what Paceline says; False when it has gone."""
        try:
            data = self._control.recv(_READ_BYTES)
        except BlockingIOError:
            return True
        except OSError:
            data = b""
        if not data:
            self._stop(self._grace_s)
            return False
        self._orders += data
        self._take_orders()
        return True

    def _take_orders(self) -> None:
        *lines, self._orders = self._orders.split(b"\n")
        for line in lines:
            word, _, seconds = line.decode().partition(" ")
            self._stop(float(seconds) if word == "stop" else 0.0)

    def _parent_gone(self) -> bool:
        self._stop(self._grace_s)
        return False

    def _woken(self) -> bool:
        with suppress(BlockingIOError):
            os.read(self._read, _READ_BYTES)
        self._reap()
        return True

    def _drain(self, output: int) -> bool:
        """Take some of what the engine says; False when nobody can say more."""
        try:
            data = os.read(output, _READ_BYTES)
        except BlockingIOError:
            return True
        if data and self._log is not None:
            self._log.write(data)
        return bool(data)

    def _reap(self) -> bool:
        """Look at all that have ended, adopted ones too. True when there is none, living or ended."""
        if self._engine is not None and self._exit_code is None:
            found = os.waitid(os.P_PID, self._engine, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if found is not None:
                # Before its id is free for others: what it leaves in its group has nothing more to do.
                with suppress(OSError):
                    os.killpg(self._engine, signal.SIGKILL)
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return True
            if pid == 0:
                return False
            if pid == self._engine:
                self._exit_code = os.waitstatus_to_exitcode(status)

    def _stop(self, grace_s: float) -> None:
        """Ask the engine to end; a shorter grace replaces a longer one."""
        asked = self._until_s is not None
        until_s = time.monotonic() + grace_s
        self._until_s = until_s if self._until_s is None else min(self._until_s, until_s)
        if not asked and self._engine is not None and self._exit_code is None:
            with suppress(OSError):
                os.killpg(self._engine, signal.SIGTERM)

    def _end(self) -> list[int]:
        """Kill all that is left. Returns ids of what does not die."""
        from paceline.engines.processes import descendants, end_all, processes

        def alive() -> "list[Process]":
            return [one for one in descendants([os.getpid()], processes()) if not one.ended]

        left = end_all(alive, _KILL_S, self._reap)
        return [one.pid for one in left]

    def _say(self, message: dict[str, Any], *, always: bool = False) -> None:
        if always or len(self._out) < _MOST_WAITING_BYTES:
            self._out += json.dumps(message).encode() + b"\n"
            self._flush(0)

    def _flush(self, wait_s: float) -> None:
        """Hand over what Paceline takes: at once, or within so many seconds."""
        until_s = time.monotonic() + wait_s
        while self._out:
            try:
                sent = self._control.send(self._out, socket.MSG_DONTWAIT)
            except BlockingIOError:
                left_s = until_s - time.monotonic()
                if left_s <= 0:
                    return
                select.select([], [self._control], [], left_s)
                continue
            except OSError:
                self._out.clear()
                return
            del self._out[:sent]


def _start(argv: list[str], environment: dict[str, str], output: int) -> int:
    """The engine's process id. Raises OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    guardian = os.getpid()
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)

    def end_with_guardian() -> None:
        libc.prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
        if os.getppid() != guardian:
            os.kill(os.getpid(), signal.SIGKILL)

    started = subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        start_new_session=True,
        env={**os.environ, **environment},
        # This process has one thread, so that nothing is locked in the child.
        preexec_fn=end_with_guardian,  # noqa: PLW1509
    )
    # Its end is seen by `_reap`, and not by this object.
    started.returncode = 0
    return started.pid


def main() -> None:
    """Guard one engine."""
    # Last, so that no file here stands in for a part of the standard library.
    sys.path.append(str(Path(__file__).resolve().parents[2]))
    control = socket.socket(fileno=os.dup(0))
    control.setblocking(True)
    guardian = _Guardian(control)
    guardian.take_signals()
    guardian.run()


if __name__ == "__main__":
    main()

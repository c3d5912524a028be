"""An engine under its guardian, seen from Paceline: started, spoken of, ended, and swept up after."""

import json
import os
import secrets
import select
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from paceline.engines import guardian
from paceline.engines.engine import Command, Failure
from paceline.engines.engine_log import TAIL_BYTES, secrets_of
from paceline.engines.failure import EngineError
from paceline.engines.processes import MARK, Process, belonging, descendants, end_all, processes
from paceline.errors import UsageError

GRACE_S = 10.0
_START_S = 30.0
# Beyond the grace: what the guardian takes to kill all, and to say so.
_FORCE_S = 15.0
_READ_BYTES = 64 * 1024
_KILLED = -9


class Guarded:
    """One engine and its guardian. For one thread.

    pid: of the engine. mark: in the environment of all that belongs to it. exit_code: of the engine, negative
    where a signal ended it; None while it runs. tail: the last of its log, once it has ended. lost: the
    guardian was killed, and the engine with it. left: ids of processes that do not die. dropped_bytes: of the
    log.
    """

    def __init__(self, command: Command, log: Path, grace_s: float = GRACE_S) -> None:
        """Start it. grace_s: that it has when Paceline ends unheard. Raises EngineError, UsageError."""
        if sys.platform != "linux":
            raise UsageError(
                "engines are started on Linux only",
                "start the engine by hand, and give its URL to `paceline measure`",
            )
        self.mark = secrets.token_hex(8)
        self.exit_code: int | None = None
        self.tail = ""
        self.lost = False
        self.left: tuple[int, ...] = ()
        self.dropped_bytes = 0
        self.pid = 0
        self._log = log
        self._log_start = _size(log)
        self._known: list[Process] = []
        self._notes: list[str] = []
        self._heard = b""
        self._failed: str | None = None
        self._socket, theirs = socket.socketpair()
        with theirs:
            self._guardian = self._start_guardian(theirs)
        hidden = [*secrets_of(os.environ), *secrets_of(command.environment)]
        try:
            self._order(
                {
                    "argv": list(command.argv),
                    "environment": dict(command.environment),
                    "log": str(log.absolute()),
                    "secrets": hidden,
                    "grace_s": grace_s,
                }
            )
        except BaseException:
            self.kill()
            raise

    def fileno(self) -> int:
        """Readable when there is news, its end above all; for `select`."""
        return self._socket.fileno()

    @property
    def ended(self) -> bool:
        """Whether it has ended, and all that it started with it."""
        return self.exit_code is not None

    def look(self) -> bool:
        """Take what news there is, without waiting; True while the engine runs."""
        return not self.wait(0.0)

    def wait(self, seconds: float) -> bool:
        """Wait for its end; False where it goes on."""
        until = time.monotonic() + seconds
        while not self.ended:
            if not self._news(until):
                return False
            self._hear()
        return True

    def take_notes(self) -> list[str]:
        """What was said of the log since the last call."""
        notes, self._notes = self._notes, []
        return notes

    def remember(self) -> None:
        """Note who belongs to it now, for the sweep: a process may hide its environment and descent later."""
        self._known = self.processes()

    def processes(self) -> list[Process]:
        """The engine and its descendants."""
        return descendants([self._guardian.pid], processes())

    def stop(self, grace_s: float = GRACE_S) -> None:
        """End it and all that it started: softly, by force after the grace. Harmless when called again."""
        if self.ended:
            return
        self.ask_to_stop(grace_s)
        try:
            if not self.wait(grace_s + _FORCE_S):
                self._sweep()
        except BaseException:
            # A second Ctrl-C waits for nothing.
            self.kill()
            raise

    def ask_to_stop(self, grace_s: float) -> None:
        """As `stop`, without waiting for the end. A shorter grace replaces a longer one."""
        self._tell(f"stop {grace_s:.3f}\n")

    def kill(self) -> None:
        """End it and all that it started, at once."""
        if self.ended:
            return
        self._tell("kill\n")
        if not self.wait(_FORCE_S):
            self._sweep()

    def _start_guardian(self, theirs: socket.socket) -> "subprocess.Popen[bytes]":
        try:
            return subprocess.Popen(
                [sys.executable, "-I", "-S", str(Path(guardian.__file__))],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                # Ctrl-C is for Paceline, which then ends the engine.
                start_new_session=True,
                env={**os.environ, MARK: self.mark},
            )
        except OSError as error:
            self._socket.close()
            why = f"cannot start a process for the engine: {error.strerror or error}"
            raise EngineError(Failure(why, "check the limits of this user (ulimit -a)", False)) from None

    def _order(self, order: dict[str, Any]) -> None:
        """Have the engine started. Raises EngineError."""
        self._tell(json.dumps(order) + "\n")
        until = time.monotonic() + _START_S
        while not self.pid and self._failed is None and not self.ended:
            if not self._news(until):
                break
            self._hear()
        if self.pid:
            return
        program = order["argv"][0]
        why = self._failed or "the process that starts it has ended or does not answer"
        hint = "check that the file is there, is a program for this machine, and may be executed"
        raise EngineError(Failure(f"cannot start {program}: {why}", hint, self._failed is not None))

    def _tell(self, line: str) -> None:
        with suppress(OSError):
            self._socket.sendall(line.encode(errors="surrogateescape"))

    def _news(self, until: float) -> bool:
        # Not `select`, which knows no descriptor above 1023: a load of many streams has them.
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        return bool(poll.poll(max(until - time.monotonic(), 0.0) * 1e3))

    def _hear(self) -> None:
        try:
            data = self._socket.recv(_READ_BYTES)
        except OSError:
            data = b""
        if not data:
            self._sweep()
            return
        *lines, self._heard = (self._heard + data).split(b"\n")
        for line in lines:
            self._take(json.loads(line))

    def _take(self, said: dict[str, Any]) -> None:
        if "started" in said:
            self.pid = said["started"]
        elif "failed" in said:
            self._failed = said["failed"]
        elif "log" in said:
            self._notes.append(said["log"])
        elif "ended" in said:
            self.tail = said["tail"]
            self.dropped_bytes = said["dropped"]
            self.left = tuple(said["left"])
            self._over(_KILLED if said["ended"] is None else said["ended"])

    def _sweep(self) -> None:
        """The guardian has gone without a word, or hangs: end all that bears the mark."""
        self._guardian.kill()
        self._guardian.wait()
        roots = [one for one in (self.pid, self._guardian.pid) if one]
        left = end_all(lambda: belonging(self.mark, roots, self._known), _FORCE_S)
        self.left = tuple(one.pid for one in left)
        self.lost = True
        self.tail = _end_of(self._log, self._log_start)
        self._over(_KILLED)

    def _over(self, exit_code: int) -> None:
        self.exit_code = exit_code
        try:
            self._guardian.wait(_FORCE_S)
        except subprocess.TimeoutExpired:
            self._guardian.kill()
            self._guardian.wait()
        self._socket.close()


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _end_of(path: Path, start: int) -> str:
    """What a file has at its end, from `start` on where it has not begun anew since."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(size - TAIL_BYTES, start if size >= start else 0))
            return file.read(TAIL_BYTES).decode(errors="replace")
    except OSError:
        return ""

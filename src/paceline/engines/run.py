"""A started engine that answers, for as long as a block runs."""

import errno
import http.client
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

from paceline.engines.engine import Command, Failure
from paceline.engines.failure import EngineError, failure_of, last_lines
from paceline.engines.guarded import GRACE_S, Guarded
from paceline.engines.listeners import check_port, strangers
from paceline.engines.plan import LaunchPlan
from paceline.errors import UsageError

# An engine that still loads has nothing to finish.
LOADING_GRACE_S = 2.0
_FIRST_PAUSE_S = 0.05
_LONGEST_PAUSE_S = 0.5
_ANSWER_S = 2.0
_SAY_EVERY_S = 10.0
_SHORT_OF_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

Watch = Callable[[str], None]
# Waits for news of the engine, or so many seconds; True: told to give up.
Pause = Callable[[Guarded, float], bool]


class Running:
    """An engine that answers. For one thread.

    endpoint: base URL for clients. pid: of the engine itself. log: where its words go. command: as started.
    """

    def __init__(self, plan: LaunchPlan, engine: Guarded, log: Path) -> None:
        self.endpoint = plan.endpoint
        self.pid = engine.pid
        self.log = log
        self.command: Command = plan.command
        self._plan = plan
        self._engine = engine
        self._stopped = False

    def alive(self) -> bool:
        """Whether it runs; never waits."""
        return self._engine.look()

    @property
    def exit_code(self) -> int | None:
        """Its exit code, negative where a signal ended it; None while it runs."""
        self._engine.look()
        return self._engine.exit_code

    def failure(self) -> Failure | None:
        """Why it ended by itself; None where it runs, or was stopped."""
        return None if self._stopped or self.alive() else death(self._plan, self._engine, self.log)

    def stop(self, grace_s: float = GRACE_S) -> None:
        """End it and all that it started: softly, by force after the grace. Harmless when called again."""
        self._stopped = self._stopped or self.alive()
        self._engine.stop(grace_s)


@contextmanager
def running(
    plan: LaunchPlan,
    *,
    log: Path,
    ready_timeout_s: float | None = None,
    watch: Watch = lambda _: None,
) -> Iterator[Running]:
    """The engine of a plan, from when it answers; it and all its descendants end with the block.

    ready_timeout_s: None takes the adapter's. watch: is told, a sentence each, what goes on. Raises
    UsageError before anything is started (port taken, log not writable), EngineError where it does not come
    up.
    """
    check_start(plan, log)
    engine = Guarded(plan.command, log)
    started: Running | None = None
    try:
        watch(f"{plan.adapter.name} is starting (process {engine.pid})")
        took_s = wait_until_ready(plan, engine, log, watch, timeout_s=ready_timeout_s)
        watch(f"{plan.adapter.name} is ready after {took_s:.1f} s at {plan.endpoint}")
        started = Running(plan, engine, log)
        yield started
    finally:
        if started is None:
            engine.stop(LOADING_GRACE_S)
        else:
            started.stop()


def check_start(plan: LaunchPlan, log: Path) -> None:
    """Raise UsageError where a start must fail: the port is taken, the log cannot be written."""
    check_port(plan.address)
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        # Not blocking, and nothing is cut: it may be anything that the user named.
        os.close(os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC, 0o600))
    except OSError as error:
        # A full disk costs the log, and never the engine.
        if error.errno not in _SHORT_OF_ROOM:
            raise UsageError(
                f"cannot write the engine's log {log}: {error.strerror or error}",
                "give another file for it, or set PACELINE_HOME to a folder that you may write to",
            ) from None


def wait_until_ready(
    plan: LaunchPlan,
    engine: Guarded,
    log: Path,
    watch: Watch,
    *,
    timeout_s: float | None = None,
    pause: Pause = lambda engine, seconds: engine.wait(seconds) and False,
) -> float | None:
    """Seconds until the engine itself answered; None where `pause` was told to give up.

    Raises EngineError where it ends, takes too long, or another process has its port; the engine has been
    stopped then.
    """
    limit_s = plan.adapter.ready_timeout_s if timeout_s is None else timeout_s
    began_s = time.monotonic()
    said_s = began_s
    pause_s = _FIRST_PAUSE_S
    name = plan.adapter.name
    while True:
        if pause(engine, pause_s):
            return None
        pause_s = min(pause_s * 1.5, _LONGEST_PAUSE_S)
        alive = engine.look()
        _pass_on(engine, watch)
        if not alive:
            failure = death(plan, engine, log, "ended before it was ready")
            raise EngineError(failure, engine.exit_code, engine.tail)
        wait_s = min(_ANSWER_S, max(began_s + limit_s - time.monotonic(), _FIRST_PAUSE_S))
        if status(plan.health_url, wait_s) == http.HTTPStatus.OK and _is_ours(plan, engine):
            engine.remember()
            return time.monotonic() - began_s
        now_s = time.monotonic()
        if now_s - began_s > limit_s:
            raise _too_late(plan, engine, log, limit_s)
        if now_s - said_s >= _SAY_EVERY_S:
            said_s = now_s
            watch(f"{name} is not ready after {now_s - began_s:.0f} s{_last_word(log)}")


def death(plan: LaunchPlan, engine: Guarded, log: Path, what: str = "has ended") -> Failure:
    """Why an engine has ended by itself."""
    if engine.lost:
        return Failure(
            f"{plan.adapter.name} was ended: the process that guards it was killed",
            "something ends processes on this machine: see whether memory is short (dmesg tells)",
            False,
        )
    return failure_of(plan.adapter, what, engine.tail, engine.exit_code, log)


def status(url: str, wait_s: float) -> int | None:
    """The status that a GET has; None where there is no answer. No proxy stands between."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=wait_s)
    try:
        connection.request("GET", parts.path or "/", headers={"Connection": "close"})
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


def _is_ours(plan: LaunchPlan, engine: Guarded) -> bool:
    """Whether the engine itself answered. Raises EngineError where another process has the port."""
    if not engine.look():
        return False
    # Its processes are listed last: one of them may have come just now.
    others = strangers(plan.address, lambda: [one.pid for one in engine.processes()])
    if not others:
        return True
    engine.stop(LOADING_GRACE_S)
    raise EngineError(
        Failure(
            f"port {plan.address.port} was taken while {plan.adapter.name} started: {', '.join(others)}",
            "stop it, or give another --port",
            True,
        ),
        engine.exit_code,
        engine.tail,
    )


def _too_late(plan: LaunchPlan, engine: Guarded, log: Path, limit_s: float) -> EngineError:
    engine.stop(LOADING_GRACE_S)
    failure = failure_of(plan.adapter, f"did not answer within {limit_s:g} s", engine.tail, None, log)
    return EngineError(failure, None, engine.tail)


def _pass_on(engine: Guarded, watch: Watch) -> None:
    for note in engine.take_notes():
        watch(note)


def _last_word(log: Path) -> str:
    """The last line of a log that is being written, in brackets."""
    lines: list[str] = []
    with suppress(OSError), log.open("rb") as file:
        file.seek(max(file.seek(0, os.SEEK_END) - 4_096, 0))
        lines = last_lines(file.read(4_096).decode(errors="replace"), 1)
    return f" ({lines[0]})" if lines else ""

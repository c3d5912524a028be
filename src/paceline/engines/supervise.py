"""Keeps an engine up until told to stop: `paceline serve`."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from paceline.control.signals import Signals
from paceline.engines.engine import Failure
from paceline.engines.failure import EngineError
from paceline.engines.guarded import GRACE_S, Guarded
from paceline.engines.plan import LaunchPlan
from paceline.engines.restarts import Restarts
from paceline.engines.run import LOADING_GRACE_S, check_start, death, status, wait_until_ready
from paceline.errors import UsageError

EventKind = Literal["starting", "progress", "ready", "died", "restarting", "gave up", "stopping", "stopped"]
# What the guardian takes beyond the grace to kill all, and to say so.
_FORCE_S = 5.0
_ANSWER_S = 2.0
_NEVER_S = 3600.0
# So many signals.
_AT_ONCE = 2


@dataclass(frozen=True, slots=True)
class Event:
    """What happened. text: a sentence for people, harmless to print. pid: of the engine, where there is one.

    failure: for `died` and `gave up`. pause_s: for `restarting`, until the next start.
    """

    kind: EventKind
    text: str
    pid: int | None = None
    failure: Failure | None = None
    pause_s: float | None = None


@dataclass(frozen=True, slots=True)
class Times:
    """grace_s: between being asked to end and being killed; loading_grace_s: of an engine that still loads.

    hung_after_s: an engine whose health URL has no answer at all for so long is killed, and started again.
    None for never: a busy engine may be slow to say that it is well, and must not be killed for it. look_s:
    how often it is asked.
    ready_timeout_s: None takes the adapter's.
    """

    grace_s: float = GRACE_S
    loading_grace_s: float = LOADING_GRACE_S
    hung_after_s: float | None = None
    look_s: float = 10.0
    ready_timeout_s: float | None = None


class Supervisor:
    """One engine: started, waited for, started again when it dies, and ended by SIGINT or SIGTERM.

    restarts: so many within ten minutes, and no more. events: called in this thread with each event. pauses:
    what decides on restarts, in place of `restarts`.

    A failure that is lasting is never tried again; nor is one that nobody knows, where the engine has never
    answered yet: its options are wrong, most likely.
    """

    def __init__(
        self,
        plan: LaunchPlan,
        log: Path,
        *,
        restarts: int = 5,
        events: Callable[[Event], None],
        times: Times | None = None,
        pauses: Restarts | None = None,
    ) -> None:
        self._plan = plan
        self._log = log
        self._events = events
        self._times = times or Times()
        self._restarts = pauses or Restarts(restarts)
        self._signals = Signals()
        self._name = plan.adapter.name
        self._answered = False

    def run(self) -> int:
        """Blocks in the main thread until the end. 0: it was told to stop; 1: it gave up (event `gave up`).

        Raises UsageError before the first start: port taken, log not writable.
        """
        check_start(self._plan, self._log)
        with self._signals:
            while not self._signals.ended:
                failure = self._live()
                if failure is None:
                    break
                pause_s = self._restarts.died(time.monotonic())
                if failure.lasting or pause_s is None:
                    self._give_up(failure)
                    return 1
                self._events(Event("died", failure.message, failure=failure))
                text = f"{self._name} is started again in {pause_s:g} s"
                self._events(Event("restarting", text, pause_s=pause_s))
                self._sleep(pause_s)
        self._say("stopped", f"{self._name} has stopped")
        return 0

    def _live(self) -> Failure | None:
        """One start until its end; None where it was told to stop."""
        try:
            check_start(self._plan, self._log)
            engine = Guarded(self._plan.command, self._log, self._times.grace_s)
        except EngineError as error:
            return error.failure
        except UsageError as error:
            # Before the first start it was well: it may be well again.
            return Failure(error.message, error.hint or "", lasting=False)
        try:
            return self._serve(engine)
        finally:
            # Whatever was raised: nothing is left behind.
            engine.kill()

    def _serve(self, engine: Guarded) -> Failure | None:
        self._events(Event("starting", f"{self._name} is starting (process {engine.pid})", engine.pid))
        try:
            took_s = wait_until_ready(
                self._plan,
                engine,
                self._log,
                lambda text: self._say("progress", text),
                timeout_s=self._times.ready_timeout_s,
                pause=self._pause,
            )
        except EngineError as error:
            return self._before_ready(error)
        if took_s is None:
            self._end(engine, self._times.loading_grace_s)
            return None
        self._answered = True
        text = f"{self._name} is ready after {took_s:.1f} s at {self._plan.endpoint}"
        self._events(Event("ready", text, engine.pid))
        failure = self._watch(engine)
        if failure is None:
            self._end(engine, self._times.grace_s)
        return failure

    def _watch(self, engine: Guarded) -> Failure | None:
        """Until it dies or hangs; None where it was told to stop."""
        hung_s = self._times.hung_after_s
        look_s = _NEVER_S if hung_s is None else min(hung_s / 4, self._times.look_s)
        answered_s = time.monotonic()
        looked_s = answered_s
        while not self._pause(engine, max(looked_s + look_s - time.monotonic(), 0.0)):
            alive = engine.look()
            for note in engine.take_notes():
                self._say("progress", note)
            if not alive:
                return death(self._plan, engine, self._log)
            if hung_s is None or time.monotonic() - looked_s < look_s:
                continue
            looked_s = time.monotonic()
            if status(self._plan.health_url, min(_ANSWER_S, hung_s)) is not None:
                answered_s = time.monotonic()
            elif time.monotonic() - answered_s > hung_s:
                engine.kill()
                text = f"{self._name} has not answered for {hung_s:g} s, and was killed"
                return Failure(text, f"all that it said lies in {self._log}", False)
        return None

    def _pause(self, engine: Guarded, seconds: float) -> bool:
        """Wait for news of the engine or a signal; True where it is to end."""
        if not engine.ended:
            self._signals.wait(seconds, others=[engine.fileno()])
        return self._signals.ended

    def _sleep(self, seconds: float) -> None:
        """Until the time is over, or it is to end."""
        until_s = time.monotonic() + seconds
        while not self._signals.ended and (left_s := until_s - time.monotonic()) > 0:
            self._signals.wait(left_s)

    def _end(self, engine: Guarded, grace_s: float) -> None:
        """Softly; a second signal ends it at once."""
        self._say("stopping", f"{self._name} is stopping (again Ctrl-C: at once)")
        engine.ask_to_stop(grace_s)
        until_s = time.monotonic() + grace_s + _FORCE_S
        while engine.look() and self._signals.count < _AT_ONCE and (left_s := until_s - time.monotonic()) > 0:
            self._signals.wait(left_s, others=[engine.fileno()])
        engine.kill()

    def _before_ready(self, error: EngineError) -> Failure:
        """A failure to come up: lasting too where nobody knows it and the engine has never answered."""
        known = self._plan.adapter.failure(error.log_tail, error.engine_exit_code) is not None
        return error.failure if known or self._answered else replace(error.failure, lasting=True)

    def _give_up(self, failure: Failure) -> None:
        count = self._restarts.deaths
        again = "" if count == 1 else f"; it died {count} times in {self._restarts.window_s / 60:g} minutes"
        self._events(Event("gave up", f"{failure.message}{again}", failure=failure))

    def _say(self, kind: EventKind, text: str) -> None:
        self._events(Event(kind, text))

"""Keeps an engine up until told to stop: `paceline serve`."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from paceline.engines.engine import Failure
from paceline.engines.plan import LaunchPlan

EventKind = Literal["starting", "progress", "ready", "died", "restarting", "gave up", "stopping", "stopped"]


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


class Supervisor:
    """One engine: started, waited for, started again when it dies, and ended by SIGINT or SIGTERM.

    restarts: so many within ten minutes, and no more. events: called in this thread with each event. secrets:
    hidden in the log. hung_after_s: an engine whose health URL answers nothing for so long is killed and started
    again; None (the default) never: a busy engine may be slow to say that it is well.
    """

    def __init__(
        self,
        plan: LaunchPlan,
        log: Path,
        *,
        restarts: int = 5,
        events: Callable[[Event], None],
        secrets: tuple[str, ...] = (),
        hung_after_s: float | None = None,
    ) -> None:
        self._plan = plan

    def run(self) -> int:
        """Blocks in the main thread until the end. 0: it was told to stop; 1: it gave up (event `gave up`).

        Raises UsageError before the first start: port taken, log not writable.
        """
        raise NotImplementedError

"""A started engine that answers, for as long as a block runs."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from paceline.engines.engine import Command
from paceline.engines.plan import LaunchPlan


class Running(Protocol):
    """An engine that answers. pid: of the engine itself. log: where its words go. command: as it was started."""

    endpoint: str
    pid: int
    log: Path
    command: Command

    def alive(self) -> bool:
        """Whether it runs; never blocks."""
        ...

    @property
    def exit_code(self) -> int | None:
        """Its exit code, negative where a signal ended it; None while it runs."""
        ...

    def stop(self, grace_s: float = 10.0) -> None:
        """End it and all its descendants: softly, and by force after the grace. Harmless when called again."""
        ...


@contextmanager
def running(
    plan: LaunchPlan,
    *,
    log: Path,
    ready_timeout_s: float | None = None,
    watch: Callable[[str], None] = lambda _: None,
    secrets: tuple[str, ...] = (),
) -> Iterator[Running]:
    """The engine of a plan, from when it answers; it and all its descendants end with the block.

    ready_timeout_s: None takes the adapter's. watch: is told, a sentence each, what goes on. secrets: hidden in
    the log. Raises UsageError before anything is started (port taken, log not writable), and EngineError where
    the engine does not come up.
    """
    raise NotImplementedError
    yield

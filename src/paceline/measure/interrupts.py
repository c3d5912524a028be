"""Ctrl-C and SIGTERM while a run goes on: the first ends it softly, the second at once."""

import signal
import threading
from types import FrameType, TracebackType
from typing import ClassVar, Self


class Interrupts:
    """Counts SIGINT and SIGTERM while its block runs, and puts the former handlers back after it.

    `began`: whether any block has begun in this process, which is when the first run is stored.

    Outside the main thread, where no handler can be set, it only counts calls of `note`.
    """

    began: ClassVar[bool] = False

    def __init__(self) -> None:
        self.count = 0
        self.name: str | None = None
        self._former: dict[signal.Signals, object] = {}

    def note(self, name: str = "SIGINT") -> None:
        """Count one."""
        self.count += 1
        self.name = self.name or name

    def __enter__(self) -> Self:
        type(self).began = True
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._former[number] = signal.signal(number, self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, former in self._former.items():
            signal.signal(number, former)  # type: ignore[arg-type]
        self._former.clear()

    def _handle(self, number: int, _frame: FrameType | None) -> None:
        self.note(signal.Signals(number).name)


class AtOnce(Interrupts):
    """The first ends the run at once: for runs of which half is worth nothing."""

    def note(self, name: str = "SIGINT") -> None:
        """Count one as two."""
        super().note(name)
        super().note(name)

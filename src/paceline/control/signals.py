"""What the gateway is told by signals."""

import os
import select
import signal
from collections.abc import Sequence
from contextlib import suppress
from types import FrameType, TracebackType
from typing import Any, Self


class Signals:
    """SIGINT, SIGTERM and SIGHUP, noticed at once without work in a handler.

    SIGHUP asks for a reload; where it says that the terminal has gone, it is an end.
    """

    def __init__(self) -> None:
        self._read, self._write = os.pipe()
        os.set_blocking(self._read, False)
        os.set_blocking(self._write, False)
        self._former: dict[int, Any] = {}
        self._reload = False
        self._terminal = os.isatty(0)
        self.count = 0

    @property
    def ended(self) -> bool:
        """It was told to end."""
        return self.count > 0

    def take_reload(self) -> bool:
        """Whether a reload was asked for since the last call."""
        asked, self._reload = self._reload, False
        return asked

    def wait(self, seconds: float, *, with_parent: bool = False, others: Sequence[int] = ()) -> None:
        """Until a signal comes, the parent goes, one of `others` can be read, or the time is over."""
        watched = [self._read, *others, *([0] if with_parent else [])]
        ready, _, _ = select.select(watched, [], [], seconds)
        if self._read in ready:
            with suppress(BlockingIOError):
                os.read(self._read, 4_096)
        if with_parent and 0 in ready and not os.read(0, 4_096):
            self.count += 1

    def _handle(self, number: int, _frame: FrameType | None) -> None:
        if number == signal.SIGHUP and not (self._terminal and not os.isatty(0)):
            self._reload = True
        else:
            self.count += 1

    def __enter__(self) -> Self:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            self._former[number] = signal.signal(number, self._handle)
        signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        signal.set_wakeup_fd(-1)
        for number, former in self._former.items():
            signal.signal(number, former)
        os.close(self._read)
        os.close(self._write)

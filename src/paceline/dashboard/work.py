"""What takes long, in threads: a few at once, the same thing once, kept while the store is as it was."""

import asyncio
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

_T = TypeVar("_T")
_AT_ONCE = 2
_MOST_WAITING = 32
_MOST_KEPT = 32
# So long a browser waits for a page without a word.
_PATIENCE_S = 4.0
# So long nobody looks whether the store has changed.
_UNSEEN_S = 1.0
# Prices, and what still runs, change without the store's stamp.
_KEPT_S = 60.0


class BusyError(Exception):
    """So much waits already that one more would only make it worse."""


class StillAtWorkError(Exception):
    """It takes so long that whoever asked is told so; it goes on, and is there when it is asked for again."""


@dataclass
class _Kept(Generic[_T]):
    value: _T
    stamp: Hashable
    made_s: float
    seen_s: float


class Work:
    """One for a dashboard; used from its event loop alone. `clock`: seconds, monotonic."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, patience_s: float = _PATIENCE_S) -> None:
        self._clock = clock
        self._patience_s = patience_s
        self._free = asyncio.Semaphore(_AT_ONCE)
        self._kept: OrderedDict[Hashable, _Kept[Any]] = OrderedDict()
        self._under_way: dict[Hashable, asyncio.Task[Any]] = {}

    async def get(self, key: Hashable, stamp: Callable[[], Hashable], make: Callable[[], _T]) -> _T:
        """What `make` gives, or gave before while `stamp` was the same. Both run in a thread.

        Raises BusyError, and what `make` raises. Whoever asks for the same meanwhile waits for the same.
        """
        kept = self._kept.get(key)
        if kept is not None and self._clock() - kept.seen_s < _UNSEEN_S:
            self._kept.move_to_end(key)
            value: _T = kept.value
            return value
        task = self._under_way.get(key)
        if task is None:
            if len(self._under_way) >= _MOST_WAITING:
                raise BusyError
            task = asyncio.create_task(self._made(key, stamp, make))
            self._under_way[key] = task
            task.add_done_callback(lambda done: self._ended(key, done))
        # Who leaves does not take it from the others.
        return await asyncio.shield(task)

    async def page(self, key: Hashable, stamp: Callable[[], Hashable], make: Callable[[], _T]) -> _T:
        """As `get`, for a person: raises StillAtWorkError when it takes longer than some seconds."""
        try:
            return await asyncio.wait_for(self.get(key, stamp, make), self._patience_s)
        except TimeoutError:
            raise StillAtWorkError from None

    async def run(self, make: Callable[[], _T]) -> _T:
        """What `make` gives, in a thread; nothing is kept. Raises BusyError."""
        return await self.get(object(), lambda: None, make)

    def _ended(self, key: Hashable, task: "asyncio.Task[Any]") -> None:
        del self._under_way[key]
        if not task.cancelled():
            # Also where nobody waits any more: it was looked at.
            task.exception()

    async def _made(self, key: Hashable, stamp: Callable[[], Hashable], make: Callable[[], _T]) -> _T:
        kept = self._kept.get(key)

        def work() -> tuple[_T, Hashable, bool]:
            now = stamp()
            if kept is not None and kept.stamp == now and self._clock() - kept.made_s < _KEPT_S:
                return kept.value, now, False
            return make(), now, True

        async with self._free:
            value, now, new = await in_thread(work)
        if now is not None:
            at_s = self._clock()
            made_s = at_s if new or kept is None else kept.made_s
            self._kept[key] = _Kept(value, now, made_s, at_s)
            self._kept.move_to_end(key)
            while len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)
        return value


async def in_thread(work: Callable[[], _T]) -> _T:
    """Run it in a thread of its own, which does not keep the process from ending."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[_T] = loop.create_future()

    def tell(value: Any, error: BaseException | None) -> None:
        if future.cancelled():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(value)

    def body() -> None:
        value, problem = None, None
        try:
            value = work()
        except BaseException as error:
            problem = error
        try:
            loop.call_soon_threadsafe(tell, value, problem)
        except RuntimeError:
            # The loop has ended meanwhile: nobody waits.
            return

    threading.Thread(target=body, daemon=True, name="paceline-page").start()
    return await future

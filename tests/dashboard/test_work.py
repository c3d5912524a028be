import asyncio
import threading
from collections.abc import Hashable

import pytest

from paceline.dashboard.work import BusyError, StillAtWorkError, Work


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Maker:
    """Counts how often it was called; `gate`: it waits for that."""

    def __init__(self, gate: threading.Event | None = None) -> None:
        self.calls = 0
        self.stamps = 0
        self.stamp: Hashable = "a"
        self._gate = gate

    def see(self) -> Hashable:
        self.stamps += 1
        return self.stamp

    def make(self) -> str:
        self.calls += 1
        if self._gate is not None:
            assert self._gate.wait(30)
        return f"made {self.calls}"


def test_it_is_made_anew_when_the_store_has_changed_or_some_time_has_gone() -> None:
    async def play() -> None:
        clock, maker = Clock(), Maker()
        work = Work(clock)

        async def ask() -> str:
            return await work.get("page", maker.see, maker.make)

        assert await ask() == "made 1"
        assert await ask() == "made 1"
        assert maker.stamps == 1, "within a second nobody looks"
        clock.now = 2.0
        assert await ask() == "made 1"
        assert maker.stamps == 2
        maker.stamp = "b"
        clock.now = 4.0
        assert await ask() == "made 2"
        clock.now = 70.0
        assert await ask() == "made 3"

    asyncio.run(play())


def test_what_many_ask_for_is_made_once_and_others_are_not_held_up() -> None:
    async def play() -> None:
        gate = threading.Event()
        slow, quick = Maker(gate), Maker()
        work = Work()
        asked = [asyncio.create_task(work.get("slow", slow.see, slow.make)) for _ in range(20)]
        await asyncio.sleep(0)
        assert await work.get("quick", quick.see, quick.make) == "made 1"
        assert not any(task.done() for task in asked)
        asked[0].cancel()
        gate.set()
        answers = await asyncio.gather(*asked, return_exceptions=True)
        assert isinstance(answers[0], asyncio.CancelledError)
        assert answers[1:] == ["made 1"] * 19
        assert slow.calls == 1

    asyncio.run(play())


def test_more_than_can_wait_is_refused() -> None:
    async def play() -> None:
        gate = threading.Event()
        maker = Maker(gate)
        work = Work()
        asked = [asyncio.create_task(work.get(number, maker.see, maker.make)) for number in range(32)]
        await asyncio.sleep(0)
        with pytest.raises(BusyError):
            await work.get("one more", maker.see, maker.make)
        gate.set()
        assert len(await asyncio.gather(*asked)) == 32
        assert await work.get("one more", maker.see, maker.make)

    asyncio.run(play())


def test_an_error_is_told_to_all_and_not_kept() -> None:
    async def play() -> None:
        calls = []

        def fail() -> str:
            calls.append(1)
            raise ValueError("no")

        work = Work()
        for _ in range(2):
            with pytest.raises(ValueError, match="no"):
                await work.get("page", lambda: 1, fail)
        assert len(calls) == 2

    asyncio.run(play())


def test_of_many_pages_the_ones_asked_last_are_kept() -> None:
    async def play() -> None:
        makers = [Maker() for _ in range(40)]
        work = Work(Clock())
        for number, maker in enumerate(makers):
            await work.get(number, maker.see, maker.make)
        await work.get(39, makers[39].see, makers[39].make)
        await work.get(0, makers[0].see, makers[0].make)
        assert makers[39].calls == 1
        assert makers[0].calls == 2

    asyncio.run(play())


def test_a_page_that_takes_long_is_there_when_it_is_asked_for_again() -> None:
    async def play() -> None:
        gate = threading.Event()
        maker = Maker(gate)
        work = Work(patience_s=0.01)
        with pytest.raises(StillAtWorkError):
            await work.page("page", maker.see, maker.make)
        gate.set()
        assert await work.get("page", maker.see, maker.make) == "made 1"
        assert await work.page("page", maker.see, maker.make) == "made 1"
        assert maker.calls == 1

    asyncio.run(play())

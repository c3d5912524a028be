import os
import signal

import pytest

from paceline.control.signals import Signals


def test_ends_are_counted_and_a_reload_is_taken_once() -> None:
    with Signals() as signals:
        os.kill(os.getpid(), signal.SIGHUP)
        signals.wait(10, with_parent=False)
        assert (signals.ended, signals.take_reload(), signals.take_reload()) == (False, True, False)
        for number, count in ((signal.SIGTERM, 1), (signal.SIGINT, 2)):
            os.kill(os.getpid(), number)
            signals.wait(10, with_parent=False)
            assert (signals.ended, signals.count) == (True, count)


def test_former_handlers_come_back() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    with Signals():
        pass
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)] == before


def test_a_terminal_that_has_gone_is_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    there = [True]
    monkeypatch.setattr(os, "isatty", lambda _: there[0])
    with Signals() as signals:
        os.kill(os.getpid(), signal.SIGHUP)
        signals.wait(10, with_parent=False)
        assert not signals.ended
        there[0] = False
        os.kill(os.getpid(), signal.SIGHUP)
        signals.wait(10, with_parent=False)
        assert signals.ended


def test_other_descriptors_end_the_wait() -> None:
    read, write = os.pipe()
    os.write(write, b"news")
    with Signals() as signals:
        signals.wait(10, others=[read])
        assert not signals.ended
    # Nothing of theirs was taken.
    assert os.read(read, 10) == b"news"
    os.close(read)
    os.close(write)

"""Ctrl-C and SIGTERM while a run goes on."""

import os
import signal

from paceline.measure.interrupts import AtOnce, Interrupts


def test_signals_are_counted_and_the_former_handlers_are_put_back() -> None:
    former = signal.getsignal(signal.SIGTERM)
    with Interrupts() as noted:
        os.kill(os.getpid(), signal.SIGTERM)
        assert (noted.count, noted.name) == (1, "SIGTERM")
    assert signal.getsignal(signal.SIGTERM) is former


def test_one_may_do_for_the_two_that_end_a_run_at_once() -> None:
    with AtOnce() as noted:
        os.kill(os.getpid(), signal.SIGINT)
    assert (noted.count, noted.name) == (2, "SIGINT")

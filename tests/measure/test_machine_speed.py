import _thread
import threading

import pytest

from paceline import _core
from paceline.errors import RunError
from paceline.measure import machine_speed
from paceline.measure.machine_speed import (
    CORE_KINDS,
    KERNELS,
    PLAIN,
    Kernel,
    arithmetic_stretches,
    instructions,
    memory_stretches,
)

MIB = 1024**2


@pytest.mark.parametrize("kernel", KERNELS)
def test_each_way_through_memory_gives_stretches(kernel: Kernel) -> None:
    found = memory_stretches(kernel, 1, 6 * MIB, 0.1)
    assert found
    # A share may pass 1 by the little that two clocks differ.
    assert all(one.rate > 0 and 0 < one.share < 1.2 for one in found)


def test_each_kind_of_number_gives_stretches_where_the_machine_has_instructions_for_it() -> None:
    for kind in CORE_KINDS:
        found = arithmetic_stretches(kind, 1, 0.1)
        assert (found is None) == (instructions(kind) is None)
        assert found is None or all(one.rate > 0 for one in found)
    assert None not in (instructions("f32"), instructions("int8"))


@pytest.mark.skipif(instructions("int8") == PLAIN, reason="no instructions for bytes are known here")
def test_bytes_are_no_slower_than_single_precision_for_the_time_that_the_threads_had() -> None:
    by_cpu_time = {
        kind: max(one.rate / one.share for one in arithmetic_stretches(kind, 1, 0.2) or [])
        for kind in ("f32", "int8")
    }
    assert by_cpu_time["int8"] > by_cpu_time["f32"]


def test_what_cannot_be_had_is_said() -> None:
    with pytest.raises(RunError, match=r"memory cannot be measured: \d+ bytes of memory cannot be had"):
        memory_stretches("read", 1, 1 << 60, 0.1)
    with pytest.raises(RunError, match="there was no stretch"):
        arithmetic_stretches("f32", 1, 0.0)


@pytest.mark.parametrize(("threads", "seconds"), [(0, 0.1), (100_000, 0.1), (1, -1.0), (1, float("nan"))])
def test_the_extension_refuses_what_cannot_be(threads: int, seconds: float) -> None:
    with pytest.raises(ValueError, match=r"threads|duration|float"):
        _core.arithmetic_rates("f32", threads, seconds)


def test_the_extension_knows_its_names_only() -> None:
    with pytest.raises(ValueError, match='no way through memory "scale"'):
        _core.memory_rates("scale", 1, 6 * MIB, 0.1)
    with pytest.raises(ValueError, match='no kind of number "f64"'):
        _core.arithmetic_rates("f64", 1, 0.1)
    with pytest.raises(ValueError, match='no kind of number "f64"'):
        _core.arithmetic_instructions("f64")
    with pytest.raises(ValueError, match="at least"):
        _core.memory_rates("read", 1, 1000, 0.1)


def test_an_interrupt_ends_it() -> None:
    timer = threading.Timer(0.1, _thread.interrupt_main)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        # For an hour, if nothing ended it.
        memory_stretches("read", 1, 6 * MIB, 3600.0)
    timer.join()


def test_a_debug_build_measures_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_core, "build_profile", lambda: "debug")
    with pytest.raises(RunError, match="debug build"):
        machine_speed.memory_stretches("read", 1, 6 * MIB, 0.1)
    with pytest.raises(RunError, match="debug build"):
        machine_speed.arithmetic_stretches("f32", 1, 0.1)


def test_products_of_matrices_are_repeated() -> None:
    rates = machine_speed.product_rates(0.01)
    assert len(rates) >= 3
    # No processor of any kind takes longer than a tenth of a GFLOP/s.
    assert min(rates) > 1e8

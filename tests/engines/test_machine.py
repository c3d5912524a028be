import os

import pytest

from paceline.engines import gpus
from paceline.engines.machine import Gpu, look


def test_it_says_what_this_machine_has(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def found(memory_bytes: int, free_bytes: int) -> tuple[Gpu, ...]:
        seen.append((memory_bytes, free_bytes))
        return (Gpu("NVIDIA L4", 10, 5, "8.9"),)

    monkeypatch.setattr(gpus, "find_gpus", found)
    machine = look()
    assert 1 <= machine.cores <= len(os.sched_getaffinity(0))
    assert 0 < machine.free_bytes <= machine.memory_bytes
    assert machine.gpus == (Gpu("NVIDIA L4", 10, 5, "8.9"),)
    assert seen == [(machine.memory_bytes, machine.free_bytes)]

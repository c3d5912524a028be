"""This machine's processor: memory bandwidth of all cores at once, and arithmetic by its widest instructions.

The bandwidth that limits decoding is that of reading: a step reads the weights and writes next to nothing. A
limit must not be passed, so the best stretch of time stands for it. Arrays are many times larger than the
last level of cache.

Arithmetic is that of sums of products on numbers in the nearest cache; in single precision the better of that
and of products of matrices by BLAS, which on some machines is faster still. An engine computes `f16` in
single precision on a processor, and `bf16` too where that has no instructions for it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from paceline.engines.limits import cores, memory
from paceline.measure import machine_speed
from paceline.measure.host import describe_host
from paceline.measure.machine_speed import CORE_KINDS, PLAIN, CoreKind, Kernel, Stretch
from paceline.roofline.cache import last_level_bytes
from paceline.roofline.figure import Figure, computed, moved, repeated, spread_note
from paceline.roofline.rates import Rates
from paceline.units import format_bytes

Watch = Callable[[str], None]

READ_S = 1.0
READ_TURNS = 3
"""A disturbed reading is tried again, so often in all."""
OTHER_S = 0.5
ARITHMETIC_S = 0.5
# A cache keeps at most its own size of what went through it: a sixteenth of the bytes may not be memory's.
CACHES = 16
FEWEST_CACHES = 4
LEAST_BYTES = 256 << 20
FREE_SHARE = 0.25
_LEAST_A_THREAD = 6 << 20
# Features that compute more than what is measured, as the kernel names them.
_FASTER = {
    "int8": ("amx_int8", "i8mm", "sme"),
    "bf16": ("amx_bf16", "bf16", "sme"),
    "f16": ("amx_fp16", "avx512_fp16", "asimdhp", "sme"),
    "f32": ("sme",),
}


class Instrument(Protocol):
    """What is asked: the functions of `measure.machine_speed`."""

    def memory_stretches(
        self, kernel: Kernel, threads: int, bytes_a_thread: int, seconds: float
    ) -> list[Stretch]:
        """Bytes a second, stretch by stretch."""

    def arithmetic_stretches(self, kind: CoreKind, threads: int, seconds: float) -> list[Stretch] | None:
        """Operations a second, stretch by stretch."""

    def product_rates(self, seconds: float) -> list[float]:
        """Operations a second in single precision by BLAS."""

    def instructions(self, kind: CoreKind) -> str | None:
        """By which instructions."""


@dataclass(frozen=True, slots=True)
class Cpu:
    """What is known of the processor before it is measured. flags: as the kernel names its features."""

    threads: int
    memory_bytes: int
    free_bytes: int
    cache_bytes: int
    flags: frozenset[str] = field(default_factory=frozenset)
    name: str = ""


def this_cpu() -> Cpu:
    """As it is now."""
    memory_bytes, free_bytes = memory()
    name = str(describe_host()["cpu"])
    return Cpu(cores(), memory_bytes, free_bytes, last_level_bytes(), cpu_flags(), name)


def cpu_rates(cpu: Cpu, watch: Watch, instrument: Instrument = machine_speed) -> Rates:
    """Measure, in under about 10 s. `watch` is told what is at work. Raises RunError."""
    array_bytes = _array_bytes(cpu)
    found: dict[str, Figure] = {}
    watch(f"memory: {cpu.threads} threads, arrays of {format_bytes(array_bytes)}")
    found["read"] = _read(cpu, array_bytes, instrument)
    for kernel in ("copy", "triad"):
        stretches = instrument.memory_stretches(kernel, cpu.threads, array_bytes // cpu.threads, OTHER_S)
        found[kernel] = moved(stretches)
    by_kernel = {name: figure.value for name, figure in found.items()}
    watch(f"arithmetic: {cpu.threads} threads")
    arithmetic, notes = _arithmetic(cpu, instrument)
    found |= arithmetic
    kinds = {name: figure.value for name, figure in arithmetic.items()}
    kinds.setdefault("bf16", kinds["f32"])
    kinds["f16"] = kinds["f32"]
    spread_notes = [note for name, figure in found.items() if (note := spread_note(name, figure))]
    return Rates(
        device="cpu",
        bandwidth_bytes_s=by_kernel["read"],
        by_kernel=by_kernel,
        arithmetic_s=kinds,
        threads=cpu.threads,
        memory_bytes=cpu.memory_bytes,
        measured_at=datetime.now(UTC),
        cache_bytes=cpu.cache_bytes,
        name=cpu.name,
        array_bytes=array_bytes,
        spread={name: (figure.lo, figure.value) for name, figure in found.items()},
        at_least=tuple(kind for kind in kinds if _more_is_possible(kind, cpu, instrument)),
        disturbed=found["read"].disturbed,
        notes=(*_size_notes(cpu, array_bytes), *notes, *spread_notes),
    )


def cpu_flags(info: Path = Path("/proc/cpuinfo")) -> frozenset[str]:
    """Features of the first processor."""
    try:
        lines = info.read_text(errors="replace").splitlines()
    except OSError:
        return frozenset()
    for line in lines:
        name, _, value = line.partition(":")
        if name.strip() in ("flags", "Features"):
            return frozenset(value.split())
    return frozenset()


def _read(cpu: Cpu, array_bytes: int, instrument: Instrument) -> Figure:
    stretches: list[Stretch] = []
    for _ in range(READ_TURNS):
        stretches += instrument.memory_stretches("read", cpu.threads, array_bytes // cpu.threads, READ_S)
        if not moved(stretches).disturbed:
            break
    return moved(stretches)


def _array_bytes(cpu: Cpu) -> int:
    """Of all threads together."""
    wanted = max(LEAST_BYTES, CACHES * cpu.cache_bytes)
    return max(min(wanted, int(cpu.free_bytes * FREE_SHARE)), cpu.threads * _LEAST_A_THREAD)


def _size_notes(cpu: Cpu, array_bytes: int) -> list[str]:
    if not cpu.cache_bytes:
        return [f"the size of the cache is not known; arrays had {format_bytes(array_bytes)}"]
    if array_bytes >= FEWEST_CACHES * cpu.cache_bytes:
        return []
    return [
        f"only {format_bytes(array_bytes)} were free for arrays, beside {format_bytes(cpu.cache_bytes)} of "
        "cache: a part was read from the cache, and memory gives less"
    ]


def _arithmetic(cpu: Cpu, instrument: Instrument) -> tuple[dict[str, Figure], list[str]]:
    found: dict[str, Figure] = {}
    notes = []
    for kind in CORE_KINDS:
        stretches = instrument.arithmetic_stretches(kind, cpu.threads, ARITHMETIC_S)
        if stretches is not None:
            found[kind] = computed(stretches)
            notes.append(f"{kind} by {instrument.instructions(kind)}")
    products = repeated(instrument.product_rates(ARITHMETIC_S))
    if products.value > found["f32"].value:
        found["f32"] = products
        notes = [note for note in notes if not note.startswith("f32 ")] + [
            "f32 by products of matrices (BLAS)"
        ]
    return found, notes


def _more_is_possible(kind: str, cpu: Cpu, instrument: Instrument) -> bool:
    """Whether the processor has what is not measured: units for matrices, unknown instructions."""
    measured = {"f16": "f32"}.get(kind, kind)
    by = instrument.instructions(measured) if measured in CORE_KINDS else None
    # Processors that slow down for wide instructions are measured by narrow ones; engines may use the wide.
    narrow = by is not None and by.endswith("256 bits") and "avx512f" in cpu.flags
    return by == PLAIN or narrow or any(flag in cpu.flags for flag in _FASTER.get(kind, ()))

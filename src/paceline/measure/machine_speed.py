"""What this machine's cores move and compute, by the extension: stretches of 20 ms in a row."""

import time
from dataclasses import dataclass
from typing import Literal, get_args

from paceline.errors import RunError

Kernel = Literal["read", "copy", "triad"]
KERNELS: tuple[Kernel, ...] = get_args(Kernel)
CoreKind = Literal["f32", "bf16", "int8"]
CORE_KINDS: tuple[CoreKind, ...] = get_args(CoreKind)
PLAIN = "plain"
"""What `instructions` says of a processor of which no wide instructions are known."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """What all threads together did in 20 ms. rate: bytes or operations a second.

    share: of as many cores' time, what the threads had; below 1 where others were at work on them.
    """

    rate: float
    share: float


def memory_stretches(kernel: Kernel, threads: int, bytes_a_thread: int, seconds: float) -> list[Stretch]:
    """Memory read (`read`), copied, or combined (`triad`), each thread through arrays of its own.

    `bytes_a_thread`: of all its arrays. Raises RunError where threads or memory cannot be had, or on a debug
    build; an interrupt ends it within some milliseconds.
    """
    from paceline import _core

    _refuse_debug_build(_core.build_profile())
    try:
        found = _core.memory_rates(kernel, threads, bytes_a_thread, seconds)
    except (MemoryError, RuntimeError) as error:
        raise RunError(f"memory cannot be measured: {error}", "try again when less runs here") from None
    return [Stretch(rate, share) for rate, share in found]


def arithmetic_stretches(kind: CoreKind, threads: int, seconds: float) -> list[Stretch] | None:
    """Multiply-adds on numbers in the nearest cache, two operations each; None: no instructions for the kind.

    Raises RunError where threads cannot be had, or on a debug build.
    """
    from paceline import _core

    _refuse_debug_build(_core.build_profile())
    try:
        found = _core.arithmetic_rates(kind, threads, seconds)
    except RuntimeError as error:
        raise RunError(f"arithmetic cannot be measured: {error}", "try again when less runs here") from None
    return None if found is None else [Stretch(rate, share) for rate, share in found]


def product_rates(seconds: float) -> list[float]:
    """Operations a second of products of matrices by BLAS, in single precision, all cores: one a product."""
    import numpy as np

    side = 2048
    a = np.ones((side, side), np.float32)
    rates: list[float] = []
    end_s = time.perf_counter() + seconds
    while len(rates) < 3 or time.perf_counter() < end_s:
        began_s = time.perf_counter()
        a @ a
        rates.append(2.0 * side**3 / (time.perf_counter() - began_s))
    return rates


def instructions(kind: CoreKind) -> str | None:
    """By which instructions `arithmetic_stretches` computes; `PLAIN`: a lower bound; None: not at all."""
    from paceline import _core

    return _core.arithmetic_instructions(kind)


def _refuse_debug_build(profile: str) -> None:
    if profile != "release":
        raise RunError(
            "the extension is a debug build, which is too slow to measure anything with",
            "build it anew with `make dev` or `pip install .`",
        )

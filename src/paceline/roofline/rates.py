"""What a machine moves and computes in a second, as measured on it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Rates:
    """One device. bandwidth_bytes_s: reading memory that no cache holds, all cores at once, best of repeats.

    by_kernel: each way of reading or writing and its bytes a second. arithmetic_s: kind of number (`f32`,
    `int8`, `bf16`) -> operations a second, a multiply-add counted as two. source: `measured`, or who says so.
    cache_bytes: of the last level of cache that the cores share; 0: not known. What lies in it from one step
    of an engine to the next is not read from memory, so that a limit takes it off. memory_bytes: of the
    device.

    name: of the processor or GPU. array_bytes: of all arrays that went through memory. spread: kernel or kind
    -> 10th percentile and best of its repeats. at_least: kinds of which the device can do more than was
    measured (units for matrices, say), so that their rates limit nothing. disturbed: other work took the
    cores even in the best repeat, so that the true bandwidth is higher. notes: what else is to be said, in
    words.
    """

    device: str
    bandwidth_bytes_s: float
    by_kernel: Mapping[str, float]
    arithmetic_s: Mapping[str, float]
    threads: int
    memory_bytes: int
    measured_at: datetime
    source: str = "measured"
    cache_bytes: int = 0
    name: str = ""
    array_bytes: int = 0
    spread: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    at_least: tuple[str, ...] = ()
    disturbed: bool = False
    notes: tuple[str, ...] = ()

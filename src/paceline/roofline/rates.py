"""What a machine moves and computes in a second, as measured on it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Rates:
    """One device. bandwidth_bytes_s: reading memory that no cache holds, all cores at once, best of repeats.

    by_kernel: each way of reading or writing and its bytes a second. arithmetic_s: kind of number (`f32`,
    `int8`, `bf16`) -> operations a second, a multiply-add counted as two. source: `measured`, or who says so.
    cache_bytes: of the last level of cache that the cores share; 0: not known. What lies in it from one step
    of an engine to the next is not read from memory, so that a limit takes it off.
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

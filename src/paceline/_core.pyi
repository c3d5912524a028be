"""The Rust core: load generator, gateway and reference engine. See docs/design (0001 and 0003)."""

from typing import final

import pyarrow as pa

__all__ = [
    "Gateway",
    "LoadRun",
    "Sim",
    "__version__",
    "arithmetic_instructions",
    "arithmetic_rates",
    "build_profile",
    "memory_rates",
    "observe",
]

__version__: str

def build_profile() -> str:
    """`release`, or `debug`, on which nothing may be measured."""

def observe(
    protocol: str, streaming: bool, status: int, content_type: str | None, chunks: list[bytes]
) -> str:
    """What one response says, as JSON: read as the load generator reads it, to its end after the last chunk.

    `chunks` are the pieces of the body as they came. The names and values are those of the row's columns that
    come from the response (docs/design/0001-border-and-row.md); instead of instants, `event_ns` and `end_ns`
    hold the 0-based number of the chunk that completed the event or the body. Raises ValueError for an
    unknown protocol.
    """

def arithmetic_instructions(kind: str) -> str | None:
    """By which instructions this machine multiplies and adds up `f32`, `bf16` or `int8`; None: it has none.

    `plain`: no instructions are known here for this processor, and its compiler's best is a lower bound.
    Raises ValueError for another kind.
    """

def arithmetic_rates(kind: str, threads: int, seconds: float) -> list[tuple[float, float]] | None:
    """Operations a second of all threads together, a multiply-add as two: one pair each 20 ms.

    Beside each stands the share of as many cores' time that the threads had: below 1 where others were at
    work. The numbers lie in the nearest cache. None for a kind that the machine has no instructions for.
    Raises ValueError for another kind or number of threads, RuntimeError when the system gives no threads or
    `seconds` held no whole 20 ms, and whatever a signal's handler raises.
    """

def memory_rates(kernel: str, threads: int, bytes_a_thread: int, seconds: float) -> list[tuple[float, float]]:
    """Bytes a second of all threads together, each through arrays of its own: one pair each 20 ms.

    `kernel`: `read` (one array), `copy` (two) or `triad` (three); `bytes_a_thread`: of all arrays of a
    thread. What the program reads and writes is counted, as STREAM counts. Pairs and errors are as of
    `arithmetic_rates`; ValueError also for too few bytes (2 MiB an array), and MemoryError.
    """

@final
class LoadRun:
    """One start of the load generator, from a `paceline.load/1` document.

    Raises ValueError when the document is not valid; the message names the field.
    """

    def __new__(cls, spec_json: str) -> LoadRun: ...
    def push(self, batch: pa.RecordBatch) -> None:
        """Append bodies: column `body` (binary), and `request_index` (uint64) where indices do not go on.

        Raises ValueError for other columns, or when the input is closed.
        """

    def start(self) -> None:
        """Start the load threads. Raises RuntimeError when called twice or when the system refuses."""

    def poll(self) -> tuple[str, pa.RecordBatch | None]:
        """Progress as JSON, and the rows that have ended since the last poll."""

    def close_input(self) -> None:
        """No more bodies will come."""

    def stop(self) -> None:
        """Send nothing new; what is in flight goes on to its end."""

    def cancel(self) -> None:
        """End at once: what is in flight becomes outcome `cancelled`."""

@final
class Sim:
    """The reference engine, from its JSON configuration (docs/reference/sim.md).

    Raises ValueError when the configuration is not valid.
    """

    def __new__(cls, config_json: str) -> Sim: ...
    def start(self) -> str:
        """Listen, and return `host:port`. Raises ValueError when the address or a file cannot be had."""

    def stats(self) -> str:
        """Counters as JSON."""

    def stop(self) -> None:
        """Stop, and complete the truth log."""

@final
class Gateway:
    """The gateway's data plane, from a `paceline.gateway/1` and a `paceline.routes/1` document.

    Raises ValueError when a document is not valid; the message names the key, and never a value.
    """

    def __new__(cls, settings_json: str, table_json: str) -> Gateway: ...
    def start(self) -> str:
        """Take connections; returns `{"listen": "host:port", "admin": "host:port" | null}`.

        Raises OSError when an address or the ledger cannot be had, ValueError for TLS that is of no use, and
        RuntimeError when it was started before or the system refuses something else.
        """

    def swap(self, table_json: str) -> None:
        """Route by another table from now on. Raises ValueError when it is none; the old one then stays."""

    def stats(self) -> str:
        """Counters, the ledger's state, and what is known of each offer, as JSON."""

    def drain(self) -> None:
        """Take nothing new; requests in flight have the settings' `drain_ns`."""

    def finished(self) -> bool:
        """Drained: nothing is in flight."""

    def stop(self) -> None:
        """End what is left. Stopping again does nothing."""

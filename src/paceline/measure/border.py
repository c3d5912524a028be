"""What the measuring code needs of the Rust core and of the workload, so that tests can stand in for both."""

import json
import resource
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol

import pyarrow as pa

from paceline.errors import ConfigError, RunError
from paceline.protocols import Protocol as WireProtocol


class LoadHandle(Protocol):
    """One start of the load generator; `paceline._core.LoadRun` is the real one."""

    def push(self, batch: pa.RecordBatch) -> None:
        """Append bodies."""

    def start(self) -> None:
        """Start the clock and the load threads."""

    def poll(self) -> tuple[str, pa.RecordBatch | None]:
        """Progress as JSON, and the rows that have ended since the last poll."""

    def close_input(self) -> None:
        """No more bodies will come."""

    def stop(self) -> None:
        """Send nothing new."""

    def cancel(self) -> None:
        """End now."""


class BodySource(Protocol):
    """Where jobs come from; `paceline.measure.sources.IndexedSource` is the real one."""

    def take(self, n: int) -> tuple[pa.RecordBatch, pa.Table]:
        """The next `n` jobs, fewer where there are no more, and the plan rows that belong to them.

        A batch has the column `body`, `request_index` where indices do not simply go on, and for jobs of
        several calls what docs/design/0002-jobs-protocols-studies.md names.
        """


LoadFactory = Callable[[str], LoadHandle]


def _allow_open_files() -> None:
    """Raise this process's own limit of open files as far as it may: each stream takes one."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    # Some systems name a limit that they do not grant; then what there is has to do.
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def core_load_run(spec_json: str) -> LoadHandle:
    """The real load generator. Raises RunError on a debug build, ConfigError for a spec that it refuses."""
    from paceline import _core

    if _core.build_profile() != "release":
        raise RunError(
            "the extension is a debug build, which is too slow to measure anything with",
            "build it anew with `make dev` or `pip install .`",
        )
    _allow_open_files()
    try:
        return _core.LoadRun(spec_json)
    except ValueError as error:
        raise ConfigError(f"the load generator refuses this load: {error}") from None


def core_observe(
    protocol: WireProtocol, streaming: bool, status: int, content_type: str | None, chunks: list[bytes]
) -> dict[str, Any]:
    """A response as the load generator reads it: the columns of its row that come from the response."""
    from paceline import _core

    found: dict[str, Any] = json.loads(_core.observe(protocol, streaming, status, content_type, chunks))
    return found

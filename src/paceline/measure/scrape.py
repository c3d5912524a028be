"""Asks a server's Prometheus endpoint what goes on there: found before a run, asked while it goes on."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from paceline.endpoints.client import Client
from paceline.endpoints.target import Target
from paceline.errors import ConfigError, EndpointError
from paceline.measure.exposition import MOST_LINES
from paceline.measure.sampler import LookError, Reading
from paceline.measure.server_table import EngineTable, ServerTable, load_table

AUTO, OFF = "auto", "off"
DEFAULT_EVERY_NS = 1_000_000_000
# Often enough to tell how long a server goes on after a hang-up (stats.server_hangups).
HANGUP_EVERY_NS = 200_000_000
SHORTEST_EVERY_NS = 100_000_000
# The whole of one look, whatever the server does within it.
LOOK_S = 3.0
# A page of vLLM has some 100 KB an engine.
MOST_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True)
class ServerWatch:
    """What is asked of the server's side while a run goes on.

    `metrics`: `auto`, `off` or a URL. `table`: a user's own, over the built-in one. `gpu`: whether this
    machine's GPUs are sampled; None: where the endpoint is on this machine.
    """

    metrics: str = AUTO
    every_ns: int = DEFAULT_EVERY_NS
    table: Path | None = None
    gpu: bool | None = None

    def __post_init__(self) -> None:
        if self.every_ns < SHORTEST_EVERY_NS:
            raise ConfigError(
                "--server-metrics-every is under 100 ms",
                "asking more often would be load of its own: give 100ms or more",
            )

    def to_dict(self) -> dict[str, Any]:
        """For the stored run, so that it can be resumed alike."""
        table = None if self.table is None else str(self.table.absolute())
        return {"metrics": self.metrics, "every_ns": self.every_ns, "table": table, "gpu": self.gpu}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> "ServerWatch":
        """What `to_dict` gave; what it lacks is as usual."""
        table = stored.get("table")
        return cls(
            str(stored.get("metrics", AUTO)),
            int(stored.get("every_ns", DEFAULT_EVERY_NS)),
            None if table is None else Path(table),
            stored.get("gpu"),
        )


@dataclass(frozen=True)
class MetricsSource:
    """Where a server's metrics are, and how they are read. `target` holds secrets; `url` does not."""

    target: Target
    path: str
    engine: str
    table: EngineTable

    @property
    def url(self) -> str:
        """For people and records."""
        return self.target.origin + self.path

    @property
    def title(self) -> str:
        """The engine's name for people."""
        return self.table.title or self.engine

    @property
    def counted_at_end(self) -> list[str]:
        """Counters that grow only when a request ends."""
        return sorted(one.name for one in self.table.metrics if one.counted == "end")


class Scraper:
    """Asks one source; `look` is for a `Sampler`. Close it when nothing is asked any more."""

    def __init__(self, source: MetricsSource) -> None:
        self._source = source
        self._client = Client(source.target, LOOK_S, most_bytes=MOST_BYTES)
        self._kinds = {one.name: one.its_kind for one in source.table.metrics}

    def look(self) -> list[Reading]:
        """What the server says now. Raises LookError."""
        source = self._source
        started_ns = time.monotonic_ns()
        text = _page(self._client, source.path)
        ended_ns = time.monotonic_ns()
        span_ns = ended_ns - started_ns
        at_ns = started_ns + span_ns // 2
        found = source.table.values(text)
        if not found:
            raise LookError(f"the page has no metrics of {source.title}")
        return [
            Reading(at_ns, span_ns, source.engine, name, self._kinds[name], value)
            for name, value in found.items()
        ]

    def close(self) -> None:
        """Let go of the connection."""
        self._client.__exit__(None, None, None)


class _UnansweredError(LookError):
    """No answer at all: another path of the same server need not be tried."""


def _page(client: Client, path: str) -> str:
    """The text at a path. Raises LookError."""
    try:
        reply = client.get(path, accept="text/plain;version=0.0.4")
    except EndpointError as error:
        raise _UnansweredError(error.message.removeprefix(f"{client.target.display}: ")) from None
    if reply.status != 200:
        raise LookError(f"{path} answers with status {reply.status}")
    # A sum over the beginning of a page would be too low, and not look so.
    if reply.cut:
        raise LookError(f"{path} is longer than {MOST_BYTES >> 20} MiB")
    if reply.body.count("\n") > MOST_LINES:
        raise LookError(f"{path} has more than {MOST_LINES:,} lines")
    return reply.body


def find_metrics(target: Target, watch: ServerWatch) -> MetricsSource | None:
    """Where the server of `target` has its metrics; None where there are none, or none are wanted.

    `auto` asks the target's own origin once, with its key, and says nothing of failures. Raises EndpointError
    when a URL was given and has no metrics that the table knows, ConfigError for a table that makes no sense.
    """
    table = load_table(watch.table)
    if watch.metrics == OFF:
        return None
    if watch.metrics == AUTO:
        return _found(target, _roots(target, table), table)[0]
    where, paths = _given(target, watch.metrics, table)
    found, reasons = _found(where, paths, table)
    if found is None:
        raise EndpointError(
            f"--server-metrics {watch.metrics}: {'; '.join(reasons)}",
            "is it the server's metrics page, and does the server have them turned on? "
            "--server-metrics off does without; --server-metrics-table teaches Paceline another engine",
        )
    return found


def _given(target: Target, url: str, table: ServerTable) -> tuple[Target, list[str]]:
    """The target to ask, and the paths. The run's own key and headers go to its own origin alone."""
    own = Target.parse(url)
    parts = urlsplit(url if "://" in url else f"http://{url}")
    path = f"{parts.path}?{parts.query}" if parts.query else parts.path
    paths = [path] if parts.path not in ("", "/") else table.paths()
    if own.origin == target.origin:
        return target, paths
    return replace(own, ca_pem=target.ca_pem if own.scheme == "https" else None), paths


def _roots(target: Target, table: ServerTable) -> list[str]:
    """A server behind a path has its metrics there, or at the origin."""
    root = target.base_path.removesuffix("/v1")
    return list(dict.fromkeys(prefix + path for prefix in (root, "") for path in table.paths()))


def _found(target: Target, paths: list[str], table: ServerTable) -> tuple[MetricsSource | None, list[str]]:
    reasons: list[str] = []
    with Client(target, LOOK_S, most_bytes=MOST_BYTES) as client:
        for path in paths:
            try:
                text = _page(client, path)
            except _UnansweredError as error:
                return None, [*reasons, str(error)]
            except LookError as error:
                reasons.append(str(error))
                continue
            engine = table.engine_of(text)
            if engine is not None:
                return MetricsSource(target, path, engine, table.engines[engine]), []
            reasons.append(f"{path} has no metrics of {', '.join(table.engines)}")
    return None, reasons

"""A run as another tool's file tells it, and its way into the store."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from paceline import __version__
from paceline.store.manifest import RunManifest, check_name
from paceline.store.runs import delete_run
from paceline.store.schema import ROW_SCHEMA
from paceline.store.writer import RunWriter

UNKNOWN = "unknown"
CONTENT, REASONING = 1, 2
GAP_METRICS = ("itl_ms", "chunk_gap_ms", "longest_stall_ms", "fluidity")
"""Metrics that only the arrivals of all events tell."""

_ROWS_A_BATCH = 2_000
_LONGEST_NS = 366 * 24 * 3600 * 10**9
# What no other tool's file holds.
LACKS_ALWAYS = (
    "kernel receive stamps: times are what the tool's own process saw, its lateness included",
    "how late and how busy the client was",
)


@dataclass(frozen=True)
class ImportedRow:
    """One request. Instants in ns since the run's first request began; None where the file does not say.

    `event_ns`: events that carried tokens, `event_tokens` -1 where the file does not say how many.
    `due_ns`: when the schedule meant to send, None where there was none.
    """

    sent_ns: int | None
    end_ns: int
    outcome: str = "ok"
    due_ns: int | None = None
    headers_ns: int | None = None
    phase: str = "measure"
    streaming: bool = True
    event_ns: tuple[int, ...] = ()
    event_kind: tuple[int, ...] = ()
    event_tokens: tuple[int, ...] = ()
    response_id: str | None = None
    status: int | None = None
    error: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    reasoning_tokens: int | None = None
    cached_tokens: int | None = None
    text: str = ""

    @property
    def fits(self) -> bool:
        """Whether all its instants are some of a run of a year at most."""
        instants = (self.sent_ns, self.due_ns, self.headers_ns, self.end_ns, *self.event_ns)
        return all(at is None or abs(at) <= _LONGEST_NS for at in instants)

    def to_row(self, index: int) -> dict[str, Any]:
        """The row's columns; what may be null and is not known is."""
        n = len(self.event_ns)
        due = self.due_ns if self.due_ns is not None else self.sent_ns
        return {
            **dict.fromkeys(ROW_SCHEMA.names),
            "segment": 0,
            "request_index": index,
            "phase": self.phase,
            "response_id": self.response_id,
            "intended_ns": due or 0,
            "sent_ns": self.sent_ns,
            "connection_reused": True,
            "headers_ns": self.headers_ns,
            "end_ns": self.end_ns,
            "status": self.status,
            "outcome": self.outcome,
            "error": self.error,
            "end_marker": False,
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "reasoning_tokens": self.reasoning_tokens,
            "cached_tokens": self.cached_tokens,
            "bytes_received": 0,
            "events": n,
            "streaming": self.streaming,
            "kernel_stamped": False,
            "event_ns": self.event_ns,
            "event_kind": self.event_kind or (CONTENT,) * n,
            "event_tokens": self.event_tokens or (-1,) * n,
            "event_bytes": (0,) * n,
            "event_coalesced": (False,) * n,
            "text": self.text,
        }


@dataclass(frozen=True)
class ImportedRun:
    """One run. `tool`: as `paceline show --as` names it. `lacks`: what the file does not hold, in words.

    `hidden`: metrics that its rows would give and that the file does not really tell, and `rates`, what is
    counted a second. `figures`: what the tool itself says, metric -> {n, mean, p50, ...}, in the metric's
    unit. `assumptions`: what the rows hold by assumption.
    """

    tool: str
    tool_version: str | None
    rows: Sequence[ImportedRow]
    endpoint: str | None = None
    model: str | None = None
    protocol: str | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    load: dict[str, Any] = field(default_factory=dict)
    lacks: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    figures: dict[str, dict[str, float | None]] = field(default_factory=dict)

    def manifest(self, source: Path, name: str | None) -> RunManifest:
        """The stored run's manifest. Raises ConfigError for a name that cannot be one."""
        version = f" {self.tool_version}" if self.tool_version else ""
        notes = [f"imported from {source.name} of {self.tool}{version}", *self.assumptions]
        if self.started_at is None:
            notes.append("when the run began is not known: the time of its import stands for it")
        fields: dict[str, Any] = {} if self.started_at is None else {"started_at": self.started_at}
        return RunManifest(
            version=__version__,
            name=None if name is None else check_name(name),
            finished_at=self.finished_at,
            endpoint=self.endpoint or UNKNOWN,
            model=self.model or UNKNOWN,
            protocol=self.protocol or UNKNOWN,
            streaming=any(row.streaming for row in self.rows),
            load=self.load,
            notes=notes,
            imported={
                "tool": self.tool,
                "version": self.tool_version,
                "file": source.name,
                "lacks": [*self.lacks, *LACKS_ALWAYS],
                "hidden": list(self.hidden),
                "figures": self.figures,
            },
            **fields,
        )


def store_run(run: ImportedRun, source: Path, *, name: str | None = None, at: Path | None = None) -> str:
    """Write an imported run into the store and return its id; `at`: another home.

    A run that could not be written whole is taken away again. Raises StoreError, or ConfigError for a name.
    """
    manifest = run.manifest(source, name)
    writer = RunWriter.create(manifest, at=at)
    try:
        for batch in _batches(run.rows):
            writer.append(batch)
        finished = manifest.finished_at or datetime.now(UTC)
        writer.finish("complete")
        writer.update(finished_at=finished)
    except BaseException:
        writer.finish("failed")
        delete_run(writer.id, at=at)
        raise
    return writer.id


def _batches(rows: Sequence[ImportedRow]) -> Iterator[pa.RecordBatch]:
    for start in range(0, len(rows), _ROWS_A_BATCH):
        part = [row.to_row(start + k) for k, row in enumerate(rows[start : start + _ROWS_A_BATCH])]
        yield pa.RecordBatch.from_pylist(part, schema=ROW_SCHEMA)


def moment(unix_s: float | None) -> datetime | None:
    """A Unix time in seconds as UTC; None for None."""
    return None if unix_s is None else datetime.fromtimestamp(unix_s, UTC)

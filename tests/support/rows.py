"""Tables of request rows in the exact schema of docs/design/0001-border-and-row.md, from a few arguments.

Instants in rows are ns from the origin of the segment; the helpers take them in ms.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

MS = 1_000_000

_FIELDS: "list[pa.Field[Any]]" = [
    pa.field("segment", pa.uint32(), nullable=False),
    pa.field("request_index", pa.uint64(), nullable=False),
    pa.field("session", pa.uint64()),
    pa.field("step", pa.uint32()),
    pa.field("phase", pa.utf8(), nullable=False),
    pa.field("response_id", pa.utf8()),
    pa.field("intended_ns", pa.int64(), nullable=False),
    pa.field("sent_ns", pa.int64()),
    pa.field("written_ns", pa.int64()),
    pa.field("connect_ns", pa.int64()),
    pa.field("tls_ns", pa.int64()),
    pa.field("connection_reused", pa.bool_(), nullable=False),
    pa.field("headers_ns", pa.int64()),
    pa.field("end_ns", pa.int64(), nullable=False),
    pa.field("status", pa.uint16()),
    pa.field("outcome", pa.utf8(), nullable=False),
    pa.field("error", pa.utf8()),
    pa.field("finish_reason", pa.utf8()),
    pa.field("end_marker", pa.bool_(), nullable=False),
    pa.field("retry_after_ms", pa.int64()),
    pa.field("prompt_tokens", pa.int64()),
    pa.field("completion_tokens", pa.int64()),
    pa.field("reasoning_tokens", pa.int64()),
    pa.field("cached_tokens", pa.int64()),
    pa.field("cache_write_tokens", pa.int64()),
    pa.field("server_model", pa.utf8()),
    pa.field("server_timings", pa.utf8()),
    pa.field("bytes_received", pa.uint64(), nullable=False),
    pa.field("events", pa.uint32(), nullable=False),
    pa.field("streaming", pa.bool_(), nullable=False),
    pa.field("kernel_stamped", pa.bool_(), nullable=False),
    pa.field("hangup_ns", pa.int64()),
    pa.field("stopped_ns", pa.int64()),
    pa.field("tail_bytes", pa.uint64()),
    pa.field("event_ns", pa.list_(pa.field("item", pa.int64(), nullable=False)), nullable=False),
    pa.field("event_kind", pa.list_(pa.field("item", pa.uint8(), nullable=False)), nullable=False),
    pa.field("event_tokens", pa.list_(pa.field("item", pa.int32(), nullable=False)), nullable=False),
    pa.field("event_bytes", pa.list_(pa.field("item", pa.uint32(), nullable=False)), nullable=False),
    pa.field("event_coalesced", pa.list_(pa.field("item", pa.bool_(), nullable=False)), nullable=False),
    pa.field("text", pa.large_utf8(), nullable=False),
]
ROW_SCHEMA = pa.schema(_FIELDS)


def make_row(
    *,
    sent_ms: float | None = 0.0,
    intended_ms: float | None = None,
    event_ms: Sequence[float] = (100.0, 110.0, 120.0, 130.0),
    end_ms: float | None = None,
    **columns: Any,
) -> dict[str, Any]:
    """One row: by default a good streaming answer of four one-token events at 100, 110, 120 and 130 ms.

    `event_ms` and `end_ms` are instants on the segment's clock, not durations. `intended_ms` defaults to
    `sent_ms`, `end_ms` to 1 ms after the last event. Any column can be given by its own name and wins.
    """
    n = len(event_ms)
    intended = intended_ms if intended_ms is not None else (sent_ms or 0.0)
    end = end_ms if end_ms is not None else (event_ms[-1] if n else intended) + 1.0
    row: dict[str, Any] = {
        "segment": 0,
        "request_index": 0,
        "session": None,
        "step": None,
        "phase": "measure",
        "response_id": None,
        "cache_write_tokens": None,
        "hangup_ns": None,
        "stopped_ns": None,
        "tail_bytes": None,
        "intended_ns": round(intended * MS),
        "sent_ns": None if sent_ms is None else round(sent_ms * MS),
        "written_ns": None if sent_ms is None else round(sent_ms * MS) + 20_000,
        "connect_ns": None,
        "tls_ns": None,
        "connection_reused": True,
        "headers_ns": round(event_ms[0] * MS) if n else None,
        "end_ns": round(end * MS),
        "status": 200,
        "outcome": "ok",
        "error": None,
        "finish_reason": "length",
        "end_marker": True,
        "retry_after_ms": None,
        "prompt_tokens": 10,
        "completion_tokens": n,
        "reasoning_tokens": None,
        "cached_tokens": None,
        "server_model": "sim",
        "server_timings": None,
        "bytes_received": 200 * n,
        "events": n + 1,
        "streaming": True,
        "kernel_stamped": True,
        "event_ns": [round(at * MS) for at in event_ms],
        "event_kind": [1] * n,
        "event_tokens": [-1] * n,
        "event_bytes": [5] * n,
        "event_coalesced": [False] * n,
        "text": "word " * n,
    }
    unknown = columns.keys() - row.keys()
    if unknown:
        raise TypeError(f"no such column: {sorted(unknown)}")
    row.update(columns)
    return row


def rows_table(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """The rows as a table; where all request indices are 0 they are numbered in order."""
    numbered = [dict(row) for row in rows]
    if all(row["request_index"] == 0 for row in numbered):
        for index, row in enumerate(numbered):
            row["request_index"] = index
    return pa.Table.from_pylist(numbered, schema=ROW_SCHEMA)


def lognormal_rows(
    n: int,
    seed: int,
    *,
    ttft_ms: float = 200.0,
    itl_ms: float = 20.0,
    sigma: float = 0.3,
    events: int = 32,
    tokens_per_event: int = 1,
    stall_share: float = 0.0,
    stall_factor: float = 5.0,
    concurrency: int = 8,
    warmup: int = 0,
    segment: int = 0,
    outcome: str = "ok",
) -> pa.Table:
    """`n` rows of a closed loop whose TTFTs and gaps are lognormal with the given medians.

    `stall_share` of the TTFTs and gaps are `stall_factor` times as long. The first `warmup` rows (in order of
    sending) have phase `warmup`. All numpy, so that a table of a million events costs under a second.
    """
    rng = np.random.default_rng(seed)
    medians = np.full((n, events), itl_ms * MS)
    medians[:, 0] = ttft_ms * MS
    steps = medians * rng.lognormal(0.0, sigma, (n, events))
    steps[rng.random((n, events)) < stall_share] *= stall_factor
    arrivals = np.cumsum(steps, axis=1)
    starts = _closed_loop_starts(arrivals[:, -1], concurrency)
    order = np.argsort(starts, kind="stable")
    sent = starts[order].astype(np.int64)
    event_ns = sent[:, None] + arrivals[order].astype(np.int64)

    template = make_row(
        event_ms=(),
        segment=segment,
        outcome=outcome,
        events=events + 1,
        bytes_received=200 * events,
        completion_tokens=events * tokens_per_event,
        text="word " * (events * tokens_per_event),
    )
    columns = {
        field.name: pa.repeat(pa.scalar(template[field.name], field.type), n)
        for field in _FIELDS
        if not field.name.startswith("event_")
    }
    columns["request_index"] = pa.array(np.arange(n, dtype=np.uint64))
    columns["phase"] = pa.array(np.where(np.arange(n) < warmup, "warmup", "measure"), pa.utf8())
    columns["intended_ns"] = columns["sent_ns"] = pa.array(sent)
    columns["written_ns"] = pa.array(sent + 20_000)
    columns["headers_ns"] = pa.array(event_ns[:, 0])
    columns["end_ns"] = pa.array(event_ns[:, -1] + MS)
    columns["event_ns"] = _lists(pa.array(event_ns.ravel()), n)
    server_says = tokens_per_event if tokens_per_event > 1 else -1
    for name, value in (
        ("event_kind", 1),
        ("event_tokens", server_says),
        ("event_bytes", 5 * tokens_per_event),
        ("event_coalesced", False),
    ):
        item: Any = pa.scalar(value, ROW_SCHEMA.field(name).type.value_type)
        columns[name] = _lists(pa.repeat(item, n * events), n)
    return pa.table({field.name: columns[field.name] for field in _FIELDS}, schema=ROW_SCHEMA)


def _lists(items: "pa.Array[Any]", rows: int) -> "pa.Array[Any]":
    """The items cut into `rows` lists of equal length."""
    offsets = np.linspace(0, len(items), rows + 1).round().astype(np.int32)
    field = pa.field("item", items.type, nullable=False)
    lists: pa.Array[Any] = pa.ListArray.from_arrays(
        pa.array(offsets, pa.int32()), items, type=pa.list_(field)
    )
    return lists


def _closed_loop_starts(durations: npt.NDArray[np.float64], concurrency: int) -> npt.NDArray[np.float64]:
    """Row k runs in slot k modulo `concurrency`, right after the slot's previous row."""
    n = len(durations)
    rounds = -(-n // concurrency)
    padded = np.zeros(rounds * concurrency)
    padded[:n] = durations
    by_slot = padded.reshape(rounds, concurrency)
    starts: npt.NDArray[np.float64] = (np.cumsum(by_slot, axis=0) - by_slot).ravel()[:n]
    return starts

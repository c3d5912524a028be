"""The columns of a stored run's files. `paceline_wire::record` owns the row: a test compares them."""

from typing import Any

import pyarrow as pa


def _column(name: str, kind: Any, *, nullable: bool = False) -> "pa.Field[Any]":
    return pa.field(name, kind, nullable=nullable)


def _list_of(kind: Any) -> Any:
    return pa.list_(pa.field("item", kind, nullable=False))


ROW_SCHEMA = pa.schema(
    [
        _column("segment", pa.uint32()),
        _column("request_index", pa.uint64()),
        _column("session", pa.uint64(), nullable=True),
        _column("step", pa.uint32(), nullable=True),
        _column("phase", pa.utf8()),
        _column("response_id", pa.utf8(), nullable=True),
        _column("intended_ns", pa.int64()),
        _column("sent_ns", pa.int64(), nullable=True),
        _column("written_ns", pa.int64(), nullable=True),
        _column("connect_ns", pa.int64(), nullable=True),
        _column("tls_ns", pa.int64(), nullable=True),
        _column("connection_reused", pa.bool_()),
        _column("headers_ns", pa.int64(), nullable=True),
        _column("end_ns", pa.int64()),
        _column("status", pa.uint16(), nullable=True),
        _column("outcome", pa.utf8()),
        _column("error", pa.utf8(), nullable=True),
        _column("finish_reason", pa.utf8(), nullable=True),
        _column("end_marker", pa.bool_()),
        _column("retry_after_ms", pa.int64(), nullable=True),
        _column("prompt_tokens", pa.int64(), nullable=True),
        _column("completion_tokens", pa.int64(), nullable=True),
        _column("reasoning_tokens", pa.int64(), nullable=True),
        _column("cached_tokens", pa.int64(), nullable=True),
        _column("cache_write_tokens", pa.int64(), nullable=True),
        _column("server_model", pa.utf8(), nullable=True),
        _column("server_timings", pa.utf8(), nullable=True),
        _column("bytes_received", pa.uint64()),
        _column("events", pa.uint32()),
        _column("streaming", pa.bool_()),
        _column("kernel_stamped", pa.bool_()),
        _column("hangup_ns", pa.int64(), nullable=True),
        _column("stopped_ns", pa.int64(), nullable=True),
        _column("tail_bytes", pa.uint64(), nullable=True),
        _column("event_ns", _list_of(pa.int64())),
        _column("event_kind", _list_of(pa.uint8())),
        _column("event_tokens", _list_of(pa.int32())),
        _column("event_bytes", _list_of(pa.uint32())),
        _column("event_coalesced", _list_of(pa.bool_())),
        _column("text", pa.large_utf8()),
    ]
)
"""One request, one row (docs/reference/store.md)."""

PLAN_SCHEMA = pa.schema(
    [
        _column("request_index", pa.uint64()),
        _column("prompt_tokens_asked", pa.int64(), nullable=True),
        _column("output_tokens_asked", pa.int64(), nullable=True),
        _column("prompt_sha256", pa.utf8(), nullable=True),
        _column("session", pa.uint64(), nullable=True),
        _column("step", pa.uint32(), nullable=True),
        _column("call", pa.utf8(), nullable=True),
        _column("after", pa.list_(pa.field("item", pa.uint32(), nullable=False)), nullable=True),
        _column("wait_ms", pa.float64(), nullable=True),
        _column("wait_kind", pa.utf8(), nullable=True),
        _column("start_ns", pa.int64(), nullable=True),
    ]
)
"""What was asked of each request. A plan may bring further columns; they are kept."""

PROGRESS_SCHEMA = pa.schema(
    [
        _column("t_ns", pa.int64()),
        _column("segment", pa.uint32()),
        _column("in_flight", pa.int64()),
        _column("started", pa.int64()),
        _column("finished", pa.int64()),
        _column("token_events", pa.int64()),
        _column("cpu_ns", pa.int64()),
    ]
)
"""How a segment stood, about once a second; `t_ns` since the segment's origin."""

SERVER_SCHEMA = pa.schema(
    [
        _column("t_ns", pa.int64()),
        _column("span_ns", pa.int64()),
        _column("source", pa.utf8()),
        _column("name", pa.utf8()),
        _column("kind", pa.utf8()),
        _column("value", pa.float64()),
    ]
)
"""What the server's metrics and this machine's GPUs said; `t_ns` on CLOCK_MONOTONIC, not relative."""

"""The columns of `traffic/requests/*.parquet`: one row a request that the gateway took."""

from typing import Any

import pyarrow as pa

SCHEMA_NAME = "paceline.traffic/1"


def _column(name: str, kind: Any, *, nullable: bool = False) -> "pa.Field[Any]":
    return pa.field(name, kind, nullable=nullable)


TRIED = pa.struct(
    [
        _column("offer", pa.utf8()),
        _column("provider", pa.utf8()),
        _column("model", pa.utf8()),
        _column("upstream_model", pa.utf8()),
        _column("tier", pa.utf8()),
        _column("role", pa.utf8()),
        _column("served", pa.bool_()),
        # The request counts as this attempt's: the one that served, or else the last.
        _column("counted", pa.bool_()),
        _column("upstream_outcome", pa.utf8()),
        _column("upstream_ttft_ms", pa.float64(), nullable=True),
        _column("decode_tok_s", pa.float64(), nullable=True),
        _column("prompt_tokens", pa.int64()),
        _column("completion_tokens", pa.int64()),
        _column("reasoning_tokens", pa.int64()),
        _column("cached_tokens", pa.int64()),
        _column("cache_write_tokens", pa.int64()),
        _column("tokens_estimated", pa.bool_()),
        _column("cost_usd", pa.float64(), nullable=True),
        _column("cost_is_partial", pa.bool_()),
    ]
)
"""One offer that was asked for a request."""

TRAFFIC_SCHEMA = pa.schema(
    [
        _column("ledger_segment", pa.uint32()),
        _column("ledger_offset", pa.uint64()),
        _column("id", pa.utf8()),
        _column("received_at", pa.timestamp("us", tz="UTC")),
        _column("key", pa.utf8(), nullable=True),
        _column("app_title", pa.utf8(), nullable=True),
        _column("app_referer", pa.utf8(), nullable=True),
        _column("protocol", pa.utf8()),
        _column("streaming", pa.bool_()),
        _column("asked_model", pa.utf8()),
        _column("model", pa.utf8(), nullable=True),
        _column("provider", pa.utf8(), nullable=True),
        _column("offer", pa.utf8(), nullable=True),
        _column("upstream_model", pa.utf8(), nullable=True),
        _column("tier", pa.utf8(), nullable=True),
        _column("upstream_outcome", pa.utf8(), nullable=True),
        _column("outcome", pa.utf8()),
        _column("status", pa.uint16(), nullable=True),
        _column("code", pa.utf8(), nullable=True),
        _column("ttft_ms", pa.float64(), nullable=True),
        _column("e2e_ms", pa.float64()),
        _column("queued_ms", pa.float64()),
        _column("upstream_ttft_ms", pa.float64(), nullable=True),
        _column("decode_tok_s", pa.float64(), nullable=True),
        _column("prompt_tokens", pa.int64()),
        _column("completion_tokens", pa.int64()),
        _column("reasoning_tokens", pa.int64()),
        _column("cached_tokens", pa.int64()),
        _column("cache_write_tokens", pa.int64()),
        _column("served_prompt_tokens", pa.int64(), nullable=True),
        _column("served_completion_tokens", pa.int64(), nullable=True),
        _column("served_reasoning_tokens", pa.int64(), nullable=True),
        _column("served_cached_tokens", pa.int64(), nullable=True),
        _column("served_cache_write_tokens", pa.int64(), nullable=True),
        _column("served_cost_usd", pa.float64(), nullable=True),
        _column("tokens_estimated", pa.bool_()),
        _column("cost_usd", pa.float64()),
        _column("cost_is_partial", pa.bool_()),
        _column("attempts", pa.uint16()),
        _column("retries", pa.uint16()),
        _column("hedged", pa.bool_()),
        _column("hedge_won", pa.bool_()),
        _column("downgrade", pa.utf8(), nullable=True),
        _column("deadline_ms", pa.float64(), nullable=True),
        _column("finish_by_ms", pa.float64(), nullable=True),
        _column("deadline_met", pa.bool_(), nullable=True),
        _column("tried", pa.list_(pa.field("item", TRIED, nullable=False)), nullable=True),
    ]
)
"""One request, one row (docs/reference/store.md).

`tried` is null where at most one offer was asked: the row's own columns say the same.
"""

"""Manifests, progress objects and batches for the tests of the store."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from paceline.store.manifest import RunManifest
from tests.support.rows import make_row, rows_table


def manifest(**fields: Any) -> RunManifest:
    return RunManifest(
        **{
            "version": "0.1.0",
            "endpoint": "http://127.0.0.1:9100/v1",
            "model": "sim",
            "protocol": "openai-chat",
            **fields,
        }
    )


def progress(segment: int = 0, elapsed_s: float = 1.0, **fields: Any) -> dict[str, Any]:
    return {
        "state": "running",
        "segment": segment,
        "origin_ns": 1_000_000 * (segment + 1),
        "origin_unix_ns": 1_800_000_000_000_000_000,
        "elapsed_ns": int(elapsed_s * 1e9),
        "in_flight": 2,
        "planned": 5,
        "started": 5,
        "finished": 3,
        "token_events": 40,
        "cpu_ns": 1_000_000,
        **fields,
    }


def batch(indices: Sequence[int], **columns: Any) -> pa.RecordBatch:
    table = rows_table([make_row(request_index=index, **columns) for index in indices])
    if len(indices) == 1:
        table = table.set_column(1, table.schema.field(1), pa.array(list(indices), pa.uint64()))
    return table.to_batches()[0]

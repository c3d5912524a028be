"""What was asked of each request, for the store (docs/reference/store.md): the columns of a plan."""

from typing import Any

import pyarrow as pa

# request_index = job * 1024 + step.
MAX_CALLS = 1024
STEPS = pa.list_(pa.field("item", pa.uint32(), nullable=False))

_FIELDS: "list[pa.Field[Any]]" = [
    pa.field("request_index", pa.uint64(), nullable=False),
    pa.field("prompt_tokens_asked", pa.int64()),
    pa.field("output_tokens_asked", pa.int64()),
    pa.field("prompt_sha256", pa.utf8()),
    pa.field("session", pa.uint64()),
    pa.field("step", pa.uint32()),
    pa.field("call", pa.utf8()),
    pa.field("after", STEPS),
    pa.field("wait_ms", pa.float64()),
    pa.field("wait_kind", pa.utf8()),
    pa.field("start_ns", pa.int64()),
]
PLAN_SCHEMA = pa.schema(_FIELDS)
"""The store's own schema of a plan; a test compares them, since neither may import the other."""


def plan_table(columns: dict[str, Any], n: int) -> pa.Table:
    """A plan of `n` rows from the columns that there are; the others are null."""
    return pa.table(
        [
            pa.nulls(n, field.type)
            if field.name not in columns
            else pa.array(columns[field.name], field.type)
            for field in _FIELDS
        ],
        schema=PLAN_SCHEMA,
    )

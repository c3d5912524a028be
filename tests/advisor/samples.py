"""Evidence of one offer with requests as they are wanted, for tests of what is concluded from it."""

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from paceline.advisor.digest import COLUMNS, WELL, Digest
from paceline.advisor.evidence import OfferEvidence, pooled

STARTED_AT = datetime(2026, 11, 30, 7, 0, tzinfo=UTC)


def digest(n: int = 200, *, sample: dict[str, Any] | None = None, **fields: Any) -> Digest:
    """A run of n requests of 100 tokens each at 50 tok/s after 200 ms, but for what is given.

    `sample`: columns, one value or n of them.
    """
    columns: dict[str, Any] = {
        "at_s": STARTED_AT.timestamp() + np.arange(n),
        "job": np.arange(n),
        "outcome": WELL,
        "elapsed_ms": 2180.0,
        "prompt_tokens": 500.0,
        "cached_tokens": 0.0,
        "cache_write_tokens": 0.0,
        "completion_tokens": 100.0,
        "reasoning_tokens": 0.0,
        "ttft_ms": 200.0,
        "ttfat_ms": 200.0,
        "e2e_ms": 2180.0,
        "output_tok_s": 50.0,
        "longest_stall_ms": 25.0,
        "fluidity": 1.0,
        **(sample or {}),
    }
    outcome = np.broadcast_to(np.asarray(columns["outcome"], np.float64), (n,))
    ok = int((outcome == WELL).sum())
    told: dict[str, Any] = {
        "run_id": "20261130-070000-test",
        "stamp": 1,
        "name": None,
        "started_at": STARTED_AT,
        "seconds": float(n),
        "state": "complete",
        "verdict": "trusted",
        "reasons": (),
        "endpoint": "http://127.0.0.1:9000/v1",
        "model": "tiny",
        "protocol": "openai-chat",
        "streaming": True,
        "provider": "acme",
        "tier": "standard",
        "live_offer": None,
        "extra": {},
        "workload": "chat",
        "workload_key": "chat",
        "load": "closed 8",
        "attempted": n,
        "ok": ok,
        "by_outcome": {"ok": ok, "timeout": n - ok},
        "jobs": None,
        "jobs_ok": None,
        "requests_s": 1.0,
        "output_tok_s": 100.0,
        "jobs_s": None,
        "approximate": False,
        "capability": None,
        **fields,
    }
    arrays = {
        name: np.array(np.broadcast_to(np.asarray(columns[name], np.float64), (n,))) for name in COLUMNS
    }
    return Digest(**told, sample=arrays)


def evidence(n: int = 200, *, sample: dict[str, Any] | None = None, **fields: Any) -> OfferEvidence:
    """The evidence of one such run."""
    return pooled([digest(n, sample=sample, **fields)])[0]


def at(days: float) -> datetime:
    """A moment so many days after the first run."""
    return STARTED_AT + timedelta(days=days)

"""Lines of the gateway's ledger in their exact shape, from a few arguments.

`crates/paceline-gateway/src/ledger/entry.rs` owns the shape: tests/store/test_ledger_entry.py compares them.
"""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.support.rows import make_row

NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
# What CLOCK_MONOTONIC said when the wall clock said NOON.
NOON_NS = 5_000 * 10**9
MS = 1_000_000


def unix_ns(at: datetime) -> int:
    """The wall clock in ns."""
    since = at - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * 10**9 + since.microseconds * 1_000


def usage(
    *,
    prompt: int = 100,
    completion: int = 4,
    reasoning: int = 0,
    cached: int = 0,
    cache_write: int = 0,
    source: str = "server",
) -> dict[str, Any]:
    """Tokens used."""
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "reasoning_tokens": reasoning,
        "cached_tokens": cached,
        "cache_write_tokens": cache_write,
        "source": source,
    }


def attempt(
    offer: str = "local-a",
    *,
    used: dict[str, Any] | None = None,
    cost_usd: float | None = 0.001,
    sent_ms: float = 1.0,
    event_ms: Sequence[float] = (101.0, 111.0, 121.0, 131.0),
    end_ms: float | None = None,
    row: dict[str, Any] | None = None,
    **fields: Any,
) -> dict[str, Any]:
    """One offer asked; times in ms since the request came."""
    used = used or usage()
    told = make_row(sent_ms=sent_ms, event_ms=event_ms, end_ms=end_ms)
    told |= {name: used[name] for name in used if name != "source"} if used["source"] == "server" else {}
    told |= row or {}
    told["warmup"] = told.pop("phase") != "measure"
    return {
        "offer": offer,
        "provider": "local",
        "model": "demo",
        "upstream_model": "truth",
        "tier": "standard",
        "endpoint": "http://127.0.0.1:9100/v1",
        "protocol": "openai-chat",
        "role": "first",
        "served": True,
        "downgrade": None,
        "usage": used,
        "cost_usd": cost_usd,
        "row": told,
        **fields,
    }


def entry(
    number: int = 0,
    *,
    at: datetime = NOON,
    attempts: list[dict[str, Any]] | None = None,
    booted: datetime | None = None,
    **fields: Any,
) -> dict[str, Any]:
    """One request, that came at `at`; by default answered by one attempt.

    `booted`: when CLOCK_MONOTONIC was 0.
    """
    clock_ns = unix_ns(NOON) - NOON_NS if booted is None else unix_ns(booted)
    received_ns = unix_ns(at) - clock_ns
    tried = [attempt()] if attempts is None else attempts
    for one in tried:
        one["row"] = _shifted(one["row"], received_ns)
    costs = [one["cost_usd"] for one in tried]
    ends = [one["row"]["end_ns"] for one in tried]
    return {
        "schema": "paceline.ledger/1",
        "id": f"gen-{number:026d}",
        "received_unix_ns": unix_ns(at),
        "received_ns": received_ns,
        "ended_ns": max(ends, default=received_ns + MS),
        "key": "key_a",
        "app_title": None,
        "app_referer": None,
        "protocol": "openai-chat",
        "streaming": True,
        "asked_model": "demo",
        "outcome": "ok",
        "status": 200,
        "code": None,
        "ttft_ns": 102 * MS,
        "queued_ns": 0,
        "deadline_ns": None,
        "finish_by_ns": None,
        "deadline_met": None,
        "cost_usd": sum(cost or 0.0 for cost in costs),
        "cost_is_partial": any(
            cost is None and one["usage"]["source"] != "none" for cost, one in zip(costs, tried, strict=True)
        ),
        "attempts": tried,
        **fields,
    }


def _shifted(row: dict[str, Any], by_ns: int) -> dict[str, Any]:
    shifted = dict(row)
    for name in ("intended_ns", "sent_ns", "written_ns", "headers_ns", "end_ns", "hangup_ns", "stopped_ns"):
        if shifted[name] is not None:
            shifted[name] += by_ns
    shifted["event_ns"] = [at_ns + by_ns for at_ns in row["event_ns"]]
    return shifted


def line(document: dict[str, Any]) -> bytes:
    """As the data plane writes it."""
    return json.dumps(document, separators=(",", ":")).encode() + b"\n"


def ledger(home: Path) -> Path:
    """The ledger's folder in a home, made."""
    folder = home / "gateway" / "ledger"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def append(home: Path, *documents: dict[str, Any] | bytes, segment: int = 1) -> None:
    """Append lines to a segment of a home's ledger."""
    with (ledger(home) / f"{segment:08d}.jsonl").open("ab") as file:
        for document in documents:
            file.write(document if isinstance(document, bytes) else line(document))

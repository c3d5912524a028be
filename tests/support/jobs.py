"""Rows and plans of jobs, from a few arguments: what the load generator and the workloads would make."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from paceline.store.schema import PLAN_SCHEMA
from tests.support.rows import MS, make_row, rows_table

CALLS = 1024


def call_row(job: int, step: int, **columns: Any) -> dict[str, Any]:
    """A row of `make_row` that is a call of a job."""
    return make_row(session=job, step=step, request_index=job * CALLS + step, **columns)


def plan_row(job: int, step: int, **columns: Any) -> dict[str, Any]:
    """What was asked of a call; columns that are not given are null."""
    named: dict[str, Any] = dict.fromkeys(PLAN_SCHEMA.names)
    return {**named, "session": job, "step": step, "request_index": job * CALLS + step, **columns}


def plan_table(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """The plan of these rows."""
    return pa.Table.from_pylist([dict(row) for row in rows], schema=PLAN_SCHEMA)


def chat_jobs(
    jobs: int,
    turns: int = 4,
    *,
    seed: int = 1,
    concurrency: int = 4,
    ttft_ms: float = 100.0,
    ttft_ms_per_turn: float = 0.0,
    itl_ms: float = 10.0,
    events: int = 8,
    think_ms: float = 200.0,
    wait_kind: str = "think",
    job_sigma: float = 0.2,
    prompt_tokens: int = 100,
    cached: bool = True,
    failed: Sequence[int] = (),
    hung_up: bool = False,
    warmup: int = 0,
) -> tuple[pa.Table, pa.Table]:
    """Rows and plan of conversations in a closed loop of `concurrency`, each call after the one before.

    Every prompt is `prompt_tokens` longer than the last, all of which but the new part is cached. TTFT and
    gaps of a job share one lognormal factor of `job_sigma`. `failed`: jobs whose second call fails.
    `hung_up`: the caller leaves after the last token, and the server stops 30 ms later, but for every tenth
    job.
    """
    rng = np.random.default_rng(seed)
    slots = [0.0] * concurrency
    rows: list[dict[str, Any]] = []
    plan: list[dict[str, Any]] = []
    for job in range(jobs):
        slot = int(np.argmin(slots))
        at, factor = slots[slot], float(rng.lognormal(0.0, job_sigma))
        broken = False
        for step in range(turns):
            wait = think_ms if step else 0.0
            asked = {"call": "turn" if step else "first", "output_tokens_asked": events}
            waits = {"wait_ms": wait or None, "wait_kind": wait_kind if wait else None}
            plan.append(plan_row(job, step, **asked, **waits, prompt_tokens_asked=prompt_tokens * (step + 1)))
            if broken:
                continue
            due = round(at + wait, 3)
            first = due + (ttft_ms + ttft_ms_per_turn * step) * factor * float(rng.lognormal(0.0, 0.05))
            event_ms = tuple(round(first + itl_ms * factor * k, 3) for k in range(events))
            end = event_ms[-1] + 1.0
            columns: dict[str, Any] = {
                "prompt_tokens": prompt_tokens * (step + 1),
                "cached_tokens": prompt_tokens * step if cached else None,
                "phase": "warmup" if job < warmup else "measure",
            }
            if hung_up:
                stopped = None if job % 10 == 9 else round((end + 30.0) * MS)
                columns |= {"outcome": "hung_up", "hangup_ns": round(end * MS), "stopped_ns": stopped}
                columns |= {"tail_bytes": 400, "completion_tokens": None, "end_marker": False}
            broken = job in failed and step == 1
            if broken:
                columns |= {"outcome": "http_error", "error": "overloaded", "completion_tokens": None}
                event_ms = ()
            rows.append(call_row(job, step, sent_ms=due, event_ms=event_ms, end_ms=end, **columns))
            at = end
        slots[slot] = at
    return rows_table(rows), plan_table(plan)

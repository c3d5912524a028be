"""A load generator that plays a script instead of sending anything."""

import json
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from tests.support.rows import make_row, rows_table

SECOND_NS = 1_000_000_000


def values_of(data: Any, column: str) -> list[Any]:
    """A column as Python values."""
    values: list[Any] = data.column(column).to_pylist()
    return values


def progress(state: str = "running", **fields: Any) -> dict[str, Any]:
    """A progress object with every agreed key."""
    lag = {"p50": 1_000, "p99": 2_000, "max": 3_000}
    document: dict[str, Any] = {
        "state": state, "error": None, "origin_ns": 5_000, "origin_unix_ns": 6_000, "elapsed_ns": 0,
        "in_flight": 0, "planned": 0, "started": 0, "finished": 0, "taken": 0, "jobs_started": 0,
        "jobs_finished": 0, "jobs_failed": 0, "skipped": 0, "queued_bodies": 0, "starved": 0,
        "dropped": 0, "token_events": 0, "reads": 0, "bytes_received": 0, "outcomes": {}, "cpu_ns": 0,
        "runqueue_wait_ns": 0, "threads": 1, "schedule_lag_ns": lag, "read_lag_ns": lag,
        "kernel_stamps": True,
    }  # fmt: skip
    unknown = fields.keys() - document.keys()
    assert not unknown, unknown
    return {**document, **fields}


class FakeLoad:
    """Ends `per_poll` requests at each poll, until bodies or limit are used up, or it is told to end."""

    def __init__(
        self,
        spec_json: str,
        *,
        per_poll: int = 5,
        hold_back: int = 0,
        on_poll: Callable[["FakeLoad"], None] = lambda _: None,
        fail_at: int | None = None,
    ) -> None:
        self.spec = json.loads(spec_json)
        self.indices: list[int] = []
        self.bodies: list[bytes] = []
        self.calls: list[str] = []
        self.polls = 0
        self.finished = 0
        self._per_poll = per_poll
        self._hold_back = hold_back
        self._on_poll = on_poll
        self._fail_at = fail_at

    def push(self, batch: pa.RecordBatch) -> None:
        self.bodies += values_of(batch, "body")
        if "request_index" in batch.schema.names:
            self.indices += values_of(batch, "request_index")
        else:
            first = self.indices[-1] + 1 if self.indices else self.spec["first_index"]
            self.indices += range(first, first + batch.num_rows)

    def start(self) -> None:
        self.calls.append("start")

    def close_input(self) -> None:
        self.calls.append("close_input")

    def stop(self) -> None:
        self.calls.append("stop")

    def cancel(self) -> None:
        self.calls.append("cancel")

    def poll(self) -> tuple[str, pa.RecordBatch | None]:
        self.polls += 1
        self._on_poll(self)
        if self.polls == self._fail_at:
            return json.dumps(progress("failed", error="no more descriptors")), None
        stopped, cancelled = "stop" in self.calls, "cancel" in self.calls
        most = self.spec["max_requests"] or len(self.bodies)
        new = (
            0
            if stopped or cancelled
            else min(self._per_poll, most - self.finished, len(self.bodies) - self.finished)
        )
        batch = self._rows(new) if new else None
        self.finished += new
        all_sent = self.finished >= most or (
            "close_input" in self.calls and self.finished == len(self.bodies)
        )
        ended = cancelled or all_sent or (stopped and not self._hold_back)
        document = progress(
            "done" if ended else "running",
            elapsed_ns=self.polls * SECOND_NS // 4,
            started=self.finished,
            taken=self.finished,
            jobs_started=self.finished,
            jobs_finished=self.finished,
            finished=self.finished,
            planned=self.finished,
            token_events=4 * self.finished,
            outcomes={"ok": self.finished},
        )
        return json.dumps(document), batch

    def _rows(self, n: int) -> pa.RecordBatch:
        warmup = self.spec["warmup_requests"]
        rows = [
            make_row(
                request_index=self.indices[place],
                segment=self.spec["segment"],
                phase="warmup" if place < warmup else "measure",
                response_id=f"r{self.indices[place]}",
            )
            for place in range(self.finished, self.finished + n)
        ]
        return rows_table(rows).combine_chunks().to_batches()[0]


class Memory:
    """A sink in memory, which can be full."""

    def __init__(self, full_after: int | None = None) -> None:
        self.rows: list[int] = []
        self.plans: list[int] = []
        self.progress: list[dict[str, Any]] = []
        self._full_after = full_after

    def append(self, batch: pa.RecordBatch) -> None:
        from paceline.errors import StoreError

        if self._full_after is not None and len(self.rows) >= self._full_after:
            raise StoreError("cannot write: No space left on device", "free some space")
        self.rows += values_of(batch, "request_index")

    def append_plan(self, table: pa.Table) -> None:
        self.plans += values_of(table, "request_index")

    def append_progress(self, progress: dict[str, Any]) -> None:
        self.progress.append(progress)


class Counting:
    """Bodies that are their own index."""

    def __init__(self) -> None:
        self.next_index = 0

    def take(self, n: int) -> tuple[pa.RecordBatch, pa.Table]:
        indices = list(range(self.next_index, self.next_index + n))
        self.next_index += n
        bodies = pa.array([str(index).encode() for index in indices], pa.binary())
        return pa.record_batch({"body": bodies}), pa.table({"request_index": pa.array(indices, pa.uint64())})

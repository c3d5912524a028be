"""One segment: one start of the load generator, polled to its end."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paceline.errors import RunError, StoreError
from paceline.measure.border import BodySource, LoadFactory, LoadHandle
from paceline.measure.feeder import FIRST_JOBS, Feeder
from paceline.measure.interrupts import Interrupts
from paceline.measure.load_spec import Closed, LoadPlan, LoadSpec

POLL_S = 0.25
# A queue that runs low is looked at more often, down to this.
SHORTEST_POLL_S = 0.01
PROGRESS_ROW_S = 1.0
# After the first Ctrl-C, requests in flight have so long to end by themselves.
GRACE_S = 5.0

Observer = Callable[[dict[str, Any], pa.RecordBatch | None], None]


class Sink(Protocol):
    """Where a segment's data goes. Any method may raise StoreError."""

    def append(self, batch: pa.RecordBatch) -> None:
        """Rows of requests that have ended."""

    def append_plan(self, table: pa.Table) -> None:
        """What was asked of the requests that were made."""

    def append_progress(self, progress: dict[str, Any]) -> None:
        """How the segment stands, about once a second."""


@dataclass(slots=True)
class SegmentResult:
    """How a segment ended."""

    progress: dict[str, Any]
    interrupted: bool = False
    peak_in_flight: int = 0
    store_error: StoreError | None = None
    unused: list[pa.RecordBatch] = field(default_factory=list)

    @property
    def started(self) -> int:
        """Jobs begun."""
        return int(self.progress["jobs_started"])


class Segment:
    """One segment: `fill` it, then `run` it, which feeds, polls, stores and watches for interrupts."""

    def __init__(
        self,
        spec: LoadSpec,
        plan: LoadPlan,
        source: BodySource,
        *,
        load: LoadFactory,
        observe: Observer,
        leftover: list[pa.RecordBatch] | None = None,
        starts_ns: npt.NDArray[np.int64] | None = None,
        grace_s: float = GRACE_S,
    ) -> None:
        self._spec = spec
        self._handle: LoadHandle = load(spec.to_json())
        self._feeder = Feeder(
            source,
            self._handle,
            limit=spec.max_requests,
            peak_jobs_s=plan.peak_requests_s,
            streams=plan.streams,
            leftover=leftover,
            at_once=plan.arrival.concurrency if isinstance(plan.arrival, Closed) else 1,
            starts_ns=starts_ns,
        )
        self._observe = observe
        self._grace_s = grace_s
        self._plans: list[pa.Table] = []
        self._store_error: StoreError | None = None
        self._stopped_at: float | None = None
        self._sends_until_ns = spec.duration_ns
        self._cancelled = False
        self._progress_at = 0.0
        self._peak_in_flight = 0

    def fill(self, jobs: int = FIRST_JOBS) -> None:
        """Make and hand over the first bodies; nothing is sent or stored yet."""
        self._plans += self._feeder.fill(jobs)

    def run(self, sink: Sink, interrupts: Interrupts) -> SegmentResult:
        """From the first request to the last row. Raises RunError when the load generator fails."""
        self._sink = sink
        self._interrupts = interrupts
        self._already = interrupts.count
        self._store_plans(self._plans)
        self._plans = []
        self._start()
        try:
            progress = self._poll_to_end()
        except BaseException:
            self._handle.cancel()
            raise
        if progress["state"] == "failed":
            raise RunError(f"the load generator failed: {progress['error']}")
        return SegmentResult(
            progress=progress,
            interrupted=self._interrupts.count > self._already,
            peak_in_flight=self._peak_in_flight,
            store_error=self._store_error,
            unused=self._feeder.unused(int(progress["jobs_started"])),
        )

    def _start(self) -> None:
        try:
            self._handle.start()
        except RuntimeError as error:
            raise RunError(
                f"the load generator could not start: {error}",
                "fewer --concurrency or --threads, or a higher limit of open files (ulimit -n)",
            ) from None

    def _poll_to_end(self) -> dict[str, Any]:
        while True:
            text, batch = self._handle.poll()
            progress: dict[str, Any] = json.loads(text)
            progress["segment"] = self._spec.segment
            self._peak_in_flight = max(self._peak_in_flight, int(progress["in_flight"]))
            ended = progress["state"] in ("done", "failed")
            if ended:
                self._count_unpushed(progress)
            self._store(progress, batch, ended)
            self._observe(progress, batch)
            if ended:
                return progress
            self._obey(progress)
            if self._stopped_at is None:
                self._store_plans(self._feeder.top_up(progress))
            time.sleep(min(POLL_S, max(SHORTEST_POLL_S, 0.3 * self._feeder.seconds_ahead(progress))))

    def _count_unpushed(self, progress: dict[str, Any]) -> None:
        """Of a replay that fell behind, what was due and had not even been queued was dropped as well."""
        until_ns = self._sends_until_ns
        due = self._feeder.due_unpushed(int(progress["elapsed_ns"]) if until_ns is None else until_ns)
        progress["planned"] += due
        progress["dropped"] += due

    def _store(self, progress: dict[str, Any], batch: pa.RecordBatch | None, ended: bool) -> None:
        if self._store_error is not None:
            return
        try:
            if batch is not None:
                self._sink.append(batch)
            now = time.monotonic()
            if ended or now - self._progress_at >= PROGRESS_ROW_S:
                self._progress_at = now
                self._sink.append_progress(progress)
        except StoreError as error:
            self._give_up(error)

    def _store_plans(self, plans: list[pa.Table]) -> None:
        if self._store_error is not None:
            return
        try:
            for plan in plans:
                self._sink.append_plan(plan)
        except StoreError as error:
            self._give_up(error)

    def _give_up(self, error: StoreError) -> None:
        """What cannot be stored must not be measured: the endpoint is left alone at once."""
        self._store_error = error
        self._cancel()

    def _obey(self, progress: dict[str, Any]) -> None:
        asked = self._interrupts.count - self._already
        if asked >= 1 and self._stopped_at is None:
            self._stopped_at = time.monotonic()
            now_ns = int(progress["elapsed_ns"])
            self._sends_until_ns = min(now_ns, self._sends_until_ns or now_ns)
            self._handle.stop()
        late = self._stopped_at is not None and time.monotonic() - self._stopped_at > self._grace_s
        if asked >= 2 or late:
            self._cancel()

    def _cancel(self) -> None:
        if not self._cancelled:
            self._cancelled = True
            self._handle.cancel()

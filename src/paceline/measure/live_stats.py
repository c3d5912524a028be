"""Figures so far, while a run goes on: in bounded memory, to one percent. The report's own are exact."""

from collections import deque
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

WINDOW_NS = 5_000_000_000
_BINS_PER_E = 100
_LOG_MAX = int(np.log(1e13) * _BINS_PER_E) + 1


class LogHistogram:
    """Counts of positive values in ns in bins of 1 %, up to 10,000 s."""

    def __init__(self) -> None:
        self._counts = np.zeros(_LOG_MAX + 1, dtype=np.int64)
        self.n = 0

    def add(self, values_ns: npt.NDArray[np.float64]) -> None:
        """Count values; what is under 1 ns counts as 1 ns."""
        if len(values_ns) == 0:
            return
        bins = (np.log(np.maximum(values_ns, 1.0)) * _BINS_PER_E).astype(np.int64)
        self._counts += np.bincount(np.minimum(bins, _LOG_MAX), minlength=_LOG_MAX + 1)
        self.n += len(values_ns)

    def quantile(self, q: float) -> float | None:
        """The middle of the bin that holds the quantile, in ns; None when nothing was counted."""
        if self.n == 0:
            return None
        place = int(np.searchsorted(np.cumsum(self._counts), q * (self.n - 1), side="right"))
        return float(np.exp((place + 0.5) / _BINS_PER_E))


@dataclass(frozen=True, slots=True)
class Snapshot:
    """How a run stands.

    Rates are those of the last five seconds, and `ended` is how many requests or jobs ended in these;
    percentiles (50, 95, 99) are of all good requests so far. `total_requests` counts jobs where a job has
    several calls (`jobs`), as `jobs_done` does; the planned are jobs as well.
    """

    state: str
    elapsed_s: float
    left_s: float | None
    total_s: float | None
    total_requests: int | None
    started: int
    finished: int
    in_flight: int
    planned: int
    offered_requests_s: float
    achieved_requests_s: float
    output_tok_s: float
    ttft_ms: tuple[float, float, float] | None
    itl_ms: tuple[float, float, float] | None
    outcomes: dict[str, int] = field(default_factory=dict)
    starved: int = 0
    schedule_lag_p99_ms: float = 0.0
    stopping: bool = False
    label: str = ""
    jobs: bool = False
    jobs_done: int = 0
    ended: int = 0


class LiveStats:
    """Turns polls into snapshots. One object a run; segments follow each other in it."""

    def __init__(
        self, total_requests: int | None, total_ns: int | None, label: str = "", *, jobs: bool = False
    ) -> None:
        self._total_requests = total_requests
        self._jobs = jobs
        self._total_ns = total_ns
        self._label = label
        self._ttft = LogHistogram()
        self._itl = LogHistogram()
        self._before: dict[str, int] = {}
        self._outcomes_before: dict[str, int] = {}
        self._last: dict[str, Any] | None = None
        self._points: deque[tuple[int, int, int, int]] = deque()
        self._tokens = 0
        self._row_events = 0

    def update(
        self, progress: dict[str, Any], batch: pa.RecordBatch | None, *, stopping: bool = False
    ) -> Snapshot:
        """Take in one poll."""
        if self._last is not None and progress["segment"] != self._last["segment"]:
            self._close_segment(self._last)
        self._last = progress
        if batch is not None:
            self._count(batch)
        now = {name: self._before.get(name, 0) + int(progress[name]) for name in _SUMMED}
        outcomes = dict(self._outcomes_before)
        for name, count in progress["outcomes"].items():
            outcomes[name] = outcomes.get(name, 0) + int(count)
        offered, achieved, events_s, ended = self._rates(now)
        tokens_per_event = self._tokens / self._row_events if self._row_events else 1.0
        return Snapshot(
            state=progress["state"],
            elapsed_s=now["elapsed_ns"] / 1e9,
            left_s=self._left_s(now),
            total_s=None if self._total_ns is None else self._total_ns / 1e9,
            total_requests=self._total_requests,
            started=now["started"],
            finished=now["finished"],
            in_flight=int(progress["in_flight"]),
            planned=now["planned"],
            offered_requests_s=offered,
            achieved_requests_s=achieved,
            output_tok_s=events_s * tokens_per_event,
            ttft_ms=_three(self._ttft),
            itl_ms=_three(self._itl),
            outcomes=outcomes,
            starved=now["starved"],
            schedule_lag_p99_ms=progress["schedule_lag_ns"]["p99"] / 1e6,
            stopping=stopping,
            label=self._label,
            jobs=self._jobs,
            jobs_done=_done(now, self._jobs),
            ended=ended,
        )

    def _close_segment(self, last: dict[str, Any]) -> None:
        for name in _SUMMED:
            self._before[name] = self._before.get(name, 0) + int(last[name])
        for name, count in last["outcomes"].items():
            self._outcomes_before[name] = self._outcomes_before.get(name, 0) + int(count)

    def _rates(self, now: dict[str, int]) -> tuple[float, float, float, int]:
        point = (now["elapsed_ns"], now["planned"], _done(now, self._jobs), now["token_events"])
        self._points.append(point)
        while len(self._points) > 2 and point[0] - self._points[1][0] >= WINDOW_NS:
            self._points.popleft()
        first = self._points[0] if len(self._points) > 1 else (0, 0, 0, 0)
        seconds = (point[0] - first[0]) / 1e9
        if seconds <= 0:
            return 0.0, 0.0, 0.0, 0
        planned, finished, events = ((a - b) / seconds for a, b in zip(point[1:], first[1:], strict=True))
        return planned, finished, events, point[2] - first[2]

    def _left_s(self, now: dict[str, int]) -> float | None:
        """Time left: by the clock, or by the requests at the mean pace so far; the lesser of the two."""
        left = []
        if self._total_ns is not None:
            left.append(max(self._total_ns - now["elapsed_ns"], 0) / 1e9)
        done = _done(now, self._jobs)
        if self._total_requests is not None and done > 0:
            pace_s = now["elapsed_ns"] / 1e9 / done
            left.append(max(self._total_requests - done, 0) * pace_s)
        return min(left) if left else None

    def _count(self, batch: pa.RecordBatch) -> None:
        measured = np.asarray(batch.column("phase")) == "measure"
        ok = measured & np.isin(np.asarray(batch.column("outcome")), ("ok", "hung_up"))
        lists: Any = batch.column("event_ns")
        offsets = np.asarray(lists.offsets).astype(np.int64)
        offsets = offsets - offsets[0]
        event_ns = np.asarray(lists.flatten()).astype(np.float64)
        token_lists: Any = batch.column("event_tokens")
        event_tokens = np.asarray(token_lists.flatten())
        sent_ns = np.asarray(batch.column("sent_ns").fill_null(0)).astype(np.float64)
        counts = np.diff(offsets)
        told = np.asarray(batch.column("completion_tokens").fill_null(0))
        use = ok & (counts > 0)
        first = offsets[:-1][use]
        self._ttft.add(event_ns[first] - sent_ns[use])
        known = use & (told > 0)
        self._tokens += int(told[known].sum())
        self._row_events += int(counts[known].sum())
        row_of_event = np.repeat(np.arange(len(counts)), counts)
        later = use[row_of_event]
        later[first] = False
        places = np.flatnonzero(later)
        gaps = event_ns[places] - event_ns[places - 1]
        self._itl.add(gaps / np.maximum(event_tokens[places], 1))


_SUMMED = (
    "elapsed_ns",
    "planned",
    "started",
    "finished",
    "token_events",
    "starved",
    "jobs_finished",
    "jobs_failed",
)


def _done(now: dict[str, int], jobs: bool) -> int:
    """Jobs that have ended; a request is one where it stands alone."""
    return now["jobs_finished"] + now["jobs_failed"] if jobs else now["finished"]


def _three(histogram: LogHistogram) -> tuple[float, float, float] | None:
    p50, p95, p99 = (histogram.quantile(q) for q in (0.50, 0.95, 0.99))
    if p50 is None or p95 is None or p99 is None:
        return None
    return p50 / 1e6, p95 / 1e6, p99 / 1e6

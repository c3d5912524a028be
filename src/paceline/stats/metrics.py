"""The metrics of docs/concepts/metrics.md, derived from rows: their definitions, and their samples.

Only rows of phase `measure` and outcome `ok` give samples; rows of outcome `hung_up` give those of what came
before the hang-up. A row that timed out or was cancelled before the end of an interval gives a censored
observation of it: the interval was at least that long. One whose interval had ended gives neither, since the
row is not `ok`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from paceline.stats.fluidity import fluidity
from paceline.stats.frame import CONTENT, MISSING, TOOL_CALL, Bools, Frame, Ints
from paceline.stats.tokens import TokenCounts, count_frame_tokens

if TYPE_CHECKING:
    import pyarrow as pa

Floats = npt.NDArray[np.float64]
Better = Literal["lower", "higher"]
Applies = Literal["every request", "streaming requests", "new connections", "hung-up requests", "jobs"]

_NS_PER_MS = 1e6


@dataclass(frozen=True)
class MetricInfo:
    """`better`: which direction is good. `pooled`: a sample is a gap, not a request."""

    name: str
    unit: str
    better: Better
    definition: str
    applies: Applies
    pooled: bool = False


@dataclass(frozen=True)
class MetricSamples:
    """Samples of one metric, in order of `at_ns`.

    `values`: float64[n]. `at_ns`: int64[n], monotonic: when the request was sent, or when the event that ends
    the gap came. `row`: int[n], the row in the table. `censored`: float64[k], lower bounds.
    `approximate`: token counts behind the values are approximate.
    """

    name: str
    values: Floats
    at_ns: Ints
    row: npt.NDArray[np.integer]
    censored: Floats = field(default_factory=lambda: np.empty(0))
    approximate: bool = False


_FIRST = "first event that carries a generated token (content, reasoning or tool-call arguments)"
_SENT = "first byte of the request written"
_DUE = "instant at which the schedule meant to send"

METRICS: dict[str, MetricInfo] = {
    info.name: info
    for info in (
        MetricInfo("ttft_ms", "ms", "lower", f"{_SENT} -> {_FIRST}", "streaming requests"),
        MetricInfo(
            "ttfat_ms", "ms", "lower", f"{_SENT} -> first answer token (not reasoning)", "streaming requests"
        ),
        MetricInfo("e2e_ms", "ms", "lower", f"{_SENT} -> last generated token", "every request"),
        MetricInfo("ttft_from_intended_ms", "ms", "lower", f"{_DUE} -> {_FIRST}", "streaming requests"),
        MetricInfo(
            "ttfat_from_intended_ms", "ms", "lower", f"{_DUE} -> first answer token", "streaming requests"
        ),
        MetricInfo("e2e_from_intended_ms", "ms", "lower", f"{_DUE} -> last generated token", "every request"),
        MetricInfo(
            "tpot_ms",
            "ms/token",
            "lower",
            "(last token - first token) / (streamed tokens - tokens in the first event)",
            "streaming requests",
        ),
        MetricInfo("output_tok_s", "tok/s", "higher", "1000 / tpot_ms, per request", "streaming requests"),
        MetricInfo(
            "chunk_gap_ms",
            "ms",
            "lower",
            "gaps between token-bearing events, pooled",
            "streaming requests",
            True,
        ),
        MetricInfo(
            "itl_ms",
            "ms/token",
            "lower",
            "the same gaps, each divided among the tokens its event carries, one sample a token",
            "streaming requests",
            True,
        ),
        MetricInfo("longest_stall_ms", "ms", "lower", "longest chunk gap of a request", "streaming requests"),
        MetricInfo(
            "fluidity",
            "share",
            "higher",
            "share of a request's tokens that arrive no later than a reader needs them, "
            "who starts at the first token and reads at the stated pace",
            "streaming requests",
        ),
        MetricInfo(
            "stop_ms",
            "ms",
            "lower",
            "hang-up -> arrival of the server's last byte or of its close, whichever was last",
            "hung-up requests",
        ),
        MetricInfo("connect_ms", "ms", "lower", "TCP connect", "new connections"),
        MetricInfo("tls_ms", "ms", "lower", "TLS handshake", "new connections"),
    )
}

_FIRST_SENT = "first byte of a job's first request written"
_JOB_DUE = "instant at which the schedule meant a job to start"
_JOB_DONE = "last generated token, or the hang-up, of its last call"

JOB_METRICS: dict[str, MetricInfo] = {
    info.name: info
    for info in (
        MetricInfo("job_ms", "ms", "lower", f"{_FIRST_SENT} -> {_JOB_DONE}", "jobs"),
        MetricInfo("job_from_intended_ms", "ms", "lower", f"{_JOB_DUE} -> {_JOB_DONE}", "jobs"),
    )
}
"""Of whole jobs, one sample a job: see `stats.jobs`."""

HANGUP_WAIT_NS = 5_000_000_000
"""How long the load generator watches a server after a hang-up, where the run says nothing else."""


def metric_info(name: str) -> MetricInfo:
    """The metric of that name, of requests or of jobs. Raises KeyError."""
    return METRICS[name] if name in METRICS else JOB_METRICS[name]


def derive(
    rows: "pa.Table",
    origins: Mapping[int, int],
    *,
    reading_tok_s: float = 5.0,
    local_tokens: npt.ArrayLike | None = None,
    counts: TokenCounts | None = None,
    hangup_wait_ns: int = HANGUP_WAIT_NS,
) -> dict[str, MetricSamples]:
    """All metrics of a run, by name; a metric that no row has comes with no samples.

    `rows`: request rows in any order. `origins`: `origin_ns` of each segment. `reading_tok_s`: the reader's
    pace for fluidity. `local_tokens`: int[e], see `tokens.count_tokens`. `counts`: those of the rows, where
    they are known. `hangup_wait_ns`: how long servers were watched after a hang-up. Raises ValueError for a
    pace that is not positive, a segment without an origin, or counts that do not fit the events.
    """
    if not reading_tok_s > 0.0:
        raise ValueError(f"reading_tok_s must be positive, not {reading_tok_s}")
    frame = Frame(rows)
    counts = counts or count_frame_tokens(frame, local_tokens)
    derivation = _Derivation(frame, frame.origin_ns(origins), counts)
    found = [
        *derivation.latencies(),
        *derivation.rates(),
        derivation.longest_stall(),
        derivation.fluidity(reading_tok_s),
        derivation.stops(hangup_wait_ns),
        *derivation.connection(),
        # Last, since these have a sample for every event, in memory from here on.
        *derivation.gaps(),
    ]
    by_name = {samples.name: samples for samples in found}
    return {name: by_name[name] for name in METRICS}


def coalesced_share(rows: "pa.Table") -> float | None:
    """Share of the chunk gaps whose event shared its socket read with another, so that they are upper bounds.

    None when there are no gaps.
    """
    frame = Frame(rows)
    gaps = frame.spread(frame.well & frame.streaming) & ~frame.is_first
    return float(frame.flat("event_coalesced")[gaps].mean()) if gaps.any() else None


class _Derivation:
    """Everything that several metrics need, computed once."""

    def __init__(self, frame: Frame, origin_ns: Ints, counts: TokenCounts) -> None:
        self.frame = frame
        self.counts = counts
        self.origin_ns = origin_ns
        self.sent_ns = frame.ints("sent_ns")
        self.intended_ns = frame.ints("intended_ns")
        # A row that was never written still has its place in time.
        self.at_ns = origin_ns + np.where(self.sent_ns == MISSING, self.intended_ns, self.sent_ns)
        # To its end, and as far as the caller listened.
        self.streamed = frame.ok & frame.streaming & (frame.event_counts > 0)
        self.heard = frame.well & frame.streaming & (frame.event_counts > 0)
        unfinished = frame.equals("outcome", "timeout") | frame.equals("outcome", "cancelled")
        self.unfinished = frame.measured & unfinished
        self.end_ns = frame.ints("end_ns")
        self.approximate = bool((self.counts.approximate & self.streamed).any())
        self.heard_approximate = bool((self.counts.approximate & self.heard).any())

    def _per_request(
        self,
        name: str,
        values: Floats,
        where: Bools,
        censored: Floats | None = None,
        *,
        by_tokens: bool = False,
    ) -> MetricSamples:
        rows = np.flatnonzero(where)
        rows = rows[np.argsort(self.at_ns[rows], kind="stable")]
        return MetricSamples(
            name=name,
            values=values[rows].astype(np.float64),
            at_ns=self.at_ns[rows],
            row=rows,
            censored=np.empty(0) if censored is None else censored.astype(np.float64),
            approximate=by_tokens and self.approximate,
        )

    def latencies(self) -> list[MetricSamples]:
        frame = self.frame
        answer_ns = self._first_answer_ns()
        waits_for = {
            "ttft": (
                frame.first_ns,
                self.heard,
                self.unfinished & frame.streaming & (frame.first_ns == MISSING),
            ),
            "ttfat": (
                answer_ns,
                self.heard & (answer_ns != MISSING),
                # Who hung up while the model was still thinking waited at least so long for an answer.
                (self.unfinished | frame.hung_up) & frame.streaming & (answer_ns == MISSING),
            ),
            "e2e": (frame.last_ns, frame.ok & (frame.last_ns != MISSING), self.unfinished),
        }
        found = []
        for suffix, start_ns in (("_ms", self.sent_ns), ("_from_intended_ms", self.intended_ns)):
            started = start_ns != MISSING
            for stem, (reached_ns, seen, still_waiting) in waits_for.items():
                cut = started & still_waiting
                found.append(
                    self._per_request(
                        stem + suffix,
                        (reached_ns - start_ns) / _NS_PER_MS,
                        seen & started,
                        (self.end_ns - start_ns)[cut] / _NS_PER_MS,
                    )
                )
        return found

    def _first_answer_ns(self) -> Ints:
        frame = self.frame
        answers = np.flatnonzero(frame.flat("event_kind") & (CONTENT | TOOL_CALL))
        places = np.searchsorted(answers, frame.starts)
        some = places[1:] > places[:-1]
        reached = np.full(frame.rows, MISSING, np.int64)
        reached[some] = frame.event_ns[answers[places[:-1][some]]]
        return reached

    def rates(self) -> list[MetricSamples]:
        """tpot and its inverse, where time passed between tokens of different events."""
        frame = self.frame
        span_ns = np.where(self.streamed, frame.last_ns - frame.first_ns, 0)
        first = np.zeros(frame.rows, np.int64)
        some = frame.event_counts > 0
        first[some] = self.counts.per_event[frame.starts[:-1][some]]
        tokens = self.counts.streamed - first
        where = self.streamed & (tokens > 0) & (span_ns > 0)
        tpot = np.full(frame.rows, np.nan)
        tpot[where] = span_ns[where] / _NS_PER_MS / tokens[where]
        return [
            self._per_request("tpot_ms", tpot, where, by_tokens=True),
            self._per_request("output_tok_s", 1000.0 / tpot, where, by_tokens=True),
        ]

    def gaps(self) -> list[MetricSamples]:
        """Chunk gaps and, per token, inter-token latencies."""
        frame = self.frame
        mine = frame.spread(self.heard)
        events = np.flatnonzero(mine & ~frame.is_first)
        events = events[np.argsort(self._event_at(events), kind="stable")]
        gap_ns = frame.event_ns[events]
        gap_ns -= frame.event_ns[events - 1]
        gap_ms = gap_ns / _NS_PER_MS
        del gap_ns
        at_ns, row = self._event_at(events), frame.event_row[events]
        chunk = MetricSamples("chunk_gap_ms", gap_ms, at_ns, row, self._open_gaps_ms())

        tokens = self.counts.per_event
        if (tokens[mine] > 0).all():
            each = tokens[events]
            if (each == 1).all():
                # The same samples: millions of them are not kept twice.
                itl = MetricSamples("itl_ms", gap_ms, at_ns, row, approximate=self.heard_approximate)
                return [chunk, itl]
            per_token = gap_ms / each
        else:
            events, per_token = self._gaps_between_tokens(events)
            each, at_ns, row = tokens[events], self._event_at(events), frame.event_row[events]
        itl = MetricSamples(
            "itl_ms",
            np.repeat(per_token, each),
            np.repeat(at_ns, each),
            np.repeat(row, each),
            approximate=self.heard_approximate,
        )
        return [chunk, itl]

    def _event_at(self, events: Ints) -> Ints:
        """When these events came, monotonic, int64 of their number."""
        at_ns = self.frame.event_ns[events]
        at_ns += self.origin_ns[self.frame.event_row[events]]
        return at_ns

    def _gaps_between_tokens(self, events: Ints) -> tuple[Ints, Floats]:
        """For events that carry no whole token: their gap counts for the next event that does.

        `events`: in order of time. Returns those with tokens and with a predecessor, and their gap per token.
        """
        frame = self.frame
        tokens = self.counts.per_event
        carrying = np.flatnonzero(tokens > 0)
        row = frame.event_row[carrying]
        same_row = row[1:] == row[:-1]
        per_token = np.full(len(tokens), np.nan)
        later = carrying[1:][same_row]
        per_token[later] = (frame.event_ns[later] - frame.event_ns[carrying[:-1][same_row]]) / (
            _NS_PER_MS * tokens[later]
        )
        events = events[~np.isnan(per_token[events])]
        return events, per_token[events]

    def _open_gaps_ms(self) -> Floats:
        """How long rows that were cut after a token had been waiting for the next, float64[k]."""
        frame = self.frame
        cut = self.unfinished & frame.streaming & (frame.event_counts > 0)
        waited: Floats = (self.end_ns - frame.last_ns)[cut] / _NS_PER_MS
        return waited

    def longest_stall(self) -> MetricSamples:
        frame = self.frame
        gap_ns = np.zeros(len(frame.event_ns), np.int64)
        np.subtract(frame.event_ns[1:], frame.event_ns[:-1], out=gap_ns[1:])
        gap_ns[frame.is_first] = 0
        longest = np.zeros(frame.rows)
        some = frame.event_counts > 0
        if some.any():
            longest[some] = np.maximum.reduceat(gap_ns, frame.starts[:-1][some]) / _NS_PER_MS
        cut = self.unfinished & frame.streaming & some
        bounds = np.maximum(longest[cut], self._open_gaps_ms())
        # Until the hang-up the caller also waited for the token that did not come any more.
        left = self.heard & frame.hung_up
        longest[left] = np.maximum(longest, (self.end_ns - frame.last_ns) / _NS_PER_MS)[left]
        return self._per_request(
            "longest_stall_ms", longest, left | (self.streamed & (frame.event_counts > 1)), bounds
        )

    def fluidity(self, reading_tok_s: float) -> MetricSamples:
        share = fluidity(self.frame, self.counts.per_event, reading_tok_s)
        return self._per_request(
            "fluidity", share, self.streamed & (self.counts.streamed > 0), by_tokens=True
        )

    def stops(self, wait_ns: int) -> MetricSamples:
        """How long servers went on after a hang-up; of one that never stopped, at least the time watched."""
        frame = self.frame
        left_ns, stopped_ns = frame.ints("hangup_ns"), frame.ints("stopped_ns")
        left = frame.hung_up & (left_ns != MISSING)
        stopped = left & (stopped_ns != MISSING)
        took_ms = np.where(stopped, np.maximum(stopped_ns - left_ns, 0), 0) / _NS_PER_MS
        going_on = np.full(int((left & ~stopped).sum()), wait_ns / _NS_PER_MS)
        return self._per_request("stop_ms", took_ms, stopped, going_on)

    def connection(self) -> list[MetricSamples]:
        found = []
        for name in ("connect", "tls"):
            took_ns = self.frame.ints(f"{name}_ns")
            where = self.frame.well & (took_ns != MISSING)
            found.append(self._per_request(f"{name}_ms", took_ns / _NS_PER_MS, where))
        return found

"""What charts are drawn from: a run's millions of events boiled down to some hundreds of points.

All of it numpy; nothing here grows with the run.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from paceline.report.evidence import Evidence
from paceline.report.imported import RATES, hidden_metrics
from paceline.stats.frame import MISSING, Frame, Ints
from paceline.stats.quantiles import percentile
from paceline.stats.steady import in_flight, steady_windows

Floats = npt.NDArray[np.float64]

HISTOGRAM_BINS = 60
TIME_BINS = 240
SHORTEST_BIN_S = 0.1
MOST_POINTS = 3_000
SLOWEST_POINTS = 300
# The longest waits are few and far: drawn in scale they would squeeze all others into one bar.
_DRAWN = 0.995
_FEWEST_LEFT_OUT = 100


@dataclass(frozen=True)
class Histogram:
    """`edges`: float64[b + 1], `counts`: int64[b]. `beyond`: how many samples lie above the last edge."""

    edges: Floats
    counts: Ints
    beyond: int


def histogram(values: Floats) -> Histogram:
    """Equal bins over the lowest 99.5 % of `values` (float64[n], n > 0), over all where these are under 100.

    The fewer values, the fewer bins.
    """
    bins = int(np.clip(2.0 * math.sqrt(len(values)), 8, HISTOGRAM_BINS))
    low, high = float(values.min()), percentile(values, _DRAWN if len(values) >= _FEWEST_LEFT_OUT else 1.0)
    if not high > low:
        # All alike: one bar, as wide as can be seen.
        high = float(values.max())
        if not high > low:
            half = abs(low) * 0.005 or 0.5
            return Histogram(np.array([low - half, low + half]), np.array([len(values)]), 0)
    counts, edges = np.histogram(values, bins=bins, range=(low, high))
    return Histogram(edges, counts.astype(np.int64), int((values > high).sum()))


@dataclass(frozen=True)
class Ladder:
    """`p`: float64[k], shares from 0 up to below 1; `value`: float64[k], the quantile at each."""

    p: Floats
    value: Floats


def ladder(values: Floats) -> Ladder:
    """Quantiles at evenly spaced numbers of nines, as far as `values` (float64[n], n > 0) reach."""
    n = len(values)
    nines = np.linspace(0.0, math.log10(max(n, 2)), 121)
    p = 1.0 - 10.0**-nines
    return Ladder(p, np.quantile(values, np.clip(p, 0.0, 1.0)))


@dataclass(frozen=True)
class TimeLine:
    """A run in bins of time; arrays are float64[b].

    `start_s`, `width_s`: begin and length of the bins, from the start of the run, without the time between
    segments. `in_flight`: mean number. `due_s`, `sent_s`, `ended_s`: requests a second; `tokens_s`: tokens.
    `steady`: (start, end) of each steady window in s.
    """

    start_s: Floats
    width_s: float
    in_flight: Floats
    due_s: Floats
    sent_s: Floats
    ended_s: Floats
    tokens_s: Floats
    steady: list[tuple[float, float]]


class RunClock:
    """Seconds from the start of the run, with the segments of a resumed or interleaved run put end to end."""

    def __init__(self, frame: Frame) -> None:
        self._segment = frame.ints("segment")
        end_ns = frame.ints("end_ns")
        self._offset: dict[int, float] = {}
        self.length_s = 0.0
        for segment in np.unique(self._segment):
            self._offset[int(segment)] = self.length_s
            self.length_s += float(end_ns[self._segment == segment].max()) / 1e9
        known, inverse = np.unique(self._segment, return_inverse=True)
        offsets = np.array([self._offset[int(segment)] for segment in known])
        self._row_offset = offsets[inverse] if len(known) else np.empty(0)

    def of_rows(self, ns: Ints) -> Floats:
        """Instants of rows, int64[r] on their segments' clocks, in s from the start; nan for MISSING."""
        seconds = ns / 1e9 + self._row_offset
        seconds[ns == MISSING] = np.nan
        return seconds

    def of_events(self, frame: Frame) -> Floats:
        """Arrivals of all events, float64[e], in s from the start."""
        return frame.event_ns / 1e9 + self._row_offset[frame.event_row]

    def at(self, segment: int, monotonic_ns: int, origins: Mapping[int, int]) -> float:
        """An instant on CLOCK_MONOTONIC within a segment, in s from the start."""
        return (monotonic_ns - origins[segment]) / 1e9 + self._offset[segment]


def timeline(evidence: Evidence) -> TimeLine | None:
    """The run in bins of time; None when nothing was sent."""
    frame = Frame(evidence.rows)
    sent_ns, end_ns = frame.ints("sent_ns"), frame.ints("end_ns")
    written = sent_ns != MISSING
    if not written.any() or RATES in hidden_metrics(evidence.manifest):
        return None
    clock = RunClock(frame)
    bins = int(np.clip(clock.length_s / SHORTEST_BIN_S, 1, TIME_BINS))
    edges = np.linspace(0.0, max(clock.length_s, 1e-9), bins + 1)
    width_s = float(edges[1])
    sent, end = clock.of_rows(sent_ns), clock.of_rows(end_ns)

    def a_second(at_s: Floats, weights: npt.ArrayLike | None = None) -> Floats:
        counts: Floats = np.histogram(at_s, bins=edges, weights=weights)[0] / width_s
        return counts

    windows = steady_windows(evidence.rows, evidence.origins, open_loop=evidence.open_loop)
    return TimeLine(
        start_s=edges[:-1],
        width_s=width_s,
        in_flight=_mean_level(sent[written], end[written], edges),
        due_s=a_second(clock.of_rows(frame.ints("intended_ns"))),
        sent_s=a_second(sent[written]),
        ended_s=a_second(end[written]),
        tokens_s=a_second(clock.of_events(frame), evidence.counts.per_event),
        steady=[
            (
                clock.at(window.segment, window.start_ns, evidence.origins),
                clock.at(window.segment, window.end_ns, evidence.origins),
            )
            for window in windows
            if window.steady
        ],
    )


def _mean_level(sent: Floats, end: Floats, edges: Floats) -> Floats:
    """Mean number in flight in each bin: the area under the steps, over the width of the bin."""
    at_ns, level = in_flight((sent * 1e9).astype(np.int64), (end * 1e9).astype(np.int64))
    at = at_ns / 1e9
    area = np.concatenate([[0.0], np.cumsum(level[:-1] * np.diff(at))])
    reached = np.interp(edges, at, area, left=0.0, right=float(area[-1]))
    mean: Floats = np.diff(reached) / np.diff(edges)
    return mean


@dataclass(frozen=True)
class Points:
    """Requests as points, [k] each: when sent, the wait for the first token or for the failure, the outcome.

    `total`: requests that were sent, drawn here or not.
    """

    at_s: Floats
    wait_ms: Floats
    outcome: list[str]
    index: Ints
    total: int


def points(evidence: Evidence, most: int = MOST_POINTS) -> Points:
    """Failures and the slowest requests, and others drawn at random to make up `most`."""
    frame = Frame(evidence.rows)
    sent, first, end = frame.ints("sent_ns"), frame.first_ns, frame.ints("end_ns")
    start = frame.ints("intended_ns") if evidence.open_loop else sent
    ok = frame.equals("outcome", "ok") | frame.equals("outcome", "hung_up")
    until = np.where(ok & (first != MISSING), first, end)
    wait = (until - start) / 1e6
    shown = np.flatnonzero(sent != MISSING)
    chosen = _choose(shown, ~ok[shown], wait[shown], most)
    outcomes = evidence.rows["outcome"].take(chosen).to_pylist()
    return Points(
        at_s=RunClock(frame).of_rows(sent)[chosen] if len(chosen) else np.empty(0),
        wait_ms=wait[chosen],
        outcome=[str(outcome) for outcome in outcomes],
        index=frame.ints("request_index")[chosen],
        total=len(shown),
    )


def _choose(rows: Ints, failed: npt.NDArray[np.bool_], wait: Floats, most: int) -> Ints:
    if len(rows) <= most:
        return rows
    rng = np.random.default_rng(1)
    keep = np.zeros(len(rows), np.bool_)
    bad = np.flatnonzero(failed)
    keep[bad if len(bad) <= most // 2 else rng.choice(bad, most // 2, replace=False)] = True
    keep[np.argsort(wait)[-min(SLOWEST_POINTS, most // 4) :]] = True
    others = np.flatnonzero(~keep & ~failed)
    room = min(most - int(keep.sum()), len(others))
    keep[rng.choice(others, room, replace=False)] = True
    chosen: Ints = rows[keep]
    return chosen

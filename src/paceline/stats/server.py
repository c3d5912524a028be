"""What a server said of itself over the steady part of a run, and whether its counts are the client's."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paceline.stats.frame import MISSING, Bools, Frame, Ints
from paceline.stats.server_quantities import GPU_PREFIX, Kind
from paceline.stats.steady import Window
from paceline.stats.tokens import TokenCounts

# A server counts in steps and shows its counts a moment late.
COUNTS_AGREE = 0.02
_TRAVEL_NS = 20_000_000

Floats = npt.NDArray[np.float64]
Span = tuple[int, int]


@dataclass(frozen=True)
class Series:
    """One figure of one source over the run: n samples in order of time.

    `t_ns`: int64[n], CLOCK_MONOTONIC. `span_ns`: int64[n], how long asking took. `value`: float64[n].
    """

    source: str
    name: str
    kind: Kind
    t_ns: Ints
    span_ns: Ints
    value: Floats

    def between(self, start_ns: int, end_ns: int) -> "Series":
        """The samples from `start_ns` to `end_ns`, both included."""
        inside = (self.t_ns >= start_ns) & (self.t_ns <= end_ns)
        return Series(
            self.source, self.name, self.kind, self.t_ns[inside], self.span_ns[inside], self.value[inside]
        )


@dataclass(frozen=True)
class Figures:
    """A series over some windows. `n`: samples. Of a gauge `mean` and `max`; of a counter `total`, what came
    to it between the first and the last sample of each window, and `a_second`, over the time between these.

    `resets`: a counter fell so often, as when a server starts anew.
    """

    n: int
    mean: float | None = None
    max: float | None = None
    total: float | None = None
    a_second: float | None = None
    resets: int = 0


@dataclass(frozen=True)
class TokenCheck:
    """Generated tokens by the server's count and by the client's, between the first and the last sample of
    each segment. `slack`: tokens that may lie on either side of those instants. `at_end`: the server counts
    when a request ends.
    """

    server: float
    client: float
    slack: float
    seconds: float
    at_end: bool

    @property
    def agree(self) -> bool:
        """Whether they differ by no more than what cannot be told, and 2 %."""
        return abs(self.server - self.client) <= self.slack + COUNTS_AGREE * self.client


def series_of(samples: pa.Table) -> list[Series]:
    """The samples of a run (`store.schema.SERVER_SCHEMA`), by source and name."""
    names = samples["name"].to_numpy(zero_copy_only=False)
    sources = samples["source"].to_numpy(zero_copy_only=False)
    kinds = samples["kind"].to_pylist()
    t_ns, span_ns, value = (samples[name].to_numpy() for name in ("t_ns", "span_ns", "value"))
    found = []
    for source, name in sorted(set(zip(sources.tolist(), names.tolist(), strict=True))):
        at = np.flatnonzero((sources == source) & (names == name))
        at = at[np.argsort(t_ns[at], kind="stable")]
        kind: Kind = "counter" if kinds[at[0]] == "counter" else "gauge"
        found.append(Series(source, name, kind, t_ns[at], span_ns[at], value[at]))
    return found


def steady_spans(windows: Sequence[Window]) -> list[Span]:
    """Start and end of each window, monotonic ns."""
    return [(window.start_ns, window.end_ns) for window in windows]


def figures(series: Series, spans: Sequence[Span]) -> Figures:
    """A series over windows. A counter's growth takes two samples in a window; others are left out."""
    parts = [series.between(*span) for span in spans]
    n = sum(len(part.value) for part in parts)
    if series.kind == "gauge":
        values = np.concatenate([part.value for part in parts]) if parts else np.empty(0)
        return Figures(n, float(values.mean()), float(values.max())) if n else Figures(0)
    grown = [_growth(part.value) for part in parts if len(part.value) > 1]
    seconds = sum(int(part.t_ns[-1] - part.t_ns[0]) for part in parts if len(part.value) > 1) / 1e9
    resets = sum(fell for _, fell in grown)
    if not seconds > 0.0:
        return Figures(n, resets=resets)
    total = sum(growth for growth, _ in grown)
    return Figures(n, total=total, a_second=total / seconds, resets=resets)


def _growth(value: Floats) -> tuple[float, int]:
    """What came to a counter, and how often it fell. After a fall it began at 0, as in Prometheus."""
    steps = np.diff(value)
    fell = steps < 0.0
    return float(np.where(fell, value[1:], steps).sum()), int(fell.sum())


def ratio(part: Figures | None, whole: Figures | None) -> float | None:
    """Of two counters over the same windows: the share that the one is of the other."""
    if part is None or whole is None or part.total is None or not whole.total:
        return None
    return part.total / whole.total


def segment_spans(rows: pa.Table, origins: Mapping[int, int]) -> dict[int, Span]:
    """From the origin of each segment to its last request's end, or to when the server was seen to stop."""
    frame = Frame(rows)
    segment, ends = frame.ints("segment"), np.maximum(frame.ints("end_ns"), frame.ints("stopped_ns"))
    return {
        int(one): (origins[int(one)], origins[int(one)] + int(ends[segment == one].max()))
        for one in np.unique(segment)
        if int(one) in origins
    }


def check_tokens(
    series: Series, rows: pa.Table, origins: Mapping[int, int], counts: TokenCounts, *, at_end: bool
) -> TokenCheck | None:
    """The server's count of generated tokens beside the client's; None where the samples do not tell.

    `counts` belongs to `rows`. Over the segments, each from its first sample to its last: with one before
    the first request and one after the last, all tokens are in between.
    """
    frame = Frame(rows)
    segment, row_end = frame.ints("segment"), frame.ints("end_ns")
    # Reasoning that was never shown counts at the end: when it was made is not known.
    per_row = counts.streamed + counts.hidden if at_end else counts.hidden
    # Whether what was broken off is counted at its end is each server's own affair.
    broken = per_row[~frame.equals("outcome", "ok")].sum() if at_end else 0
    parts = _looked_at(series, segment_spans(rows, origins))
    server, client, slack, covered_ns = 0.0, 0.0, float(broken), 0
    for number, part in parts.items():
        # Events are many: they are compared where they lie, on their segment's clock.
        mine = segment == number
        told = [(row_end, per_row, mine)]
        if not at_end:
            told.append((frame.event_ns, counts.per_event, frame.spread(mine)))
        for when_ns, tokens, where in told:
            inside, edges = _between(part, origins[number], when_ns, tokens, where)
            client += inside
            slack += edges
        server += _growth(part.value)[0]
        covered_ns += int(part.t_ns[-1] - part.t_ns[0])
    return TokenCheck(server, client, slack, covered_ns / 1e9, at_end) if covered_ns else None


def _between(
    part: Series, origin_ns: int, when_ns: Ints, tokens: npt.NDArray[Any], mine: Bools
) -> tuple[float, float]:
    """Tokens between the first and the last sample, and those that may have been counted on either side of
    one: asking took a while, and the answer travels, too.
    """
    first, last = int(part.t_ns[0]) - origin_ns, int(part.t_ns[-1]) - origin_ns

    def total(start: float, end: float) -> float:
        return float(tokens.sum(where=mine & (when_ns > start) & (when_ns <= end), dtype=np.int64))

    reach = [span / 2 + _TRAVEL_NS for span in (part.span_ns[0], part.span_ns[-1])]
    edges = total(first - reach[0], first + reach[0]) + total(last - reach[1], last + reach[1])
    return total(first, last), edges


def _looked_at(series: Series, segments: Mapping[int, Span]) -> dict[int, Series]:
    """The samples of each segment: from the last one before it to the first one after it."""
    found = {}
    edges = sorted(segments.items(), key=lambda item: item[1])
    for place, (segment, (start, end)) in enumerate(edges):
        before = edges[place - 1][1][1] if place else np.iinfo(np.int64).min
        after = edges[place + 1][1][0] if place + 1 < len(edges) else np.iinfo(np.int64).max
        inside = series.between(int(before), int(after))
        early, late = inside.t_ns[inside.t_ns <= start], inside.t_ns[inside.t_ns >= end]
        first = int(early[-1]) if len(early) else start
        last = int(late[0]) if len(late) else end
        part = inside.between(first, last)
        if len(part.value) > 1:
            found[segment] = part
    return found


def is_gpu(series: Series) -> bool:
    """Whether it is of a GPU of this machine, and not of the server."""
    return series.name.startswith(GPU_PREFIX)


def power_w(series: Sequence[Series], spans: Sequence[Span]) -> float | None:
    """Mean power of all GPUs together over the windows: by the energy counters, else by the power read."""
    total = 0.0
    gpus = sorted({one.source for one in series if is_gpu(one)})
    for gpu in gpus:
        own = {one.name: figures(one, spans) for one in series if one.source == gpu}
        energy, power = own.get("gpu_energy_j"), own.get("gpu_power_w")
        if energy is not None and energy.a_second is not None and not energy.resets:
            total += energy.a_second
        elif power is not None and power.mean is not None:
            total += power.mean
        else:
            return None
    return total if gpus else None


def in_flight_at(rows: pa.Table, origins: Mapping[int, int], t_ns: Ints) -> Ints:
    """Requests that the client had in flight at instants, int64[n]."""
    frame = Frame(rows)
    origin = frame.origin_ns(origins)
    sent, end = frame.ints("sent_ns"), frame.ints("end_ns")
    written = sent != MISSING
    starts = np.sort((origin + sent)[written])
    ends = np.sort((origin + end)[written])
    return np.searchsorted(starts, t_ns, "right") - np.searchsorted(ends, t_ns, "right")

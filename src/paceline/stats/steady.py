"""The steady part of a run, and how many tokens and requests a second came out of it.

A run fills up and drains; rates over all of it would depend on its length. The rule, per segment:

- Measured part: from the first measured request sent to the last one ended.
- Closed loop: the plateau is the number in flight at which half of all request-seconds were spent (a long
  thin tail weighs little). The window runs from the first to the last instant of the measured part at which
  at least 90 % of the plateau was in flight: from when the loop is full until it empties for good.
- Open loop: from the first to the last measured request sent. Without requests before it that fill the server
  (a warm-up), it starts later by the median request duration.
- A window shorter than two median request durations tells little: then it is the measured part.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paceline.stats.frame import MISSING, Bools, Frame, Ints
from paceline.stats.tokens import TokenCounts

_FULL = 0.9
_FEWEST_DURATIONS = 2.0


@dataclass(frozen=True)
class Window:
    """`start_ns` <= t < `end_ns`, monotonic. `steady`: False where it is the whole measured part."""

    segment: int
    start_ns: int
    end_ns: int
    steady: bool


@dataclass(frozen=True)
class Throughput:
    """Rates over the steady windows, and (`whole_`) over the measured parts.

    `output_tok_s`: tokens whose event lies in the window, of all requests, over its length. `requests_s`:
    requests that ended `ok` in it, over its length. None where the length is 0. `seconds`: its length.
    """

    output_tok_s: float | None
    requests_s: float | None
    seconds: float
    steady: bool
    whole_output_tok_s: float | None
    whole_requests_s: float | None
    whole_seconds: float


def steady_windows(rows: pa.Table, origins: Mapping[int, int], *, open_loop: bool = False) -> list[Window]:
    """The steady window of each segment that has measured requests, in order of time.

    `rows`: all rows of the run, warm-up included. Raises ValueError when a segment has no origin.
    """
    steady, _ = _windows(Frame(rows), origins, open_loop)
    return steady


def steady_window(
    rows: pa.Table, origins: Mapping[int, int], *, open_loop: bool = False
) -> tuple[int, int] | None:
    """From the start of the first steady window to the end of the last, monotonic ns; None without any."""
    windows = steady_windows(rows, origins, open_loop=open_loop)
    return (windows[0].start_ns, windows[-1].end_ns) if windows else None


def throughput(
    rows: pa.Table, origins: Mapping[int, int], counts: TokenCounts, *, open_loop: bool = False
) -> Throughput:
    """Rates of a run. `counts` belongs to the same rows; see `steady_windows` for the rest."""
    frame = Frame(rows)
    steady, whole = _windows(frame, origins, open_loop)
    event_at = frame.event_ns + frame.spread(frame.origin_ns(origins))
    ended = (frame.ints("end_ns") + frame.origin_ns(origins))[frame.equals("outcome", "ok")]

    def rates(windows: list[Window]) -> tuple[float | None, float | None, float]:
        seconds = sum(window.end_ns - window.start_ns for window in windows) / 1e9
        tokens = int(counts.per_event[_within(event_at, windows, include_end=False)].sum())
        requests = int(_within(ended, windows, include_end=True).sum())
        return (tokens / seconds, requests / seconds, seconds) if seconds > 0.0 else (None, None, 0.0)

    output_tok_s, requests_s, seconds = rates(steady)
    whole_output_tok_s, whole_requests_s, whole_seconds = rates(whole)
    return Throughput(
        output_tok_s=output_tok_s,
        requests_s=requests_s,
        seconds=seconds,
        steady=bool(steady) and all(window.steady for window in steady),
        whole_output_tok_s=whole_output_tok_s,
        whole_requests_s=whole_requests_s,
        whole_seconds=whole_seconds,
    )


def in_flight(
    sent_ns: npt.NDArray[np.int64], end_ns: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Requests in flight as steps: instants int64[2n] in order, and the level from each on, int64[2n]."""
    at = np.concatenate([end_ns, sent_ns])
    step = np.concatenate([np.full(len(end_ns), -1), np.full(len(sent_ns), 1)])
    # Ends come first among equal instants: a slot that is filled again at once was never doubly full.
    order = np.argsort(at, kind="stable")
    return at[order], np.cumsum(step[order])


def _windows(frame: Frame, origins: Mapping[int, int], open_loop: bool) -> tuple[list[Window], list[Window]]:
    """The steady windows and the measured parts."""
    origin_ns = frame.origin_ns(origins)
    sent = frame.ints("sent_ns")
    written = sent != MISSING
    sent_at, end_at = sent + origin_ns, frame.ints("end_ns") + origin_ns
    segments = frame.ints("segment")
    steady, whole = [], []
    for segment in np.unique(segments[written & frame.measured]):
        mine = written & (segments == segment)
        measured = mine & frame.measured
        start, end = int(sent_at[measured].min()), int(end_at[measured].max())
        whole.append(Window(int(segment), start, end, False))
        if open_loop:
            found = _open_window(sent_at, end_at, mine, measured)
        else:
            found = _closed_window(sent_at[mine], end_at[mine], start, end)
        good = measured & frame.ok
        typical_ns = float(np.median((end_at - sent_at)[good])) if good.any() else np.inf
        long_enough = found[1] - found[0] >= _FEWEST_DURATIONS * typical_ns
        steady.append(Window(int(segment), *found, True) if long_enough else whole[-1])
    return sorted(steady, key=lambda w: w.start_ns), sorted(whole, key=lambda w: w.start_ns)


def _closed_window(sent_at: Ints, end_at: Ints, start: int, end: int) -> tuple[int, int]:
    at, level = in_flight(sent_at, end_at)
    # Each step from its instant to the next one, cut to the measured part.
    begins, ends = np.clip(at[:-1], start, end), np.clip(at[1:], start, end)
    level, lasts = level[:-1], ends - begins
    order = np.argsort(level, kind="stable")
    spent = np.cumsum((level * lasts)[order].astype(np.float64))
    if not len(spent) or spent[-1] <= 0.0:
        return start, end
    plateau = level[order][np.searchsorted(spent, spent[-1] / 2.0)]
    full = np.flatnonzero((level >= _FULL * plateau) & (lasts > 0))
    return int(begins[full[0]]), int(ends[full[-1]])


def _open_window(sent_at: Ints, end_at: Ints, mine: Bools, measured: Bools) -> tuple[int, int]:
    start, end = int(sent_at[measured].min()), int(sent_at[measured].max())
    if (sent_at[mine] < start).any():
        return start, end
    return start + round(float(np.median((end_at - sent_at)[measured]))), end


def _within(at: Ints, windows: list[Window], *, include_end: bool) -> Bools:
    inside = np.zeros(len(at), np.bool_)
    for window in windows:
        before_end = at <= window.end_ns if include_end else at < window.end_ns
        inside |= (at >= window.start_ns) & before_end
    return inside

"""The steady part of a run, and how many tokens and requests a second came out of it.

A run fills up and drains; rates over all of it would depend on its length. The steady window of a segment is,
of the measured requests alone (`cancelled` ones, whose work was lost, left aside):

- Closed loop: from the first to the last instant at which the plateau was in flight: from when the loop is
  full until it empties for good. The plateau is the number in flight at or under which half of all
  request-seconds of the run were spent (a long thin tail weighs little).
- Open loop: from the first request sent, and the 90th percentile of the durations later, when the server is
  full of measured requests, to the last one sent.

Where calls belong to jobs, windows are found from the jobs in their place, from the first call sent to the
end of the last: a loop is full of jobs, and jobs arrive by a schedule, whatever their calls do.

A window shorter than one and a half median request durations tells little. (Requests in step make windows of
whole durations, so the limit lies between two of those.) Segments without a better one are left out; where no
segment has one, all are taken whole, from the first measured request sent to the last one ended.

A window cuts requests in two, many at once where they run in step. Each therefore counts with the part of its
tokens that was made in the window, see `_Progress`, and its tokens count with the same part.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paceline.stats.frame import MISSING, Bools, Frame, Ints
from paceline.stats.tokens import TokenCounts

_FEWEST_DURATIONS = 1.5
_FILLED_QUANTILE = 0.9
_QUICK_QUANTILE = 0.1

Floats = npt.NDArray[np.float64]


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

    Of measured requests: the part of each that lies in the windows (`credit`, float64[r], 0 for all others),
    over their length. `requests_s` counts those that ended well (`ok`, or hung up as asked), `output_tok_s`
    the tokens of all, `prompt_tok_s` the prompts by the server's usage, as far as it said. None where the
    length is 0. `seconds`: that length. `steady`: False where the windows are the measured parts, because
    there is no steady one or (`at_will`) to be alike with another run.
    """

    output_tok_s: float | None
    requests_s: float | None
    seconds: float
    steady: bool
    whole_output_tok_s: float | None
    whole_requests_s: float | None
    whole_seconds: float
    credit: Floats = field(repr=False, compare=False)
    at_will: bool = False
    prompt_tok_s: float | None = None


def steady_windows(
    rows: pa.Table, origins: Mapping[int, int], *, open_loop: bool = False, whole_run: bool = False
) -> list[Window]:
    """The windows that rates are over, in order of time: at most one a segment.

    `rows`: all rows of the run, warm-up included. `whole_run`: the measured parts in any case.
    Raises ValueError when a segment has no origin.
    """
    steady, whole = _windows(_of_jobs(Frame(rows), _Requests.of(Frame(rows), origins)), open_loop)
    return whole if whole_run else steady or whole


def steady_window(
    rows: pa.Table, origins: Mapping[int, int], *, open_loop: bool = False
) -> tuple[int, int] | None:
    """From the start of the first steady window to the end of the last, monotonic ns; None without any."""
    windows = steady_windows(rows, origins, open_loop=open_loop)
    return (windows[0].start_ns, windows[-1].end_ns) if windows else None


def throughput(
    rows: pa.Table,
    origins: Mapping[int, int],
    counts: TokenCounts,
    *,
    open_loop: bool = False,
    whole_run: bool = False,
) -> Throughput:
    """Rates of a run. `counts` belongs to the same rows; see `steady_windows` for the rest.

    `whole_run`: over the measured parts even where there is a steady one.
    """
    frame = Frame(rows)
    requests = _Requests.of(frame, origins)
    steady, whole = _windows(_of_jobs(frame, requests), open_loop)
    progress = _Progress(frame, requests, counts)
    tokens = counts.streamed + counts.hidden

    def rates(windows: list[Window], credit: Floats) -> tuple[float | None, float | None, float]:
        seconds = sum(window.end_ns - window.start_ns for window in windows) / 1e9
        if not seconds > 0.0:
            return None, None, 0.0
        return float(credit @ tokens) / seconds, float(credit[frame.well].sum()) / seconds, seconds

    # Nothing of a measured request lies outside its measured part.
    everything = requests.mine.astype(np.float64)
    over_whole = rates(whole, everything)
    use_steady = bool(steady) and not whole_run
    credit = progress.within(steady) if use_steady else everything
    over_steady = rates(steady, credit) if use_steady else over_whole
    read = np.maximum(frame.ints("prompt_tokens"), 0)
    return Throughput(
        *over_steady,
        use_steady,
        *over_whole,
        credit,
        at_will=bool(steady) and whole_run,
        prompt_tok_s=float(credit @ read) / over_steady[2] if read.any() and over_steady[2] > 0.0 else None,
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


@dataclass(frozen=True)
class _Requests:
    """Of r rows: `mine`, those measured and sent; their monotonic instants, and the rest about them."""

    mine: Bools
    ok: Bools
    cancelled: Bools
    segment: Ints
    origin_ns: Ints
    sent_ns: Ints
    end_ns: Ints

    @classmethod
    def of(cls, frame: Frame, origins: Mapping[int, int]) -> "_Requests":
        origin_ns, sent = frame.origin_ns(origins), frame.ints("sent_ns")
        mine = frame.measured & (sent != MISSING)
        return cls(
            mine=mine,
            ok=mine & frame.well,
            cancelled=mine & frame.equals("outcome", "cancelled"),
            segment=frame.ints("segment"),
            origin_ns=origin_ns,
            sent_ns=sent + origin_ns,
            end_ns=frame.ints("end_ns") + origin_ns,
        )


def _of_jobs(frame: Frame, requests: _Requests) -> _Requests:
    """Each job as one request, from its first call sent to its last one ended; a request may be a job."""
    session, known = frame.session, frame.session != MISSING
    sent = np.flatnonzero(frame.ints("sent_ns") != MISSING)
    if not known.any() or not len(sent):
        return requests
    # A request without a job is one by itself.
    ids = np.where(known, session, -1 - np.arange(frame.rows))[sent]
    order = np.argsort(ids, kind="stable")
    first = np.flatnonzero(np.concatenate([[True], np.diff(ids[order]) != 0]))
    rows = sent[order]

    def every(flags: Bools) -> Bools:
        return np.logical_and.reduceat(flags[rows], first)

    return _Requests(
        mine=every(requests.mine),
        ok=every(requests.ok),
        cancelled=~every(~requests.cancelled),
        segment=requests.segment[rows][first],
        origin_ns=requests.origin_ns[rows][first],
        sent_ns=np.minimum.reduceat(requests.sent_ns[rows], first),
        end_ns=np.maximum.reduceat(requests.end_ns[rows], first),
    )


class _Progress:
    """How much of each request was done by an instant.

    An event's tokens were made evenly since the event before it. Those of the first event (all, where an
    answer comes in one piece) were made over a quick wait before it, the 10th percentile of the waits of `ok`
    requests, or all of the wait if it was shorter: who waited longer stood in a queue. A request without
    tokens is done evenly over its span.
    """

    def __init__(self, frame: Frame, requests: _Requests, counts: TokenCounts) -> None:
        self._frame, self._requests, self._counts = frame, requests, counts
        answered = requests.ok & (frame.event_counts > 0)
        waits = (frame.first_ns + requests.origin_ns - requests.sent_ns)[answered]
        self._quick_ns = float(np.quantile(waits, _QUICK_QUANTILE)) if len(waits) else 0.0

    def within(self, windows: list[Window]) -> Floats:
        """The part of each measured request that was done in the window of its segment, float64[r]."""
        part = np.zeros(self._frame.rows)
        for window in windows:
            mine = np.flatnonzero(self._requests.mine & (self._requests.segment == window.segment))
            part[mine] = self._by(mine, window.end_ns) - self._by(mine, window.start_ns)
        return part

    def _by(self, rows: Ints, at_ns: int) -> Floats:
        sent, end = self._requests.sent_ns[rows], self._requests.end_ns[rows]
        done = (end <= at_ns).astype(np.float64)
        # Few: those in flight at this instant.
        for place in np.flatnonzero((sent < at_ns) & (at_ns < end)):
            done[place] = self._of_row(int(rows[place]), at_ns)
        return done

    def _of_row(self, row: int, at_ns: int) -> float:
        requests, starts = self._requests, self._frame.starts
        sent, events = requests.sent_ns[row], slice(starts[row], starts[row + 1])
        at = self._frame.event_ns[events] + requests.origin_ns[row]
        made = np.cumsum(self._counts.per_event[events], dtype=np.float64)
        if not len(made) or made[-1] <= 0.0:
            return float((at_ns - sent) / (requests.end_ns[row] - sent))
        begun = max(float(sent), float(at[0]) - self._quick_ns)
        # From the row's own start: monotonic instants in ns are too large to interpolate between.
        known = np.concatenate([[begun - sent], at - sent])
        return float(np.interp(at_ns - sent, known, np.concatenate([[0.0], made / made[-1]])))


def _windows(requests: _Requests, open_loop: bool) -> tuple[list[Window], list[Window]]:
    """The steady windows, if any, and the measured parts; each in order of time."""
    sent, end = requests.sent_ns, requests.end_ns
    segments = {int(s): requests.mine & (requests.segment == s) for s in np.unique(requests.segment)}
    segments = {segment: mine for segment, mine in segments.items() if mine.any()}
    whole = [Window(s, int(sent[mine].min()), int(end[mine].max()), False) for s, mine in segments.items()]
    steady: list[Window] = []
    if requests.ok.any():
        durations = (end - sent)[requests.ok]
        find = _open_windows if open_loop else _closed_windows
        fewest_ns = max(1.0, _FEWEST_DURATIONS * float(np.median(durations)))
        steady = [w for w in find(requests, segments, durations) if w.end_ns - w.start_ns >= fewest_ns]
    return sorted(steady, key=lambda w: w.start_ns), sorted(whole, key=lambda w: w.start_ns)


def _closed_windows(requests: _Requests, segments: dict[int, Bools], _: Ints) -> list[Window]:
    steps = {}
    for segment, mine in segments.items():
        kept = mine & ~requests.cancelled
        at, level = in_flight(requests.sent_ns[kept], requests.end_ns[kept])
        steps[segment] = at[:-1], at[1:], level[:-1]
    levels = np.concatenate([level for _, _, level in steps.values()])
    lasts = np.concatenate([until - since for since, until, _ in steps.values()])
    order = np.argsort(levels, kind="stable")
    spent = np.cumsum((levels * lasts)[order].astype(np.float64))
    if not len(spent) or spent[-1] <= 0.0:
        return []
    plateau = levels[order][np.searchsorted(spent, spent[-1] / 2.0)]
    windows = []
    for segment, (since, until, level) in steps.items():
        full = np.flatnonzero((level >= plateau) & (until > since))
        if len(full):
            windows.append(Window(segment, int(since[full[0]]), int(until[full[-1]]), True))
    return windows


def _open_windows(requests: _Requests, segments: dict[int, Bools], durations: Ints) -> list[Window]:
    fill_ns = round(float(np.quantile(durations, _FILLED_QUANTILE)))
    windows = []
    for segment, mine in segments.items():
        sent, lost = requests.sent_ns[mine], requests.sent_ns[mine & requests.cancelled]
        # From when the first request that was cut off was sent, some of the work is lost.
        end = int(lost.min() if len(lost) else sent.max())
        windows.append(Window(segment, int(sent.min()) + fill_ns, end, True))
    return windows

"""Requests a second that a run's schedule asked for, and that were sent in time."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from paceline.report.limits import LATE_MS
from paceline.report.words import is_open_loop
from paceline.stats.frame import MISSING, Bools, Frame, Ints


@dataclass(frozen=True)
class Rates:
    """Requests a second that the schedule asked for, and how many of them were sent in time."""

    offered_requests_s: float | None
    achieved_requests_s: float | None


def load_rates(
    frame: Frame, segments: list[dict[str, Any]], load: Mapping[str, Any], *, complete: bool = True
) -> Rates:
    """Offered and achieved rate of the measured part.

    Open loop: arrivals that were due in the measured part, sent or not, over the time that was planned for
    them; see `_planned_ns`. Achieved: those of them that were sent in time, over the same time. Late by less
    than LATE_MS is in time, and so is what was sent within the planned time, however late.

    Closed loop: what was sent, over the time from the first send to the last end; it offers no more.

    `complete`: whether the run came to its end, so that its last segment was not cut off.
    """
    return _open_rates(frame, segments, load, complete) if is_open_loop(load) else _closed_rates(frame)


def lateness_ns(frame: Frame) -> Ints:
    """From the due instant to the first byte written, without the time to connect, int64[r].

    Only for rows that were written.
    """
    connecting = np.maximum(frame.ints("connect_ns"), 0) + np.maximum(frame.ints("tls_ns"), 0)
    late: Ints = frame.ints("sent_ns") - frame.ints("intended_ns") - connecting
    return late


def _closed_rates(frame: Frame) -> Rates:
    sent, end, segments = frame.ints("sent_ns"), frame.ints("end_ns"), frame.ints("segment")
    written = frame.measured & (sent != MISSING)
    seconds = 0.0
    for segment in np.unique(segments[written]):
        mine = written & (segments == segment)
        seconds += (int(end[mine].max()) - int(sent[mine].min())) / 1e9
    rate = int(written.sum()) / seconds if seconds > 0.0 else None
    return Rates(rate, rate)


def _open_rates(
    frame: Frame, segments: list[dict[str, Any]], load: Mapping[str, Any], complete: bool
) -> Rates:
    sent, numbers = frame.ints("sent_ns"), frame.ints("segment")
    prompt = (sent != MISSING) & (lateness_ns(frame) <= LATE_MS * 1e6)
    told = {int(segment.get("segment") or 0): segment for segment in segments}
    due = in_time = 0
    seconds = 0.0
    for part in _parts(frame, told, load, complete):
        start_ns, end_ns = part.planned_ns
        mine = frame.measured & (numbers == part.number)
        delivered = prompt | ((sent != MISSING) & (sent <= end_ns))
        due += part.due
        in_time += int((mine & delivered).sum())
        seconds += (end_ns - start_ns) / 1e9
    return Rates(due / seconds, in_time / seconds) if due and seconds > 0.0 else Rates(None, None)


@dataclass(frozen=True)
class _Part:
    """The measured part of a segment. `planned_ns`: on the segment's clock, from and to."""

    number: int
    due: int
    planned_ns: tuple[float, float]


def _parts(
    frame: Frame, told: Mapping[int, Mapping[str, Any]], load: Mapping[str, Any], complete: bool
) -> list[_Part]:
    numbers = frame.ints("segment")
    parts = []
    sent_before, planned_before_ns = 0, 0
    known = sorted({*told, *np.unique(numbers).tolist()})
    for number in known:
        progress = told.get(number, {})
        rows = numbers == number
        # A run is resumed because it was cut off; the blocks of an interleaved one follow each other.
        cut_off = not complete if number == known[-1] else not _pairs(load)
        end_ns = None
        if not cut_off:
            end_ns = _end_ns(number, progress, load, sent_before, planned_before_ns)
        warmup_ns = max(int(load.get("warmup_ns") or 0) - planned_before_ns, 0)
        dropped = int(progress.get("dropped") or 0)
        due = int((frame.measured & rows).sum()) + dropped
        # A block in which nothing was due took its time all the same.
        parts.append(_Part(number, due, _planned_ns(frame, rows, warmup_ns, end_ns, dropped)))
        sent_before += int(rows.sum())
        planned_before_ns += _share_ns(number, progress, load)
    return parts


def _planned_ns(
    frame: Frame, rows: Bools, warmup_ns: int, end_ns: int | None, dropped: int
) -> tuple[float, float]:
    """The time in which the measured arrivals of one segment were to come.

    It begins with the segment, or with the end of its warm-up: an instant, or the last arrival of it. It ends
    with the segment's duration. A segment that ended by its number of requests or was cut off has no such
    end: there it is the last arrival, and one mean gap more where the first arrival lies at the very start.
    """
    intended, sent = frame.ints("intended_ns"), frame.ints("sent_ns")
    warm, measured = intended[rows & ~frame.measured], intended[rows & frame.measured]
    start_ns = float(max(warmup_ns, int(warm.max()) if len(warm) and not warmup_ns else 0))
    if not len(measured):
        # A block may lie within the warm-up.
        return start_ns, max(start_ns, float(end_ns or 0))
    start_ns = min(start_ns, float(measured.min()))
    if end_ns is not None:
        return start_ns, float(end_ns)
    last_ns = float(measured.max())
    if dropped:
        # They were due after all that were sent, and before the segment was cut off.
        return start_ns, max(last_ns, float(sent[rows].max()))
    n = len(measured)
    gaps = n - 1 if measured.min() <= start_ns else n
    return start_ns, start_ns + (last_ns - start_ns) * n / gaps if gaps else start_ns


def _end_ns(
    number: int, progress: Mapping[str, Any], load: Mapping[str, Any], sent_before: int, before_ns: int
) -> int | None:
    """When a segment was to stop sending, on its own clock; None where its requests ran out before.

    Not `elapsed_ns`: a segment is over when its last arrival before that instant has been answered.
    """
    if load.get("duration_ns") is None:
        return None
    total_ns = int(load["duration_ns"]) + int(load.get("warmup_ns") or 0)
    pairs = _pairs(load)
    whole_ns = _share(total_ns, number, pairs) if pairs else total_ns - before_ns
    if load.get("requests") is not None:
        total = int(load["requests"]) + int(load.get("warmup_requests") or 0)
        most = _share(total, number, pairs) if pairs else total - sent_before
        if int(progress.get("planned") or 0) >= most:
            return None
    return whole_ns


def _share_ns(number: int, progress: Mapping[str, Any], load: Mapping[str, Any]) -> int:
    """What a segment took of the run's time, as `measure` counts it for the segment that follows."""
    pairs = _pairs(load)
    if not pairs:
        return int(progress.get("elapsed_ns") or 0)
    if load.get("duration_ns") is None:
        return 0
    return _share(int(load["duration_ns"]) + int(load.get("warmup_ns") or 0), number, pairs)


def _pairs(load: Mapping[str, Any]) -> int:
    """Blocks that an interleaved run is cut into; 0 for any other run."""
    return int((load.get("interleaved") or {}).get("pairs") or 0)


def _share(total: int, part: int, parts: int) -> int:
    return total * (part + 1) // parts - total * part // parts

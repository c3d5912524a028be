"""How long a server still worked on requests whose callers had hung up, by the number that it says it runs.

Between two changes at the client, a server that runs and queues more requests than the client has in flight
is still busy with those that were left. Samples near a change at the client tell nothing, since both sides
see it at different instants; and each answer is known only as far as two samples lie apart.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from paceline.stats.frame import MISSING, Bools, Frame, Ints
from paceline.stats.server import Floats, Series, in_flight_at

# Coarser sampling than this says nothing of a hang-up.
COARSEST_NS = 250_000_000
# A server shows what happened some milliseconds ago.
_LATE_NS = 10_000_000
_OTHERS_SHARE = 0.1


@dataclass(frozen=True)
class AfterHangUp:
    """`n`: hang-ups of which it can be told. They went on for `at_least_ms` to `at_most_ms`, float64[n] each.

    `every_ms`: how far apart the samples lie. `why`: where nothing can be told, the reason; else empty.
    """

    at_least_ms: Floats
    at_most_ms: Floats
    every_ms: float
    why: str = ""

    @property
    def n(self) -> int:
        """Hang-ups that it is known of."""
        return len(self.at_most_ms)


def _nothing(why: str, every_ns: float) -> AfterHangUp:
    return AfterHangUp(np.empty(0), np.empty(0), every_ns / 1e6, why)


def after_hangups(
    running: Series, waiting: Series | None, rows: pa.Table, origins: Mapping[int, int]
) -> AfterHangUp | None:
    """For how long the server went on after each hang-up; None where nobody hung up.

    A hang-up counts when samples show the excess come down to nothing before the run ends.
    """
    frame = Frame(rows)
    if not frame.equals("outcome", "hung_up").any():
        return None
    every_ns = float(np.median(np.diff(running.t_ns))) if len(running.t_ns) > 1 else np.inf
    if every_ns > 1.1 * COARSEST_NS:
        why = f"sampled more rarely than each {COARSEST_NS // 1_000_000} ms"
        return _nothing(why, every_ns if np.isfinite(every_ns) else 0.0)
    hung = frame.equals("outcome", "hung_up") & (frame.ints("hangup_ns") != MISSING)
    hangups = np.sort((frame.origin_ns(origins) + frame.ints("hangup_ns"))[hung])
    clear = _clear_of_changes(running, frame, origins)
    busy = running.value.copy()
    if waiting is not None:
        place = np.searchsorted(waiting.t_ns, running.t_ns)
        known = (place < len(waiting.t_ns)) & (
            waiting.t_ns[np.minimum(place, len(waiting.t_ns) - 1)] == running.t_ns
        )
        busy[known] += waiting.value[place[known]]
    excess = np.round(busy - in_flight_at(rows, origins, running.t_ns)).astype(np.int64)
    least, most, foreign = _walk(running.t_ns[clear], running.span_ns[clear], excess[clear], hangups)
    if foreign > _OTHERS_SHARE:
        return _nothing("the server runs requests of others too", every_ns)
    if not len(most):
        return _nothing("other requests began and ended all the while", every_ns)
    return AfterHangUp(least / 1e6, most / 1e6, every_ns / 1e6)


def _clear_of_changes(running: Series, frame: Frame, origins: Mapping[int, int]) -> Bools:
    """Samples at which no request was just begun or ended by itself, bool[n]."""
    origin, sent = frame.origin_ns(origins), frame.ints("sent_ns")
    hung = frame.equals("outcome", "hung_up")
    changes = np.sort(
        np.concatenate([(origin + sent)[sent != MISSING], (origin + frame.ints("end_ns"))[~hung]])
    )
    reach = running.span_ns // 2 + _LATE_NS
    first = np.searchsorted(changes, running.t_ns - reach, "left")
    last = np.searchsorted(changes, running.t_ns + reach, "right")
    clear: Bools = first == last
    return clear


def _walk(t_ns: Ints, span_ns: Ints, excess: Ints, hangups: Ints) -> tuple[Floats, Floats, float]:
    """Bounds of each hang-up that was seen to its end, and the share of samples that show others' work."""
    least, most = [], []
    begun = np.searchsorted(hangups, t_ns - span_ns // 2, "left")
    settled, seen_at, foreign, idle = 0, -1, 0, 0
    for place, there in enumerate(begun.tolist()):
        pending = there - settled
        if not pending:
            idle += 1
            foreign += int(excess[place] > 0)
            continue
        if excess[place] >= pending:
            seen_at = place
        elif excess[place] <= 0:
            for hangup in hangups[settled:there].tolist():
                known = seen_at >= 0 and t_ns[seen_at] > hangup
                early = t_ns[seen_at] - span_ns[seen_at] // 2 - hangup if known else 0
                least.append(max(float(early), 0.0))
                most.append(float(t_ns[place] + span_ns[place] // 2 - hangup))
            settled, seen_at = there, -1
    return np.array(least), np.array(most), foreign / idle if idle else 0.0

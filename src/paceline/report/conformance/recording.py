"""The measured requests of a run as arrays, for definitions that are not ours to compute with."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from paceline.stats.frame import CONTENT, MISSING, REASONING, TOOL_CALL, Bools, Frame, Ints
from paceline.stats.tokens import TokenCounts

TEXT = CONTENT | REASONING
GENERATED = CONTENT | REASONING | TOOL_CALL
# What the outcome `truncated` says in a row whose body ended in order, without its end marker.
_ENDED_IN_ORDER = "end marker"


@dataclass(frozen=True)
class Recording:
    """The measured requests of a run: r of them with e token-bearing events, in order of sending.

    Instants are ns since the first request was begun, with the segments of the run put end to end. Per
    request [r]: `begun_ns`, before a connection was opened for it; `sent_ns`, before its first byte;
    `end_ns`, end of the body or of the failure; `outcome`; `broken`, the connection broke in the midst of
    the answer; `completion_tokens` by the server's usage and `asked_tokens` by the plan, MISSING where not
    known; `other_events`, data events that carried no token. Per event [e]: `event_ns`, `event_kind`,
    `event_tokens` by the best count there is. `starts` int64[r + 1]: each request's first event.
    """

    outcome: npt.NDArray[np.str_]
    broken: Bools
    streaming: Bools
    begun_ns: Ints
    sent_ns: Ints
    end_ns: Ints
    completion_tokens: Ints
    asked_tokens: Ints
    other_events: Ints
    starts: Ints
    event_ns: Ints
    event_kind: npt.NDArray[np.uint8]
    event_tokens: Ints

    def __len__(self) -> int:
        return len(self.outcome)

    @cached_property
    def event_counts(self) -> Ints:
        """Events of each request, int64[r]."""
        return np.diff(self.starts)

    @cached_property
    def event_row(self) -> Ints:
        """The request of each event, int64[e]."""
        return np.repeat(np.arange(len(self)), self.event_counts)

    @cached_property
    def first_ns(self) -> Ints:
        """Arrival of each request's first event, MISSING without one."""
        return self._at(self.starts[:-1])

    @cached_property
    def last_ns(self) -> Ints:
        """Arrival of each request's last event, MISSING without one."""
        return self._at(self.starts[1:] - 1)

    @cached_property
    def streamed_tokens(self) -> Ints:
        """Tokens of each request's events, int64[r]."""
        total = np.concatenate([[0], np.cumsum(self.event_tokens)])
        tokens: Ints = total[self.starts[1:]] - total[self.starts[:-1]]
        return tokens

    @cached_property
    def first_tokens(self) -> Ints:
        """Tokens of each request's first event, 0 without one."""
        found = np.zeros(len(self), np.int64)
        some = self.event_counts > 0
        found[some] = self.event_tokens[self.starts[:-1][some]]
        return found

    @property
    def gaps_ns(self) -> Ints:
        """The gaps between the events of each request, pooled."""
        same = self.event_row[1:] == self.event_row[:-1]
        gaps: Ints = np.diff(self.event_ns)[same]
        return gaps

    def answered(self, *outcomes: str) -> Bools:
        """Requests that ended with one of these outcomes, bool[r]; broken connections never count."""
        return np.isin(self.outcome, outcomes) & ~self.broken

    def only(self, kinds: int) -> "Recording":
        """The same without the events that carry nothing of these kinds."""
        keep = (self.event_kind & kinds) > 0
        if keep.all():
            return self
        kept = np.concatenate([[0], np.cumsum(keep)])
        return replace(
            self,
            starts=kept[self.starts],
            event_ns=self.event_ns[keep],
            event_kind=self.event_kind[keep],
            event_tokens=self.event_tokens[keep],
        )

    def take(self, which: Bools) -> "Recording":
        """These requests alone."""
        events = np.repeat(which, self.event_counts)
        per_row = {
            name: getattr(self, name)[which]
            for name in (
                *("outcome", "broken", "streaming", "begun_ns", "sent_ns", "end_ns"),
                *("completion_tokens", "asked_tokens", "other_events"),
            )
        }
        return replace(
            self,
            **per_row,
            starts=np.concatenate([[0], np.cumsum(self.event_counts[which])]),
            event_ns=self.event_ns[events],
            event_kind=self.event_kind[events],
            event_tokens=self.event_tokens[events],
        )

    def _at(self, places: Ints) -> Ints:
        found = np.full(len(self), MISSING, np.int64)
        some = self.event_counts > 0
        found[some] = self.event_ns[places[some]]
        return found


def recording_of(
    rows: pa.Table, counts: TokenCounts, plan: pa.Table, origins: Mapping[int, int]
) -> Recording:
    """The measured requests of `rows` that were sent or should have been; `counts` belongs to the same rows.

    Warm-up requests are left out. Segments that were measured one after the other lie end to end, so that the
    time between them is nobody's.
    """
    frame = Frame(rows)
    sent, end = frame.ints("sent_ns"), frame.ints("end_ns")
    due = frame.ints("intended_ns")
    start = np.where(sent == MISSING, due, sent)
    opened = start - _known(frame, "connect_ns") - _known(frame, "tls_ns")
    mine = frame.measured
    offset = _end_to_end(frame, opened, end, mine, origins)
    order = np.flatnonzero(mine)
    order = order[np.argsort((start + offset)[order], kind="stable")]

    events_of = [np.arange(frame.starts[row], frame.starts[row + 1]) for row in order]
    events = np.concatenate(events_of) if events_of else np.empty(0, np.int64)
    error = [str(text or "") for text in rows["error"].to_pylist()]
    outcome = np.array([str(one) for one in rows["outcome"].to_pylist()], dtype=np.str_)
    broken = (outcome == "truncated") & np.array([_ENDED_IN_ORDER not in text for text in error], np.bool_)
    usage = frame.ints("completion_tokens")
    return Recording(
        outcome=outcome[order],
        broken=broken[order],
        streaming=frame.streaming[order],
        begun_ns=(opened + offset)[order],
        sent_ns=(start + offset)[order],
        end_ns=(end + offset)[order],
        completion_tokens=usage[order],
        asked_tokens=_asked(frame, plan)[order],
        other_events=np.maximum(frame.ints("events") - frame.event_counts, 0)[order],
        starts=np.concatenate([[0], np.cumsum(frame.event_counts[order])]).astype(np.int64),
        event_ns=(frame.event_ns + frame.spread(offset))[events],
        event_kind=frame.flat("event_kind").astype(np.uint8)[events],
        event_tokens=counts.per_event.astype(np.int64)[events],
    )


def _known(frame: Frame, column: str) -> Ints:
    values = frame.ints(column)
    return np.where(values == MISSING, 0, values)


def _end_to_end(frame: Frame, opened: Ints, end: Ints, mine: Bools, origins: Mapping[int, int]) -> Ints:
    """What to add to each row's instants, int64[r]; the first request of the first segment begins at 0."""
    segments = frame.ints("segment")
    offset = np.zeros(frame.rows, np.int64)
    at = 0
    present = [int(segment) for segment in np.unique(segments[mine])]
    for segment in sorted(present, key=lambda one: origins.get(one, 0)):
        rows = segments == segment
        begun = int(opened[rows & mine].min())
        offset[rows] = at - begun
        at += int(end[rows & mine].max()) - begun
    return offset


def _asked(frame: Frame, plan: pa.Table) -> Ints:
    """Answer tokens that each row was asked for, MISSING where the plan says nothing."""
    found = np.full(frame.rows, MISSING, np.int64)
    planned = np.asarray(plan["request_index"]).astype(np.int64)
    if not len(planned):
        return found
    asked: Any = plan["output_tokens_asked"]
    values = np.asarray(pc.fill_null(asked, MISSING)).astype(np.int64)
    index = frame.ints("request_index")
    place = np.minimum(np.searchsorted(planned, index), len(planned) - 1)
    return np.where(planned[place] == index, values[place], MISSING)

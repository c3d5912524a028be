"""How many tokens each event carries, from the best source there is, and how far the sources disagree.

Sources, best first: what the server says of each event (token ids, or usage in each chunk); a local
tokenizer; the usage total, spread over the events; and the events themselves. A chunk is never silently taken
for a token: the last two say `approximate` unless the usage total equals the number of events.
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from paceline.stats.frame import MISSING, REASONING, Bools, Frame, Ints

if TYPE_CHECKING:
    import pyarrow as pa


class TokenSource(IntEnum):
    """Where a row's token counts come from, best first."""

    SERVER_EVENTS = 0
    LOCAL_TOKENIZER = 1
    USAGE = 2
    CHUNKS = 3

    @property
    def label(self) -> str:
        """As reports spell it."""
        return ("server events", "local tokenizer", "server usage", "chunks")[self]


@dataclass(frozen=True)
class TokenCounts:
    """Tokens of a table of r rows with e events in all.

    `per_event`: int32[e], in the order of the rows and their events.
    `streamed`: int64[r], the sum over each row's events: what tpot divides by.
    `usage`: int64[r], what the server's usage says was streamed (hidden reasoning taken off); -1 where it
    says nothing.
    `hidden`: int64[r], reasoning tokens that usage counts and no event carried.
    `source`: int8[r], TokenSource. `approximate`: bool[r]. `mismatch`: bool[r], usage and events disagree.
    """

    per_event: npt.NDArray[np.int32]
    streamed: Ints
    usage: Ints
    hidden: Ints
    source: npt.NDArray[np.int8]
    approximate: Bools
    mismatch: Bools


@dataclass(frozen=True)
class TokenTotals:
    """Tokens of the rows of phase `measure` that ended well (`ok` or `hung_up`), as the report shows them.

    Server figures are None where no row has one. `counted` is the sum over events by the chosen sources;
    `source` is the one most rows use; `mismatch_share` is the sum over rows of |counted - usage| over the sum
    of usage.
    """

    prompt: int | None
    completion: int | None
    reasoning: int | None
    cached: int | None
    counted: int
    hidden: int
    source: str
    approximate: bool
    mismatched_requests: int
    mismatch_share: float | None


def count_tokens(rows: "pa.Table", local_tokens: npt.ArrayLike | None = None) -> TokenCounts:
    """Count the tokens of every row's events.

    `local_tokens`: int[e], a local tokenizer's count for each event in the order of the rows and their
    events, -1 where it has none. Raises ValueError when its length is not e.
    """
    return count_frame_tokens(Frame(rows), local_tokens)


def count_frame_tokens(frame: Frame, local_tokens: npt.ArrayLike | None = None) -> TokenCounts:
    """As `count_tokens`, for a frame."""
    events = frame.event_counts
    server = frame.flat("event_tokens").astype(np.int32, copy=False)
    local = np.broadcast_to(np.int32(-1), len(server)) if local_tokens is None else np.asarray(local_tokens)
    if len(local) != len(server):
        raise ValueError(f"local_tokens has {len(local)} counts for {len(server)} events")
    usage, hidden = _streamed_by_usage(frame)

    by_server = _all_known(frame, server)
    by_local = ~by_server & _all_known(frame, local)
    by_usage = ~by_server & ~by_local & (usage >= events) & (events > 0) & ~frame.embedding
    source = np.select(
        [by_server, by_local, by_usage],
        [TokenSource.SERVER_EVENTS, TokenSource.LOCAL_TOKENIZER, TokenSource.USAGE],
        TokenSource.CHUNKS,
    ).astype(np.int8)

    # An embedding is no token.
    per_event = np.where(frame.spread(frame.embedding), 0, 1).astype(np.int32)
    for chosen, counts in ((by_server, server), (by_local, local)):
        if chosen.any():
            np.copyto(per_event, counts, where=frame.spread(chosen), casting="same_kind")
    spread = by_usage & (usage > events)
    if spread.any():
        per_event += _spread(frame, np.where(spread, usage - events, 0))

    streamed = frame.sum_by_row(per_event)
    return TokenCounts(
        per_event=per_event,
        streamed=streamed,
        usage=usage,
        hidden=hidden,
        source=source,
        # One event that carries the whole answer carries the whole usage: nothing is spread.
        approximate=(spread & (events > 1))
        | ((source == TokenSource.CHUNKS) & (events > 0) & ~frame.embedding),
        mismatch=(usage >= 0) & (usage != streamed) & (events > 0) & ~frame.embedding,
    )


def token_totals(rows: "pa.Table", counts: TokenCounts) -> TokenTotals:
    """Totals over the rows of phase `measure` that ended well; `counts` belongs to the same rows."""
    frame = Frame(rows)
    ok = frame.well

    def total(column: str) -> int | None:
        known = frame.ints(column)[ok]
        known = known[known != MISSING]
        return int(known.sum()) if len(known) else None

    compared = ok & (counts.usage >= 0)
    usage = int(counts.usage[compared].sum())
    apart = int(np.abs(counts.streamed - counts.usage)[compared].sum())
    # An answer in one piece has no events of its own: what the server said of it is its usage.
    whole = ~frame.streaming & (counts.source == TokenSource.SERVER_EVENTS)
    used = np.bincount(np.where(whole, TokenSource.USAGE, counts.source)[ok], minlength=len(TokenSource))
    return TokenTotals(
        prompt=total("prompt_tokens"),
        completion=total("completion_tokens"),
        reasoning=total("reasoning_tokens"),
        cached=total("cached_tokens"),
        counted=int(counts.streamed[ok].sum()),
        hidden=int(counts.hidden[ok].sum()),
        source=TokenSource(int(used.argmax())).label if ok.any() else TokenSource.CHUNKS.label,
        approximate=bool(counts.approximate[ok].any()),
        mismatched_requests=int((counts.mismatch & ok).sum()),
        mismatch_share=apart / usage if usage else None,
    )


def _streamed_by_usage(frame: Frame) -> tuple[Ints, Ints]:
    """What usage says was streamed (-1: nothing said), and the hidden reasoning tokens, int64[r] each.

    Reasoning is hidden when usage counts it and no event carries any. Some servers leave reasoning out of
    `completion_tokens`: then taking it off would leave fewer tokens than events, and it is not taken off.
    """
    completion = frame.ints("completion_tokens")
    reasoning = np.maximum(frame.ints("reasoning_tokens"), 0)
    shown = frame.sum_by_row(frame.flat("event_kind") & REASONING > 0) > 0
    # After a hang-up no final usage comes, only what the server had said at the start.
    said = (completion >= 0) & ~frame.equals("outcome", "hung_up")
    inside = completion - reasoning >= frame.event_counts
    hidden = np.where(said & ~shown, reasoning, 0)
    usage = np.where(said, completion - np.where(inside, hidden, 0), -1)
    return usage, hidden


def _all_known(frame: Frame, counts: npt.NDArray[np.integer]) -> Bools:
    """Rows that have events, each with a count, and at least one token in all."""
    unknown = frame.sum_by_row(counts < 0)
    total = frame.sum_by_row(counts > 0)
    known: Bools = (frame.event_counts > 0) & (unknown == 0) & (total > 0)
    return known


def _spread(frame: Frame, extra: Ints) -> npt.NDArray[np.int32]:
    """`extra` tokens (int64[r]) of each row over its events by their bytes, int32[e], summing exactly.

    Rounds the running total, so that no row gains or loses a token.
    """
    weight = frame.flat("event_bytes") + 1e-9
    share = np.cumsum(weight)
    ends = np.concatenate([[0.0], share])[frame.starts]
    del weight
    share -= frame.spread(ends[:-1])
    share /= frame.spread(np.maximum(np.diff(ends), 1e-12))
    np.clip(share, 0.0, 1.0, out=share)
    share *= frame.spread(extra)
    filled = np.rint(share, out=share).astype(np.int32)
    spread = filled.copy()
    spread[1:] -= np.where(frame.is_first[1:], 0, filled[:-1])
    return spread

"""Whether what came is what was asked for: the lengths of answers, and the share of prompts from a cache."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from paceline.stats.frame import MISSING, Bools, Frame, Ints


@dataclass(frozen=True)
class AskedLengths:
    """`n`: answers of known length. `exact_share`: those as long as asked. `asked`, `came`: mean tokens."""

    n: int
    exact_share: float
    asked: float
    came: float


@dataclass(frozen=True)
class AskedCache:
    """The share of each first prompt that was to be common to all jobs, and that came from the cache."""

    asked: float
    seen: float | None


def asked_lengths(rows: pa.Table, plan: pa.Table) -> AskedLengths | None:
    """Of measured `ok` requests, by the server's usage; None where nothing was asked or nothing is known."""
    frame = Frame(rows)
    came, asked = frame.ints("completion_tokens"), asked_tokens(frame, plan)
    known = frame.ok & (came != MISSING) & (asked != MISSING)
    if not known.any():
        return None
    return AskedLengths(
        n=int(known.sum()),
        exact_share=float((came == asked)[known].mean()),
        asked=float(asked[known].mean()),
        came=float(came[known].mean()),
    )


def asked_tokens(frame: Frame, plan: pa.Table) -> Ints:
    """The most tokens that each row's answer was allowed, int64[r]; MISSING where none or unknown."""
    planned, asked = Frame(plan).ints("request_index"), Frame(plan).ints("output_tokens_asked")
    found = np.full(frame.rows, MISSING, np.int64)
    if len(planned):
        order = np.argsort(planned, kind="stable")
        index = frame.ints("request_index")
        place = order[np.minimum(np.searchsorted(planned[order], index), len(planned) - 1)]
        found = np.where(planned[place] == index, asked[place], MISSING)
    return found


def cached_first(rows: pa.Table) -> float | None:
    """Cached over prompt tokens of measured requests that ended well and begin a job; None where not said."""
    frame = Frame(rows)
    prompt, cached = frame.ints("prompt_tokens"), frame.ints("cached_tokens")
    if not (cached != MISSING).any():
        return None
    known = frame.well & begins_a_job(frame) & (prompt > 0)
    total = int(prompt[known].sum())
    return float(np.maximum(cached, 0)[known].sum() / total) if total else None


def begins_a_job(frame: Frame) -> Bools:
    """Rows that are the first call of their job, or a job by themselves, bool[r]."""
    step = frame.ints("step")
    first: Bools = (frame.session == MISSING) | (step == MISSING) | (step == 0)
    return first

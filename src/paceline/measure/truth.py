"""Rows against the reference engine's truth log: the instrument's error.

An error is what was measured less what the engine did by its own clock, so a positive one means that the
instrument saw the event too late. Loopback and system calls are part of it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class TruthErrors:
    """Signed errors in us: a request each for `ttft_us` and `e2e_us`, a gap between tokens for `itl_us`.

    `unmatched`: rows without a truth, or with another number of events.
    """

    ttft_us: Floats
    itl_us: Floats
    e2e_us: Floats
    requests: int
    unmatched: int


def truth_errors(rows: pa.Table, truth: Sequence[Mapping[str, Any]]) -> TruthErrors:
    """Join measured `ok` rows to their truth by `response_id`, and subtract."""
    by_id = {request["id"]: request for request in truth}
    ttft, e2e = [], []
    gaps: list[Floats] = []
    requests = unmatched = 0
    columns = rows.select(["response_id", "phase", "outcome", "sent_ns", "event_ns"]).to_pydict()
    for response_id, phase, outcome, sent_ns, events in zip(*columns.values(), strict=True):
        if phase != "measure" or outcome != "ok":
            continue
        true = by_id.get(response_id)
        sent = [event[0] for event in true["events"] if event[1] > 0] if true else []
        if true is None or len(sent) != len(events) or not events:
            unmatched += 1
            continue
        requests += 1
        true_ns = np.array(sent, dtype=np.int64)
        seen_ns = np.array(events, dtype=np.int64)
        received_ns = int(true["received_ns"])
        ttft.append(((seen_ns[0] - sent_ns) - (true_ns[0] - received_ns)) / 1e3)
        e2e.append(((seen_ns[-1] - sent_ns) - (true_ns[-1] - received_ns)) / 1e3)
        gaps.append((np.diff(seen_ns) - np.diff(true_ns)) / 1e3)
    return TruthErrors(
        ttft_us=np.array(ttft, dtype=np.float64),
        itl_us=np.concatenate(gaps) if gaps else np.zeros(0),
        e2e_us=np.array(e2e, dtype=np.float64),
        requests=requests,
        unmatched=unmatched,
    )


def error_summary(errors_us: Floats) -> dict[str, float] | None:
    """Percentiles of the signed errors, and of their size; None without errors."""
    if len(errors_us) == 0:
        return None
    size = np.abs(errors_us)
    return {
        "n": len(errors_us),
        "p1": _round(np.quantile(errors_us, 0.01)),
        "p50": _round(np.quantile(errors_us, 0.50)),
        "p99": _round(np.quantile(errors_us, 0.99)),
        "abs_p50": _round(np.quantile(size, 0.50)),
        "abs_p99": _round(np.quantile(size, 0.99)),
        "abs_max": _round(size.max()),
    }


def _round(value: np.floating[Any]) -> float:
    return round(float(value), 1)

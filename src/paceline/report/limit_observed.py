"""From the report of a run to what a limit is held against."""

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from paceline.roofline.reached import Drafts, Observed
from paceline.stats.frame import MISSING, Frame, Ints

if TYPE_CHECKING:
    from collections.abc import Iterable

    from paceline.report.model import Report


def observed(report: "Report") -> Observed | str:
    """The run as far as a limit needs it; or why it cannot be held against one."""
    if "output_tok_s" not in report.metrics:
        return "it has no decode rate: no answer of more than one token was streamed to its end"
    if report.evidence.tokens.source == "chunks":
        return "nobody counted its tokens, and a chunk may hold several"
    evidence = report.evidence
    frame = Frame(evidence.rows)
    counts = evidence.counts
    events = np.flatnonzero(frame.spread(frame.ok & frame.streaming) & ~frame.is_first)
    streamed = counts.streamed[frame.ok] + counts.hidden[frame.ok]
    return Observed(
        run_id=report.manifest.id,
        streams=_streams(report),
        prompt_tokens=_mean(frame.ints("prompt_tokens")[frame.ok]),
        cached_tokens=_mean(frame.ints("cached_tokens")[frame.ok]),
        output_tokens=float(streamed.mean()),
        decode_tok_s=report.metrics["output_tok_s"].quantile("p50"),
        ttft_ms=report.metrics["ttft_ms"].quantile("p50") if "ttft_ms" in report.metrics else None,
        gaps_ms=(frame.event_ns[events] - frame.event_ns[events - 1]) / 1e6,
        gap_tokens=counts.per_event[events],
        drafts=drafts_of(_timings(report)),
    )


def drafts_of(timings: "Iterable[str | None]") -> Drafts | None:
    """What llama-server says of its speculation with each answer; None where it says nothing.

    Its `timings` are JSON: `predicted_n` tokens generated; where it speculates `draft_n` tokens were drafted
    and `draft_n_accepted` of them accepted. The first token of an answer comes of its prompt, and counts for
    no step of decoding.
    """
    generated = drafted = accepted = 0
    for text in timings:
        told = _object(text)
        counts = [told.get(name, 0) for name in ("predicted_n", "draft_n", "draft_n_accepted")]
        if not all(isinstance(one, int) and one >= 0 for one in counts) or not counts[0]:
            continue
        generated, drafted, accepted = generated + counts[0] - 1, drafted + counts[1], accepted + counts[2]
    return Drafts(generated, drafted, accepted) if accepted < generated else None


def _object(text: str | None) -> dict[str, Any]:
    try:
        told = json.loads(text) if text else {}
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}


def _timings(report: "Report") -> "Iterable[str | None]":
    rows = report.evidence.rows
    if "server_timings" not in rows.column_names:
        return []
    kept: list[str | None] = rows.filter(Frame(rows).ok)["server_timings"].to_pylist()
    return kept


def _streams(report: "Report") -> int:
    """That were decoding at once on average (Little's law), as a whole number, rounded down.

    Down, since fewer streams have the higher limit each: a run is never said to be nearer than it is.
    """
    seconds = report.evidence.throughput.whole_seconds
    samples = report.evidence.samples
    decoding_ms = float(samples["e2e_ms"].values.sum() - samples["ttft_ms"].values.sum())
    return max(int(decoding_ms / 1e3 / seconds), 1) if seconds > 0.0 else 1


def _mean(values: Ints) -> float | None:
    known = values[values != MISSING]
    return float(np.mean(known)) if len(known) else None

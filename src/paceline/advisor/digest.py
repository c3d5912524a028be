"""What a board needs of one run, small enough that thousands can be read at once.

A digest has the run's own figures over all its requests, and a sample of its requests, from which figures of
several runs together are made. Making one reads the whole run (`advisor.digesting`), so that digests are kept
(`advisor.digests`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

VERSION = 3
"""Digests of another version are made anew."""

METRIC_COLUMNS = ("ttft_ms", "ttfat_ms", "e2e_ms", "output_tok_s", "longest_stall_ms", "fluidity")
TOKEN_COLUMNS = (
    "prompt_tokens",
    "cached_tokens",
    "cache_write_tokens",
    "completion_tokens",
    "reasoning_tokens",
)
COLUMNS = ("at_s", "job", "outcome", "elapsed_ms", *TOKEN_COLUMNS, *METRIC_COLUMNS)
"""Of the sample, float64[n] each, in order of `at_s` (unix time of sending); nan where there is none.

job: equal for the calls of one job. outcome: WELL, CUT before its end (timeout, cancelled) or FAILED.
elapsed_ms: sent to end, whatever the end. prompt_tokens include cached and written ones, completion_tokens
reasoning; both by the server's usage, else completion as counted. Metrics are those of
docs/concepts/metrics.md, counted from the instant of sending (in an open loop: from the one that was due).
"""
WELL, CUT, FAILED = 0.0, 1.0, 2.0


# What figures are reckoned from, and names are made of.
_KINDS: dict[str, type] = {
    **dict.fromkeys(
        ("run_id", "state", "verdict", "endpoint", "model", "workload", "workload_key", "load"), str
    ),
    **dict.fromkeys(("extra", "by_outcome"), dict),
    **dict.fromkeys(("attempted", "ok"), int),
}


@dataclass(frozen=True)
class Digest:
    """One run.

    stamp: of the manifest that it was made from, ns. seconds: how long it sent. verdict, reasons: of trust.
    provider, tier: as the run itself says, else None. live_offer: the id of the gateway's offer whose traffic
    it is, else None. extra: further fields of its bodies. attempted, ok: of all measured requests. jobs,
    jobs_ok: None where each request is a job. requests_s, output_tok_s, jobs_s: over the steady window.
    streaming: whether answers were streamed, so that there is a TTFT. approximate: token counts are.
    capability: `paceline.capability/1` where the run is a capability probe that was scored. sample: COLUMNS.
    jobs_per_day: as the workload says. Money is none of a digest's: prices are known when it is read.
    """

    run_id: str
    stamp: int
    name: str | None
    started_at: datetime
    seconds: float
    state: str
    verdict: str
    reasons: tuple[str, ...]
    endpoint: str
    model: str
    protocol: str
    streaming: bool
    provider: str | None
    tier: str | None
    live_offer: str | None
    extra: Mapping[str, Any]
    workload: str
    workload_key: str
    load: str
    attempted: int
    ok: int
    by_outcome: Mapping[str, int]
    jobs: int | None
    jobs_ok: int | None
    requests_s: float | None
    output_tok_s: float | None
    jobs_s: float | None
    approximate: bool
    capability: Mapping[str, Any] | None
    sample: Mapping[str, Floats]
    jobs_per_day: float | None = None

    def head(self) -> dict[str, Any]:
        """All but the sample, as JSON."""
        found = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "sample"}
        return {**found, "started_at": self.started_at.isoformat(), "version": VERSION}

    @classmethod
    def of(cls, head: Mapping[str, Any], sample: Mapping[str, Floats]) -> "Digest":
        """From what `head` gave. Raises KeyError, TypeError or ValueError for another document."""
        given = {name: head[name] for name in (one.name for one in fields(cls)) if name != "sample"}
        for name, kind in _KINDS.items():
            if not isinstance(given[name], kind):
                raise TypeError(f"{name} is no {kind.__name__}")
        if not isinstance(given["capability"], dict | None):
            raise TypeError("capability is no object")
        if not 0 <= given["ok"] <= given["attempted"]:
            raise ValueError("more ended well than were attempted")
        started_at = datetime.fromisoformat(given.pop("started_at"))
        if started_at.tzinfo is None:
            raise ValueError("started_at is of no zone")
        return cls(**given | {"reasons": tuple(given["reasons"])}, started_at=started_at, sample=sample)

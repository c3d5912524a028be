"""What a board needs of one run, small enough that thousands can be read at once.

A digest has the run's own figures over all its requests, and a sample of its requests, from which figures of
several runs together are made. Making one reads the whole run, so that digests are kept (`advisor.digests`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import Any

import numpy as np
import numpy.typing as npt

from paceline.advisor.identity import load_name, workload_key, workload_name
from paceline.report.evidence import Evidence
from paceline.report.model import Report
from paceline.stats.frame import MISSING, Frame, Ints
from paceline.stats.metrics import MetricSamples
from paceline.store.manifest import RunManifest

Floats = npt.NDArray[np.float64]

VERSION = 1
"""Digests of another version are made anew."""

MOST_SAMPLED = 1024
"""Requests that a digest keeps, about: a job stays whole. The median of so many is known to 3 % of ranks."""

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


@dataclass(frozen=True)
class Digest:
    """One run.

    stamp: of the manifest that it was made from, ns. seconds: how long it sent. verdict, reasons: of trust.
    provider, tier: as the run itself says, else None. live_offer: the id of the gateway's offer whose traffic
    it is, else None. extra: further fields of its bodies. attempted, ok: of all measured requests. jobs,
    jobs_ok: None where each request is a job. requests_s, output_tok_s, jobs_s: over the steady window.
    streaming: whether answers were streamed, so that there is a TTFT. approximate: token counts are.
    capability: `paceline.capability/1` where the run is a capability probe that was scored. sample: COLUMNS.
    Money is none of a digest's: prices are known when it is read.
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

    def head(self) -> dict[str, Any]:
        """All but the sample, as JSON."""
        found = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "sample"}
        return {**found, "started_at": self.started_at.isoformat(), "version": VERSION}

    @classmethod
    def of(cls, head: Mapping[str, Any], sample: Mapping[str, Floats]) -> "Digest":
        """From what `head` gave. Raises KeyError, TypeError or ValueError for another document."""
        given = {name: head[name] for name in (one.name for one in fields(cls)) if name != "sample"}
        started_at = datetime.fromisoformat(given.pop("started_at"))
        return cls(**given | {"reasons": tuple(given["reasons"])}, started_at=started_at, sample=sample)


def digest_of(report: Report, *, stamp: int, capability: Mapping[str, Any] | None = None) -> Digest:
    """The digest of a run from its report; `capability`: its scores, where it was a probe of them."""
    evidence, manifest = report.evidence, report.manifest
    live = manifest.workload if manifest.workload.get("kind") == "live" else {}
    said = {**live, **(manifest.offer or {})}
    jobs = evidence.jobs
    several = jobs is not None and jobs.jobs.several_calls
    return Digest(
        run_id=manifest.id,
        stamp=stamp,
        name=manifest.name,
        started_at=manifest.started_at.astimezone(UTC),
        seconds=sum(float(one.get("elapsed_ns") or 0) for one in manifest.segments) / 1e9,
        state=evidence.state,
        verdict=report.trust.verdict,
        reasons=tuple(str(reason) for reason in report.trust.reasons if reason.severity != "note"),
        endpoint=manifest.endpoint,
        model=manifest.model,
        protocol=manifest.protocol,
        streaming=bool(Frame(evidence.rows).streaming.any()),
        provider=said.get("provider"),
        tier=said.get("tier"),
        live_offer=(live.get("live") or {}).get("offer"),
        extra=dict(manifest.workload.get("extra") or {}),
        workload=workload_name(manifest.workload),
        workload_key=workload_key(manifest.workload),
        load=load_name(manifest.load),
        attempted=report.attempted,
        ok=report.well,
        by_outcome=dict(evidence.by_outcome),
        jobs=jobs.attempted if jobs is not None and several else None,
        jobs_ok=int(jobs.jobs.ok.sum()) if jobs is not None and several else None,
        requests_s=evidence.throughput.requests_s,
        output_tok_s=evidence.throughput.output_tok_s,
        jobs_s=jobs.jobs_s if jobs is not None and several else None,
        approximate=evidence.tokens.approximate,
        capability=capability,
        sample=_sample(evidence),
    )


def _sample(evidence: Evidence) -> dict[str, Floats]:
    """Requests of the measured phase, evenly over the run; of jobs, whole ones."""
    frame = Frame(evidence.rows)
    columns = _columns(evidence, frame)
    order = np.argsort(columns["at_s"], kind="stable")
    order = order[frame.measured[order]]
    if len(order) > MOST_SAMPLED:
        order = _thinned(order, columns["job"], whole_jobs=evidence.row_job is not None)
    return {name: columns[name][order] for name in COLUMNS}


def _thinned(order: Ints, job: Floats, *, whole_jobs: bool) -> Ints:
    """Some of `order`, evenly: MOST_SAMPLED requests, or whole jobs of about so many."""
    if not whole_jobs:
        return order[np.linspace(0, len(order) - 1, MOST_SAMPLED).round().astype(np.int64)]
    known, first, inverse = np.unique(job[order], return_index=True, return_inverse=True)
    begun = np.argsort(first, kind="stable")
    n = max(len(known) * MOST_SAMPLED // len(order), 1)
    kept = np.zeros(len(known), np.bool_)
    kept[begun[np.linspace(0, len(known) - 1, n).round().astype(np.int64)]] = True
    return order[kept[inverse]]


def _columns(evidence: Evidence, frame: Frame) -> dict[str, Floats]:
    manifest, rows = evidence.manifest, frame.rows
    sent_ns = frame.ints("sent_ns")
    begun_ns = np.where(sent_ns == MISSING, frame.ints("intended_ns"), sent_ns)
    found: dict[str, Floats] = {
        "at_s": _unix_s(manifest, frame) + begun_ns / 1e9,
        "job": _jobs(evidence, frame),
        "outcome": np.where(frame.well, WELL, np.where(_cut(frame), CUT, FAILED)),
        "elapsed_ms": (frame.ints("end_ns") - begun_ns) / 1e6,
    }
    for name in TOKEN_COLUMNS:
        counts = frame.ints(name)
        found[name] = np.where(counts == MISSING, np.nan, counts.astype(np.float64))
    counted = (evidence.counts.streamed + evidence.counts.hidden).astype(np.float64)
    found["completion_tokens"] = np.where(
        np.isnan(found["completion_tokens"]), counted, found["completion_tokens"]
    )
    for name in METRIC_COLUMNS:
        asked = name.replace("_ms", "_from_intended_ms")
        headline = asked if evidence.open_loop and asked in evidence.samples else name
        found[name] = _by_row(evidence.samples.get(headline), rows)
    return found


def _by_row(samples: MetricSamples | None, rows: int) -> Floats:
    values = np.full(rows, np.nan)
    if samples is not None:
        values[samples.row] = samples.values
    return values


def _jobs(evidence: Evidence, frame: Frame) -> Floats:
    row_job = evidence.row_job
    return (np.arange(frame.rows) if row_job is None else row_job).astype(np.float64)


def _cut(frame: Frame) -> npt.NDArray[np.bool_]:
    cut: npt.NDArray[np.bool_] = frame.equals("outcome", "timeout") | frame.equals("outcome", "cancelled")
    return cut


def _unix_s(manifest: RunManifest, frame: Frame) -> Floats:
    """Unix time of each row's segment's origin, s, float64[r]; where it is not told, the run's start."""
    started_s = manifest.started_at.timestamp()
    origin = {
        int(one["segment"]): float(one["origin_unix_ns"]) / 1e9
        for one in manifest.segments
        if one.get("origin_unix_ns")
    }
    known, inverse = np.unique(frame.ints("segment"), return_inverse=True)
    return (
        np.array([origin.get(int(one), started_s) for one in known])[inverse] if len(known) else np.empty(0)
    )

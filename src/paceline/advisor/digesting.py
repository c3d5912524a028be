"""From the report of a run to its digest: it needs all that reports do, a board of kept digests does not."""

from collections.abc import Mapping
from datetime import UTC
from typing import Any

import numpy as np
import numpy.typing as npt

from paceline.advisor.digest import COLUMNS, CUT, FAILED, METRIC_COLUMNS, TOKEN_COLUMNS, WELL, Digest, Floats
from paceline.advisor.identity import AskedOffer, load_name, workload_key, workload_name
from paceline.advisor.thinning import evenly
from paceline.report.evidence import Evidence
from paceline.report.model import Report
from paceline.stats.frame import MISSING, Frame
from paceline.stats.metrics import MetricSamples
from paceline.store.manifest import RunManifest

MOST_SAMPLED = 1024
"""Requests that a digest keeps, about: a job stays whole. The median of so many is known to 3 % of ranks."""


def digest_of(report: Report, *, stamp: int, capability: Mapping[str, Any] | None = None) -> Digest:
    """The digest of a run from its report; `capability`: its scores, where it was a probe of them."""
    evidence, manifest = report.evidence, report.manifest
    asked = AskedOffer.of(manifest)
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
        endpoint=asked.endpoint,
        model=asked.model,
        protocol=manifest.protocol,
        streaming=bool(Frame(evidence.rows).streaming.any()),
        provider=asked.provider,
        tier=asked.tier,
        live_offer=asked.live_offer,
        extra=asked.extra,
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
        jobs_per_day=manifest.workload.get("jobs_per_day"),
    )


def _sample(evidence: Evidence) -> dict[str, Floats]:
    """Requests of the measured phase, evenly over the run; of jobs, whole ones."""
    frame = Frame(evidence.rows)
    columns = _columns(evidence, frame)
    order = np.argsort(columns["at_s"], kind="stable")
    order = order[frame.measured[order]]
    kept = np.sort(evenly(columns["job"][order], MOST_SAMPLED))
    return {name: columns[name][order[kept]] for name in COLUMNS}


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

"""Read from a stored run what the trust verdict rests on."""

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paceline.report.evidence import Evidence
from paceline.report.imported import imported_from, imported_lacks
from paceline.report.limits import LATE_MS
from paceline.report.rates import lateness_ns, load_rates
from paceline.report.trust_facts import CommonError, Pair, TrustFacts
from paceline.report.words import is_live
from paceline.stats.asked import asked_tokens, cached_first
from paceline.stats.frame import MISSING, Frame
from paceline.stats.jobs import Jobs, JobState
from paceline.stats.metrics import MetricSamples, coalesced_share
from paceline.stats.quantiles import percentile

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ClientFacts:
    """The load generator's own state over all segments; None where it was not recorded."""

    planned: int
    dropped: int
    starved: int
    cpu_fraction: float | None
    runqueue_share: float | None
    stalled_s: float
    stalled_share: float | None
    resent: int
    reads: int
    wait_per_read_ms: float | None
    schedule_lag_ms: Pair | None
    read_lag_ms: Pair | None


def client_facts(segments: list[dict[str, Any]]) -> ClientFacts:
    """Sum up the final progress objects of a run's segments.

    Percentiles of lags cannot be added up: each is the mean over the segments, weighted by their requests.
    """

    def total(name: str) -> int:
        return sum(int(segment.get(name) or 0) for segment in segments)

    thread_ns = sum(
        int(segment.get("elapsed_ns") or 0) * max(int(segment.get("threads") or 1), 1) for segment in segments
    )
    reads = total("reads")
    elapsed_ns = total("elapsed_ns")
    return ClientFacts(
        planned=total("planned"),
        dropped=total("dropped"),
        starved=total("starved"),
        cpu_fraction=total("cpu_ns") / thread_ns if thread_ns else None,
        runqueue_share=total("runqueue_wait_ns") / thread_ns if thread_ns else None,
        stalled_s=total("stalled_ns") / 1e9,
        stalled_share=total("stalled_ns") / elapsed_ns if elapsed_ns else None,
        resent=total("resent"),
        reads=reads,
        wait_per_read_ms=total("runqueue_wait_ns") / reads / 1e6 if reads else None,
        schedule_lag_ms=_weighted(segments, "schedule_lag_ns", "started"),
        read_lag_ms=_weighted(segments, "read_lag_ns", "reads"),
    )


def _weighted(segments: list[dict[str, Any]], name: str, by: str) -> Pair | None:
    known = [segment for segment in segments if segment.get(name) and int(segment.get(by) or 0) > 0]
    if not known:
        return None
    weights = np.array([int(segment[by]) for segment in known], np.float64)

    def mean_ms(quantile: str) -> float:
        return float(np.average([float(s[name][quantile]) for s in known], weights=weights)) / 1e6

    return Pair(mean_ms("p50"), mean_ms("p99"))


def late_share(frame: Frame) -> float | None:
    """Share of the measured requests that were sent more than LATE_MS after they were due."""
    written = frame.measured & (frame.ints("sent_ns") != MISSING)
    if not written.any():
        return None
    return float((lateness_ns(frame)[written] > LATE_MS * 1e6).mean())


def common_errors(rows: pa.Table) -> dict[str, CommonError]:
    """What the measured requests that did not end well said most often, by outcome, if anything."""
    failed = rows.select(["outcome", "error"]).filter(pa.array(Frame(rows).measured & ~Frame(rows).well))
    said: dict[str, Counter[str]] = defaultdict(Counter)
    for outcome, error in zip(failed["outcome"].to_pylist(), failed["error"].to_pylist(), strict=True):
        said[str(outcome)][" ".join(str(error or "").split())] += 1
    common = {outcome: texts.most_common(1)[0] for outcome, texts in said.items()}
    return {
        outcome: CommonError(text, n == said[outcome].total())
        for outcome, (text, n) in common.items()
        if text
    }


def event_spacing_ms(frame: Frame) -> float | None:
    """How far apart the events of the median measured `ok` request lie on average.

    Unlike the gaps it does not depend on which events came together. None without events to tell by.
    """
    many = frame.well & frame.streaming & (frame.event_counts > 1)
    if not many.any():
        return None
    spans = (frame.last_ns - frame.first_ns)[many] / (frame.event_counts - 1)[many]
    return float(np.median(spans)) / 1e6


def stamped_share(frame: Frame) -> float | None:
    """Share of the measured requests that ended well whose every token event has a kernel receive stamp."""
    return float(frame.flags("kernel_stamped")[frame.well].mean()) if frame.well.any() else None


def over_limit_share(frame: Frame, plan: pa.Table) -> float | None:
    """Share of the measured `ok` requests whose usage counts more tokens than were asked for at most.

    One more is let pass: some servers count the end of the answer.
    """
    allowed, used = asked_tokens(frame, plan), frame.ints("completion_tokens")
    known = frame.ok & (allowed != MISSING) & (used != MISSING)
    return float((used > allowed + 1)[known].mean()) if known.any() else None


def trust_facts(evidence: Evidence) -> TrustFacts:
    """Everything that `trust.assess` asks for."""
    manifest, samples, tokens = evidence.manifest, evidence.samples, evidence.tokens
    frame = Frame(evidence.rows)
    live = is_live(manifest.load)
    # A gateway does not watch itself as a load generator does.
    client = client_facts([] if live else manifest.segments)
    jobs = evidence.jobs.jobs if evidence.jobs is not None else None
    arriving = frame if jobs is None else Frame(first_calls(evidence.rows, jobs))
    rates = load_rates(arriving, manifest.segments, manifest.load, complete=evidence.state == "complete")
    open_loop = evidence.open_loop
    calibration = manifest.calibration or {}
    against = _headline(samples, open_loop=open_loop)
    lengths, cache = evidence.asked_lengths, evidence.asked_cache
    return TrustFacts(
        state=evidence.state,
        of_a_pair="interleaved" in manifest.load,
        planned_requests=manifest.load.get("requests"),
        attempted=int(frame.measured.sum()),
        unit=evidence.unit,
        begun=int(arriving.measured.sum()),
        jobs=jobs.count(JobState.OK) + jobs.count(JobState.FAILED) if jobs is not None else 0,
        failed_jobs=jobs.count(JobState.FAILED) if jobs is not None else 0,
        by_outcome=evidence.by_outcome,
        errors=common_errors(evidence.rows),
        open_loop=open_loop,
        capped=manifest.load.get("concurrency_cap") is not None,
        offered_requests_s=rates.offered_requests_s,
        achieved_requests_s=rates.achieved_requests_s,
        due=client.planned,
        dropped=client.dropped,
        starved=client.starved,
        late_share=late_share(frame),
        schedule_lag_ms=client.schedule_lag_ms,
        read_lag_ms=client.read_lag_ms,
        reads=client.reads,
        cpu_fraction=client.cpu_fraction,
        runqueue_share=client.runqueue_share,
        stalled_s=client.stalled_s,
        stalled_share=client.stalled_share,
        resent=client.resent,
        reused=bool(frame.flags("connection_reused").any()),
        wait_per_read_ms=client.wait_per_read_ms,
        kernel_stamped_share=stamped_share(frame),
        coalesced_share=coalesced_share(evidence.rows),
        event_spacing_ms=event_spacing_ms(frame),
        compared_with=_compared_words(against, open_loop=open_loop),
        compared_with_ms=_pair(samples[against]),
        ttft_ms=_pair(samples["ttft_ms"]),
        gap_ms=_pair(samples["chunk_gap_ms"]),
        calibrated=manifest.calibration is not None,
        ttft_error_us=_error(calibration.get("instrument_error_us")),
        itl_error_us=_error(calibration.get("itl_error_us")),
        token_mismatch_share=tokens.mismatch_share,
        tokens_approximate=tokens.approximate,
        over_limit_share=over_limit_share(frame, evidence.plan),
        cached_share=cached_first(evidence.rows) or None,
        prompts_unique=prompts_unique(manifest.workload),
        length_off_share=1.0 - lengths.exact_share if lengths else None,
        lengths=(lengths.asked, lengths.came) if lengths else None,
        cache_off=abs(cache.asked - cache.seen) if cache and cache.seen is not None else None,
        cache=(cache.asked, cache.seen) if cache and cache.seen is not None else None,
        p99_needs_n=evidence.summaries[against].p99.needs_n,
        segments=len(manifest.segments),
        live=live,
        imported=imported_from(manifest),
        lacks=imported_lacks(manifest),
        notes=tuple(manifest.notes),
    )


def first_calls(rows: pa.Table, jobs: Jobs) -> pa.Table:
    """Jobs as rows: of each its first call, with `end_ns` of its last one."""
    frame = Frame(rows)
    order = np.lexsort((frame.ints("step"), frame.ints("intended_ns"), jobs.row_job))
    order = order[jobs.row_job[order] >= 0]
    first = order[np.concatenate([[True], np.diff(jobs.row_job[order]) != 0])]
    ends = np.zeros(len(first), np.int64)
    np.maximum.at(ends, jobs.row_job[order], frame.ints("end_ns")[order])
    table = rows.take(pa.array(first))
    place = table.schema.get_field_index("end_ns")
    return table.set_column(place, table.schema.field(place), pa.array(ends, pa.int64()))


def prompts_unique(workload: dict[str, Any]) -> bool:
    """Whether no two jobs of a workload begin alike, by what it says."""
    common = ("shared_prefix_tokens", "cached_share", "data", "trace")
    return bool(workload.get("unique_prefix")) and not any(workload.get(name) for name in common)


def _headline(samples: dict[str, MetricSamples], *, open_loop: bool) -> str:
    """What the client's lateness is held against. Where all callers hang up, no request has an end."""
    names = ("ttft_from_intended_ms", "e2e_from_intended_ms") if open_loop else ("e2e_ms", "ttft_ms")
    return names[0] if len(samples[names[0]].values) or not len(samples[names[1]].values) else names[1]


def _compared_words(against: str, *, open_loop: bool) -> str:
    if open_loop:
        return "the latency from the due instant"
    return "the duration of a request" if against == "e2e_ms" else "the TTFT"


def _pair(samples: MetricSamples) -> Pair | None:
    if not len(samples.values):
        return None
    return Pair(percentile(samples.values, 0.5), percentile(samples.values, 0.99))


def _error(document: dict[str, float] | None) -> Pair | None:
    return None if not document else Pair(float(document["p50"]), float(document["p99"]))

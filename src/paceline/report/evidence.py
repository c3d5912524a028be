"""Everything that a report is made from: a stored run's rows, and what statistics make of them."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paceline.report.hangups import HangUps, hangups_of
from paceline.report.imported import told_rates, told_samples
from paceline.report.job_figures import JobFigures, job_figures, with_rates
from paceline.report.server import ServerFigures, server_figures
from paceline.report.words import is_open_loop
from paceline.stats.asked import AskedCache, AskedLengths, asked_lengths, cached_first
from paceline.stats.frame import Frame, Ints
from paceline.stats.goodput import Goodput, Slo, goodput
from paceline.stats.metrics import HANGUP_WAIT_NS, METRICS, MetricSamples, derive
from paceline.stats.steady import Throughput, steady_windows, throughput
from paceline.stats.summary import Summary, summarise
from paceline.stats.tokens import TokenCounts, TokenTotals, count_tokens, token_totals
from paceline.store.manifest import RunManifest
from paceline.store.runs import StoredRun
from paceline.store.schema import ROW_SCHEMA

READING_TOK_S = 5.0


@dataclass(frozen=True)
class Evidence:
    """`rows`: r rows, warm-up included, in order of `request_index`, without `text`, `event_tokens` and
    `event_bytes`. `plan`: what was asked of them, and perhaps of more. `samples`, `summaries`: by metric.

    `by_outcome`: the measured rows, counted. `goodput`: None without stated limits. `reading_tok_s`: the
    reader's pace. `jobs`: None for a run of plain requests. `hangups`: None where no caller hung up.
    `asked_lengths`, `asked_cache`: None where the workload asks for neither. `server`: None where nothing of
    the server's side was sampled.
    """

    manifest: RunManifest
    state: str
    rows: pa.Table
    plan: pa.Table
    origins: Mapping[int, int]
    counts: TokenCounts
    samples: dict[str, MetricSamples]
    summaries: dict[str, Summary]
    tokens: TokenTotals
    throughput: Throughput
    goodput: Goodput | None
    by_outcome: dict[str, int]
    reading_tok_s: float = READING_TOK_S
    jobs: JobFigures | None = None
    hangups: HangUps | None = None
    asked_lengths: AskedLengths | None = None
    asked_cache: AskedCache | None = None
    server: ServerFigures | None = None

    @property
    def unchecked_slo(self) -> list[str]:
        """Limits that cannot be checked: those on streams, in a run without any."""
        if Frame(self.rows).streaming.any() or not self.rows.num_rows:
            return []
        return [name for name in self.manifest.slo or {} if METRICS[name].applies == "streaming requests"]

    @property
    def unit(self) -> str:
        """What arrives by the load: `jobs` of several calls, or `requests`."""
        return "jobs" if self.manifest.load.get("jobs") else "requests"

    @property
    def row_job(self) -> Ints | None:
        """The job of each row, int64[r]; None where no call depends on another."""
        return self.jobs.jobs.row_job if self.jobs is not None and self.jobs.jobs.several_calls else None

    @property
    def open_loop(self) -> bool:
        """Whether requests arrived by a schedule."""
        return is_open_loop(self.manifest.load)


def gather(
    run: StoredRun, *, local_tokens: npt.ArrayLike | None = None, reading_tok_s: float | None = None
) -> Evidence:
    """Read a stored run and derive everything from it.

    `local_tokens`: int[e], a local tokenizer's count for each event, see `stats.tokens.count_tokens`.
    `reading_tok_s`: the reader's pace for fluidity, in place of the workload's. Raises StoreError when the
    run cannot be read.
    """
    # The answers themselves are most of the bytes, and no figure is made from them.
    rows = run.rows([name for name in ROW_SCHEMA.names if name != "text"])
    manifest = run.manifest
    # Rows may be on the disk before the first progress object that tells their segment's origin.
    origins = dict.fromkeys(np.unique(rows["segment"].to_numpy()).tolist(), 0) | run.origins()
    counts = count_tokens(rows, local_tokens)
    # No more is made from these. In one chunk, the events can be used where they lie.
    rows = rows.drop_columns(["event_tokens", "event_bytes"]).combine_chunks()
    # Decoding took more memory than the rows need.
    pa.default_memory_pool().release_unused()
    workload, open_loop = manifest.workload, is_open_loop(manifest.load)
    pace_tok_s = reading_tok_s or float(workload.get("reading_tok_s") or READING_TOK_S)
    watched_ns = int(manifest.load.get("hangup_wait_ns") or HANGUP_WAIT_NS)
    samples = derive(rows, origins, reading_tok_s=pace_tok_s, counts=counts, hangup_wait_ns=watched_ns)
    samples = told_samples(manifest, samples)
    pace = told_rates(manifest, throughput(rows, origins, counts, open_loop=open_loop))
    plan = run.plan()
    windows = steady_windows(rows, origins, open_loop=open_loop)
    jobs = job_figures(
        manifest,
        rows,
        plan,
        origins,
        counts=counts,
        windows=windows,
        pace=pace,
        ttft=samples["ttft_ms"],
    )
    row_job = jobs.jobs.row_job if jobs is not None and jobs.jobs.several_calls else None
    summaries = {name: _summary(metric, row_job) for name, metric in samples.items()}
    share = workload.get("cached_share")
    return Evidence(
        manifest=manifest,
        state=run.state,
        rows=rows,
        plan=plan,
        origins=origins,
        counts=counts,
        samples=samples,
        summaries=summaries,
        tokens=token_totals(rows, counts),
        throughput=pace,
        goodput=_goodput(manifest, rows, samples, pace),
        by_outcome=_outcomes(rows),
        reading_tok_s=pace_tok_s,
        jobs=jobs,
        hangups=hangups_of(rows, summaries["stop_ms"], watched_ns),
        asked_lengths=asked_lengths(rows, plan) if workload.get("exact_output") else None,
        asked_cache=AskedCache(float(share), cached_first(rows)) if share else None,
        server=server_figures(
            manifest, run.server(), rows, origins, counts=counts, windows=windows, pace=pace
        ),
    )


def over_whole_run(evidence: Evidence) -> Evidence:
    """The same with rates over the whole measured part: for a comparison with a run without a steady part."""
    pace = throughput(
        evidence.rows, evidence.origins, evidence.counts, open_loop=evidence.open_loop, whole_run=True
    )
    pace = told_rates(evidence.manifest, pace)
    met = _goodput(evidence.manifest, evidence.rows, evidence.samples, pace)
    jobs = evidence.jobs
    if jobs is not None:
        windows = steady_windows(
            evidence.rows, evidence.origins, open_loop=evidence.open_loop, whole_run=True
        )
        jobs = with_rates(jobs, evidence.manifest, windows, pace)
    return replace(evidence, throughput=pace, goodput=met, jobs=jobs)


def _goodput(
    manifest: RunManifest, rows: pa.Table, samples: dict[str, MetricSamples], pace: Throughput
) -> Goodput | None:
    if not manifest.slo:
        return None
    slo = Slo({name: float(limit) for name, limit in manifest.slo.items()})
    dropped = sum(int(segment.get("dropped") or 0) for segment in manifest.segments)
    return goodput(rows, samples, slo, pace.credit, pace.seconds, dropped=dropped)


def _summary(metric: MetricSamples, row_job: Ints | None) -> Summary:
    jobs = None if row_job is None else row_job[metric.row]
    return summarise(metric.values, censored=metric.censored, jobs=jobs)


def _outcomes(rows: pa.Table) -> dict[str, int]:
    """Measured requests by outcome: `ok` first, then the most frequent."""
    outcomes = rows["outcome"].filter(pa.array(Frame(rows).measured)).to_pylist()
    counted = Counter(str(outcome) for outcome in outcomes)
    return dict(sorted(counted.items(), key=lambda item: (item[0] != "ok", -item[1], item[0])))

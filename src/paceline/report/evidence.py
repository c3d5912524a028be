"""Everything that a report is made from: a stored run's rows, and what statistics make of them."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paceline.report.words import is_open_loop
from paceline.stats.frame import Frame
from paceline.stats.goodput import Goodput, Slo, goodput
from paceline.stats.metrics import MetricSamples, derive
from paceline.stats.steady import Throughput, throughput
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

    `by_outcome`: the measured rows, counted. `goodput`: None without stated limits.
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

    @property
    def open_loop(self) -> bool:
        """Whether requests arrived by a schedule."""
        return is_open_loop(self.manifest.load)


def gather(
    run: StoredRun, *, local_tokens: npt.ArrayLike | None = None, reading_tok_s: float = READING_TOK_S
) -> Evidence:
    """Read a stored run and derive everything from it.

    `local_tokens`: int[e], a local tokenizer's count for each event, see `stats.tokens.count_tokens`.
    `reading_tok_s`: the reader's pace for fluidity. Raises StoreError when the run cannot be read.
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
    samples = derive(rows, origins, reading_tok_s=reading_tok_s, counts=counts)
    pace = throughput(rows, origins, counts, open_loop=is_open_loop(manifest.load))
    return Evidence(
        manifest=manifest,
        state=run.state,
        rows=rows,
        plan=run.plan(),
        origins=origins,
        counts=counts,
        samples=samples,
        summaries={name: _summary(metric) for name, metric in samples.items()},
        tokens=token_totals(rows, counts),
        throughput=pace,
        goodput=_goodput(manifest, rows, samples, pace),
        by_outcome=_outcomes(rows),
    )


def over_whole_run(evidence: Evidence) -> Evidence:
    """The same with rates over the whole measured part: for a comparison with a run without a steady part."""
    pace = throughput(
        evidence.rows, evidence.origins, evidence.counts, open_loop=evidence.open_loop, whole_run=True
    )
    met = _goodput(evidence.manifest, evidence.rows, evidence.samples, pace)
    return replace(evidence, throughput=pace, goodput=met)


def _goodput(
    manifest: RunManifest, rows: pa.Table, samples: dict[str, MetricSamples], pace: Throughput
) -> Goodput | None:
    if not manifest.slo:
        return None
    slo = Slo({name: float(limit) for name, limit in manifest.slo.items()})
    dropped = sum(int(segment.get("dropped") or 0) for segment in manifest.segments)
    return goodput(rows, samples, slo, pace.credit, pace.seconds, dropped=dropped)


def _summary(metric: MetricSamples) -> Summary:
    return summarise(metric.values, censored=metric.censored)


def _outcomes(rows: pa.Table) -> dict[str, int]:
    """Measured requests by outcome: `ok` first, then the most frequent."""
    outcomes = rows["outcome"].filter(pa.array(Frame(rows).measured)).to_pylist()
    counted = Counter(str(outcome) for outcome in outcomes)
    return dict(sorted(counted.items(), key=lambda item: (item[0] != "ok", -item[1], item[0])))

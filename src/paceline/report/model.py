"""A report: one model of what a run has shown, for every renderer. As JSON it is `paceline.report/1`."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy.typing as npt

from paceline.report.cost import NOT_ASKED, RunCost
from paceline.report.evidence import Evidence, gather
from paceline.report.facts import trust_facts
from paceline.report.figures import clean, json_text, metric_dict, number
from paceline.report.job_figures import turns_dict
from paceline.report.trust import Trust, assess
from paceline.report.words import sentence_list
from paceline.stats.frame import Frame
from paceline.stats.metrics import METRICS, MetricInfo, MetricSamples
from paceline.stats.quantiles import Estimate
from paceline.stats.summary import Summary
from paceline.store.manifest import RunManifest
from paceline.store.runs import StoredRun

SCHEMA = "paceline.report/1"
FROM_INTENDED = "_from_intended_ms"


@dataclass(frozen=True)
class MetricReport:
    """One metric. `approximate`: the token counts behind it are."""

    info: MetricInfo
    summary: Summary
    approximate: bool

    def quantile(self, name: str) -> Estimate:
        """`p50`, `p90`, `p95` or `p99`."""
        estimate: Estimate = getattr(self.summary, name)
        return estimate

    def to_dict(self) -> dict[str, Any]:
        """As in `paceline.report/1`."""
        return metric_dict(self.summary)


@dataclass(frozen=True)
class Report:
    """What a run has shown. `metrics`: those that apply, in the order of `stats.metrics.METRICS`.

    cost: None where no price was looked up.
    """

    trust: Trust
    metrics: dict[str, MetricReport]
    evidence: Evidence
    cost: RunCost | None = None

    @property
    def manifest(self) -> RunManifest:
        """What the run is."""
        return self.evidence.manifest

    @property
    def job_metric(self) -> str | None:
        """What a job's time is; None for a run of plain requests, and where no job ended well."""
        jobs = self.evidence.jobs
        return jobs.headline if jobs is not None and jobs.jobs.ok.any() else None

    def knows(self, name: str) -> bool:
        """Whether the run has samples of a metric, of requests or of jobs."""
        return name in self.metrics or (self.job_metric is not None and name in self._of_job)

    def samples(self, name: str) -> MetricSamples:
        """The samples of a metric of requests or of jobs. Raises KeyError."""
        return self._of_job[name] if name in self._of_job else self.evidence.samples[name]

    def summary(self, name: str) -> Summary:
        """What is said of a metric of requests or of jobs. Raises KeyError."""
        jobs = self.evidence.jobs
        return jobs.summaries[name] if jobs and name in self._of_job else self.metrics[name].summary

    @property
    def _of_job(self) -> dict[str, MetricSamples]:
        return self.evidence.jobs.samples if self.evidence.jobs is not None else {}

    @property
    def attempted(self) -> int:
        """Measured requests of every outcome."""
        return sum(self.evidence.by_outcome.values())

    @property
    def ok(self) -> int:
        """Measured requests of outcome `ok`."""
        return self.evidence.by_outcome.get("ok", 0)

    @property
    def well(self) -> int:
        """Measured requests that ended as they were meant to: `ok`, or hung up as the workload asks."""
        return self.ok + self.evidence.by_outcome.get("hung_up", 0)

    @property
    def generated_tokens(self) -> int:
        """Tokens of all measured requests, of whatever outcome: what throughput counts over its window."""
        return generated_tokens(self.evidence)

    @property
    def failed_tokens(self) -> int:
        """Those of them that came in requests that did not end well."""
        tokens = self.evidence.tokens
        return self.generated_tokens - tokens.counted - tokens.hidden

    @property
    def headline(self) -> list[str]:
        """The metrics to show first: under an open loop the latencies count from the due instant."""
        suffix = "_from_intended_ms" if self.evidence.open_loop else "_ms"
        names = [f"ttft{suffix}", f"ttfat{suffix}", f"e2e{suffix}", "itl_ms", "tpot_ms", "output_tok_s"]
        names += ["longest_stall_ms", "fluidity"]
        return [name for name in names if name in self.metrics and not self._answer_is_first(name)]

    @property
    def shown(self) -> list[str]:
        """All metrics that say something of their own, for tables."""
        return [name for name in self.metrics if not self._answer_is_first(name)]

    def _answer_is_first(self, name: str) -> bool:
        """Without reasoning the first answer token is the first token: one line says both."""
        if not name.startswith("ttfat"):
            return False
        first = self.metrics.get(name.replace("ttfat", "ttft"))
        mine = self.metrics[name].summary
        return first is not None and first.summary.n == mine.n and first.summary.mean == mine.mean

    def to_dict(self) -> dict[str, Any]:
        """`paceline.report/1` (docs/reference/report.md), without NaN and infinity: None instead."""
        evidence = self.evidence
        return {
            "schema": SCHEMA,
            "run": _run(self.manifest, evidence.state),
            "trust": clean(self.trust.to_dict()),
            "outcomes": {"attempted": self.attempted, "ok": self.ok, "by_outcome": evidence.by_outcome},
            "metrics": {name: metric.to_dict() for name, metric in self.metrics.items()},
            "throughput": {
                "output_tok_s": number(evidence.throughput.output_tok_s),
                "requests_s": number(evidence.throughput.requests_s),
                "goodput_requests_s": number(evidence.goodput.requests_s)
                if evidence.goodput and not evidence.unchecked_slo
                else None,
                "goodput_reason": goodput_reason(evidence),
                "prompt_tok_s": number(evidence.throughput.prompt_tok_s),
            },
            "tokens": _tokens(evidence),
            "cost": clean(self.cost.to_dict()) if self.cost else {"known": False, "reason": NOT_ASKED.why},
            **self._of_jobs(),
        }

    def _of_jobs(self) -> dict[str, Any]:
        """What only some runs have: jobs of several calls, hang-ups, the server's side, exact lengths."""
        evidence = self.evidence
        lengths, cache = evidence.asked_lengths, evidence.asked_cache
        found = {
            "jobs": evidence.jobs.to_dict() if evidence.jobs else None,
            "turns": _turns(evidence),
            "hangups": evidence.hangups.to_dict() if evidence.hangups else None,
            "server": evidence.server.to_dict() if evidence.server else None,
            "asked": {
                "output_tokens": asdict(lengths) if lengths else None,
                "cached_share": asdict(cache) if cache else None,
            }
            if lengths or cache
            else None,
        }
        return {name: clean(value) for name, value in found.items() if value is not None}

    def to_json(self) -> str:
        """The document as text, with a line end."""
        return json_text(self.to_dict())


def build_report(
    run: StoredRun, *, local_tokens: npt.ArrayLike | None = None, reading_tok_s: float | None = None
) -> Report:
    """The report of a stored run, whole or cut off.

    `local_tokens`: int[e], a local tokenizer's count for each event, see `stats.tokens.count_tokens`.
    `reading_tok_s`: the reader's pace for fluidity, in place of the workload's. Raises StoreError when the
    run cannot be read.
    """
    evidence = gather(run, local_tokens=local_tokens, reading_tok_s=reading_tok_s)
    metrics = {
        name: MetricReport(METRICS[name], summary, evidence.samples[name].approximate)
        for name, summary in evidence.summaries.items()
        if summary.n and (evidence.open_loop or not name.endswith(FROM_INTENDED))
    }
    return Report(trust=assess(trust_facts(evidence)), metrics=metrics, evidence=evidence)


def _run(manifest: RunManifest, state: str) -> dict[str, Any]:
    """`workload` holds all that was asked: the requests, and under `load` and `slo` how they came."""
    load = {key: value for key, value in manifest.load.items() if key != "connection"}
    asked = {**manifest.workload, "load": load, "slo": manifest.slo, "name": manifest.name, "state": state}
    return {
        "id": manifest.id,
        "started_at": manifest.started_at.isoformat(),
        "endpoint": manifest.endpoint,
        "model": manifest.model,
        "protocol": manifest.protocol,
        "workload": clean(asked),
        "seed": manifest.load.get("seed", manifest.workload.get("seed")),
        "version": manifest.version,
        "host": clean(manifest.host),
    }


def _turns(evidence: Evidence) -> dict[str, Any] | None:
    jobs = evidence.jobs
    return turns_dict(jobs.turns, jobs.calls) if jobs is not None and jobs.turns is not None else None


def _tokens(evidence: Evidence) -> dict[str, Any]:
    tokens = evidence.tokens
    return {
        "prompt": tokens.prompt,
        "completion": generated_tokens(evidence),
        "reasoning": tokens.reasoning,
        "cached": tokens.cached,
        "source": token_source(evidence),
        "mismatch": number(tokens.mismatch_share),
    }


def goodput_reason(evidence: Evidence) -> str | None:
    """Why there is no goodput, where limits were stated."""
    if not evidence.unchecked_slo:
        return None
    return f"{sentence_list(evidence.unchecked_slo)} cannot be checked: no answer was streamed"


def generated_tokens(evidence: Evidence) -> int:
    """Tokens of all measured requests, hidden reasoning included."""
    counts, measured = evidence.counts, Frame(evidence.rows).measured
    return int(counts.streamed[measured].sum() + counts.hidden[measured].sum())


def token_source(evidence: Evidence) -> str:
    """Where `completion` comes from, and whether its division among the events is approximate."""
    return (
        f"{evidence.tokens.source} (approximate)" if tokens_approximate(evidence) else evidence.tokens.source
    )


def tokens_approximate(evidence: Evidence) -> bool:
    """Whether the counts are; without any request that ended well, those of the others."""
    if evidence.by_outcome.get("ok") or evidence.by_outcome.get("hung_up"):
        return evidence.tokens.approximate
    return bool(evidence.counts.approximate[Frame(evidence.rows).measured].any())

"""What a run of jobs has shown: gathered for `Evidence`, and as JSON for `paceline.report/1`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from paceline.report.calls import CallOutcomes, calls_of
from paceline.report.figures import estimate_dict, metric_dict, number
from paceline.report.words import is_open_loop
from paceline.stats.critical_path import Part
from paceline.stats.frame import MISSING, Frame
from paceline.stats.job_rates import JobGoodput, job_credit, job_goodput, jobs_a_second
from paceline.stats.jobs import TOKENS, Jobs, JobState, jobs_of
from paceline.stats.metrics import MetricSamples
from paceline.stats.quantiles import quantile_estimate
from paceline.stats.steady import Throughput, Window
from paceline.stats.summary import Summary, summarise
from paceline.stats.tokens import TokenCounts
from paceline.stats.turns import TtftGroup, Turns, turns_of
from paceline.store.manifest import RunManifest

_MS_PER_HOUR = 3.6e6


@dataclass(frozen=True)
class Day:
    """A day's work by the workload's own figures: `hours` that people and programs wait for these jobs.

    Time in which a person thinks is not waited for. `worth_usd`: of these hours, None where not stated.
    """

    jobs: float
    hours: float
    worth_usd: float | None


@dataclass(frozen=True)
class JobFigures:
    """`samples`, `summaries`: `job_ms`, and under an open loop `job_from_intended_ms`, the headline then.

    `jobs_s`: jobs that ended well, a second. `goodput`: None without limits. `turns`: None where every job
    has one call, `calls` is empty then. `streaming`: whether any call was; else the first token that comes is
    the whole answer. `hung_up`: whether any caller did.
    """

    jobs: Jobs
    samples: dict[str, MetricSamples]
    summaries: dict[str, Summary]
    jobs_s: float | None
    goodput: JobGoodput | None
    turns: Turns | None
    per_day: float | None = None
    usd_an_hour: float | None = None
    calls: tuple[CallOutcomes, ...] = ()
    streaming: bool = True
    hung_up: bool = False

    @property
    def headline(self) -> str:
        """The metric that a job's time is."""
        return "job_from_intended_ms" if "job_from_intended_ms" in self.samples else "job_ms"

    @property
    def attempted(self) -> int:
        """Measured jobs that began."""
        return int(self.jobs.measured.sum())

    def parts_ms(self) -> dict[Part, float] | None:
        """The mean time of each part, over jobs that ended well; they sum to the mean of the headline."""
        if not self.jobs.ok.any():
            return None
        return {part: float(self.jobs.parts_ms[self.jobs.ok, part].mean()) for part in Part}

    def tokens(self) -> dict[str, float | None]:
        """Mean tokens of a job that ended well, by name of `TOKENS`; None where unknown."""
        found: dict[str, float | None] = {}
        for name in TOKENS:
            known = self.jobs.tokens[name][self.jobs.ok]
            known = known[known != MISSING]
            found[name] = float(known.mean()) if len(known) else None
        return found

    def day(self) -> Day | None:
        """What a day of these jobs takes; None where the workload does not say how many there are."""
        parts = self.parts_ms()
        if self.per_day is None or parts is None:
            return None
        waited_ms = sum(parts.values()) - parts[Part.THINKING]
        hours = self.per_day * waited_ms / _MS_PER_HOUR
        worth = None if self.usd_an_hour is None else hours * self.usd_an_hour
        return Day(self.per_day, hours, worth)

    def to_dict(self) -> dict[str, Any]:
        """`jobs` of `paceline.report/1`."""
        jobs, mine, parts, day = self.jobs, self.jobs.ok, self.parts_ms(), self.day()
        whole = sum(parts.values()) if parts else 0.0
        met = self.goodput
        summaries = {
            name: metric_dict(self.summaries[name]) if name in self.summaries else None
            for name in ("job_ms", "job_from_intended_ms")
        }
        return {
            "n": self.attempted,
            **{state.name.lower(): jobs.count(state) for state in JobState},
            **summaries,
            "parts": {
                part.name.lower(): {
                    "mean_ms": number(parts[part]),
                    "share": number(parts[part] / whole) if whole else None,
                }
                for part in Part
            }
            if parts
            else None,
            "calls": {
                "a_job": float(jobs.calls[mine].mean()) if mine.any() else None,
                "on_critical_path": float(jobs.critical_calls[mine].mean()) if mine.any() else None,
                "failed": int(jobs.failed_calls[jobs.measured].sum()),
                "skipped": int(jobs.skipped_calls[jobs.measured].sum()),
            },
            "tokens": self.tokens(),
            "jobs_s": number(self.jobs_s),
            "goodput": {
                "limits": met.limits,
                "attempted": met.attempted,
                "met": met.met,
                "share": number(met.share),
                "jobs_s": number(met.jobs_s),
            }
            if met
            else None,
            "day": {"jobs": day.jobs, "hours": day.hours, "worth_usd": day.worth_usd} if day else None,
        }


def job_figures(
    manifest: RunManifest,
    rows: pa.Table,
    plan: pa.Table,
    origins: Mapping[int, int],
    *,
    counts: TokenCounts,
    windows: list[Window],
    pace: Throughput,
    ttft: MetricSamples,
) -> JobFigures | None:
    """What the run's jobs have shown; None where it is of plain requests.

    `windows`: those of its rates, `pace`. `ttft`: samples of `ttft_ms` of the same rows.
    """
    session = Frame(rows).session
    session = session[session != MISSING]
    if not manifest.workload.get("call") and len(np.unique(session)) == len(session):
        return None
    open_loop = is_open_loop(manifest.load)
    jobs = jobs_of(rows, plan, origins, counts, open_loop=open_loop)
    if jobs is None:
        return None
    samples = {
        name: metric for name, metric in jobs.samples().items() if open_loop or name != "job_from_intended_ms"
    }
    figures = JobFigures(
        jobs=jobs,
        samples=samples,
        summaries={name: summarise(one.values, censored=one.censored) for name, one in samples.items()},
        jobs_s=None,
        goodput=None,
        turns=turns_of(rows, plan, jobs, ttft) if jobs.several_calls else None,
        per_day=_positive(manifest.workload.get("jobs_per_day")),
        usd_an_hour=_positive(manifest.workload.get("worth_usd_per_hour")),
        calls=tuple(calls_of(rows, plan, jobs)) if jobs.several_calls else (),
        streaming=bool(Frame(rows).streaming.any()),
        hung_up=bool(Frame(rows).hung_up.any()),
    )
    return with_rates(figures, manifest, windows, pace)


def with_rates(
    figures: JobFigures, manifest: RunManifest, windows: list[Window], pace: Throughput
) -> JobFigures:
    """The same with rates over these windows, which are those of `pace`.

    Where a job is one request the two are one rate: the part of a request that is inside counts for its job.
    """
    jobs, limits = figures.jobs, manifest.workload.get("job_slo") or {}
    credit = job_credit(jobs, windows)
    if not jobs.several_calls:
        mine = jobs.row_job >= 0
        credit = np.bincount(jobs.row_job[mine], pace.credit[mine], len(jobs)).astype(np.float64)
    dropped = sum(int(segment.get("dropped") or 0) for segment in manifest.segments)
    return replace(
        figures,
        jobs_s=jobs_a_second(credit, windows, jobs.ok),
        goodput=job_goodput(jobs, windows, limits, credit, dropped=dropped) if limits else None,
    )


def turns_dict(turns: Turns, calls: Sequence[CallOutcomes] = ()) -> dict[str, Any]:
    """`turns` of `paceline.report/1`. `calls`: how those of each name ended."""
    ttft = {group.name: group for group in turns.by_call}
    return {
        "by_turn": [{"turn": int(group.name) + 1, **_group(group)} for group in turns.by_turn],
        "by_cached_share": [{"cached": group.name, **_group(group)} for group in turns.by_cached_share],
        "by_call": [
            {"call": one.name, **_group(ttft.get(one.name, _no_ttft(one.name))), **one.to_dict()}
            for one in calls
        ],
    }


def _no_ttft(name: str) -> TtftGroup:
    return TtftGroup(name, 0, quantile_estimate([], 0.5), float("nan"), None, None)


def _group(group: TtftGroup) -> dict[str, Any]:
    return {
        "n": group.n,
        "ttft_ms": {"p50": estimate_dict(group.ttft_ms), "mean": number(group.ttft_mean_ms)},
        "prompt_tokens": number(group.prompt_tokens),
        "cached_share": number(group.cached_share),
    }


def _positive(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and value > 0 else None

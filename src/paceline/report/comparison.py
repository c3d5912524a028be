"""Two reports side by side: what differs, by how much, and with what certainty."""

import json
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from paceline.report.differences import differences, interleaved
from paceline.report.evidence import over_whole_run
from paceline.report.figures import clean
from paceline.report.model import Report
from paceline.report.trust import VerdictName
from paceline.stats.clusters import job_blocks
from paceline.stats.compare import Comparison, Interval, Statistic, compare
from paceline.stats.frame import Frame
from paceline.stats.metrics import JOB_METRICS

SCHEMA = "paceline.comparison/1"
SMALLEST_DIFFERENCE = 0.05
_ORDER: tuple[VerdictName, ...] = ("trusted", "suspect", "invalid")


@dataclass(frozen=True)
class Saving:
    """`hours`: what a day's `jobs` take less with B, under 0 where more; each is worth `usd_an_hour`."""

    jobs: float
    hours: Interval
    usd_an_hour: float | None

    def to_dict(self) -> dict[str, Any]:
        """`saving` of `paceline.comparison/1`."""
        hours, usd = asdict(self.hours), self.usd_an_hour
        worth = None if usd is None else {k: None if v is None else v * usd for k, v in hours.items()}
        return clean({"jobs_a_day": self.jobs, "hours_a_day": hours, "worth_usd_a_day": worth})  # type: ignore[no-any-return]


@dataclass(frozen=True)
class ComparisonReport:
    """B against A. `paired`: measured in turn, in blocks of equal number. `notes`: what is not alike."""

    a: Report
    b: Report
    results: list[Comparison]
    paired: bool
    smallest_difference: float
    notes: tuple[str, ...]

    @property
    def basis(self) -> Report:
        """The side whose headline is compared: A, but a closed loop where only A is an open one."""
        return self.b if self.a.evidence.open_loop and not self.b.evidence.open_loop else self.a

    @property
    def saving(self) -> Saving | None:
        """What a day of jobs takes less with B; None where the workloads do not say how many there are."""
        means = [one for one in self.results if one.metric in JOB_METRICS and one.statistic == "mean"]
        of_a, of_b = self.a.evidence.jobs, self.b.evidence.jobs
        if not means or of_a is None or of_b is None or of_a.per_day is None or of_a.per_day != of_b.per_day:
            return None
        # The difference is b - a, and what is saved a - b.
        more, hours = means[0].difference, of_a.per_day / 3.6e6
        lo, hi = (None if end is None else -end * hours for end in (more.hi, more.lo))
        usd = of_a.usd_an_hour if of_a.usd_an_hour == of_b.usd_an_hour else None
        return Saving(of_a.per_day, Interval(-more.value * hours, lo, hi), usd)

    @property
    def verdict(self) -> VerdictName:
        """The lesser of the two runs' verdicts: a comparison is no better than its worse side."""
        return max((self.a.trust.verdict, self.b.trust.verdict), key=_ORDER.index)

    def to_dict(self) -> dict[str, Any]:
        """`paceline.comparison/1` (docs/reference/report.md)."""
        return {
            "schema": SCHEMA,
            "a": _side(self.a),
            "b": _side(self.b),
            "interleaved": self.paired,
            "smallest_difference": self.smallest_difference,
            "notes": list(self.notes),
            "results": [result.to_dict() for result in self.results],
            "saving": self.saving.to_dict() if self.saving else None,
        }

    def to_json(self) -> str:
        """The document as text, with a line end."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False, ensure_ascii=False) + "\n"


def compare_reports(
    a: Report, b: Report, *, smallest_difference: float = SMALLEST_DIFFERENCE
) -> ComparisonReport:
    """Compare the headline metrics that both have, at p50 and p99.

    Runs that were measured in turn, block by block, are compared pair by pair. `smallest_difference`: the
    share below which a difference is of no interest. Throughput is over the steady parts or, where one run
    has none, over the whole of both. Of an open and a closed loop, latencies count from the sending in both:
    under a closed loop no request is due at an instant.
    """
    if a.evidence.throughput.steady != b.evidence.throughput.steady:
        a, b = (replace(side, evidence=over_whole_run(side.evidence)) for side in (a, b))
    paired = interleaved(a, b)
    made = ComparisonReport(a, b, [], paired, smallest_difference, tuple(differences(a, b)))
    results = []
    for name in common_metrics(made):
        for statistic in _statistics(name):
            results.append(
                compare(
                    a.samples(name),
                    b.samples(name),
                    statistic=statistic,
                    blocks_a=_blocks(a, name, paired=paired),
                    blocks_b=_blocks(b, name, paired=paired),
                    paired=paired,
                    smallest_difference=smallest_difference,
                )
            )
    return replace(made, results=results)


def common_metrics(comparison: ComparisonReport) -> list[str]:
    """What both sides have samples of: a job's time first, then the headline metrics of requests."""
    basis = comparison.basis
    names = [*([basis.job_metric] if basis.job_metric else []), *basis.headline]
    return [name for name in names if comparison.a.knows(name) and comparison.b.knows(name)]


def _statistics(name: str) -> tuple[Statistic, ...]:
    if name == "fluidity":
        return ("mean",)
    if name in JOB_METRICS:
        # The mean is what a day of jobs adds up to; a p99 would take a thousand jobs.
        return ("p50", "mean")
    return ("p50",) if name == "output_tok_s" else ("p50", "p99")


def _blocks(report: Report, name: str, *, paired: bool) -> npt.NDArray[np.int64] | None:
    """The block of each sample: paired, its segment; else its job. None: blocks of time."""
    rows, jobs = report.samples(name).row, report.evidence.jobs
    if name in JOB_METRICS and jobs is not None:
        return jobs.jobs.segment[rows] if paired else None
    if paired:
        blocks: npt.NDArray[np.int64] = Frame(report.evidence.rows).ints("segment")[rows]
        return blocks
    row_job = report.evidence.row_job
    return None if row_job is None else job_blocks(row_job[rows])


def _side(report: Report) -> dict[str, Any]:
    document = report.to_dict()
    return {name: document[name] for name in ("run", "trust", "outcomes", "throughput")}

"""Two reports side by side: what differs, by how much, and with what certainty."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from paceline.report.differences import differences, interleaved
from paceline.report.evidence import over_whole_run
from paceline.report.figures import json_text
from paceline.report.job_sides import JobSides, Saving
from paceline.report.model import Report
from paceline.report.trust import VerdictName
from paceline.stats.clusters import job_blocks
from paceline.stats.compare import Comparison, Statistic, compare
from paceline.stats.frame import Frame
from paceline.stats.metrics import JOB_METRICS

SCHEMA = "paceline.comparison/1"
SMALLEST_DIFFERENCE = 0.05
_ORDER: tuple[VerdictName, ...] = ("trusted", "suspect", "invalid")


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
    def jobs(self) -> JobSides | None:
        """The jobs of both; None where not both are of jobs."""
        return JobSides.of(self.a, self.b)

    @property
    def saving(self) -> Saving | None:
        """What a day of jobs takes less with B; None where that is not asked for, or cannot be said."""
        return self.jobs.saving(self.results) if self.jobs is not None else None

    @property
    def saving_reason(self) -> str | None:
        """Why there is no saving where the workloads ask for one."""
        return self.jobs.why_no_saving() if self.jobs is not None else None

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
            "saving_reason": self.saving_reason,
        }

    def to_json(self) -> str:
        """The document as text, with a line end."""
        return json_text(self.to_dict())


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
    failures = made.jobs.failures(smallest_difference) if made.jobs is not None else None
    results = [] if failures is None else [failures]
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
    keys = ("run", "trust", "outcomes", "throughput", "jobs")
    return {name: document[name] for name in keys if name in document}

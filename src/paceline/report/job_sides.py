"""Two runs of jobs side by side: how their jobs ended, what they took, and what a day of them saves."""

from dataclasses import asdict, dataclass
from typing import Any

from paceline.report.figures import clean
from paceline.report.job_figures import JobFigures
from paceline.report.job_words import job_rows, part_name, whole_percent
from paceline.report.limits import LIMITS
from paceline.report.model import Report
from paceline.report.words import share
from paceline.stats.compare import Comparison, Interval
from paceline.stats.critical_path import Part
from paceline.stats.jobs import JobState
from paceline.stats.metrics import JOB_METRICS
from paceline.stats.shares import compare_failures, share_difference
from paceline.units import format_ms

PARTS_HEAD = ["a job's time, mean", "A", "of it", "B", "of it"]


@dataclass(frozen=True)
class Saving:
    """`hours`: what a day's `jobs` take less with B, under 0 where more; each is worth `usd_an_hour`."""

    jobs: float
    hours: Interval
    usd_an_hour: float | None

    @property
    def shown(self) -> bool:
        """Whether the interval is on one side of 0: else no difference is shown."""
        lo, hi = self.hours.lo, self.hours.hi
        return lo is not None and hi is not None and (lo > 0.0 or hi < 0.0)

    def to_dict(self) -> dict[str, Any]:
        """`saving` of `paceline.comparison/1`."""
        hours, usd = asdict(self.hours), self.usd_an_hour
        worth = None if usd is None else {k: None if v is None else v * usd for k, v in hours.items()}
        return clean({"jobs_a_day": self.jobs, "hours_a_day": hours, "worth_usd_a_day": worth})  # type: ignore[no-any-return]


@dataclass(frozen=True)
class JobSides:
    """The jobs of both runs."""

    a: JobFigures
    b: JobFigures

    @classmethod
    def of(cls, a: Report, b: Report) -> "JobSides | None":
        """None where not both are of jobs."""
        of_a, of_b = a.evidence.jobs, b.evidence.jobs
        return None if of_a is None or of_b is None else cls(of_a, of_b)

    def failures(self, smallest_difference: float) -> Comparison | None:
        """The shares of jobs that failed; None where none did on either side."""
        a, b = _failed(self.a), _failed(self.b)
        if not (a[0] or b[0]) or not (a[1] and b[1]):
            return None
        return compare_failures(a, b, smallest_difference=smallest_difference)

    def saving(self, results: list[Comparison]) -> Saving | None:
        """What a day of jobs takes less with B; None where `why_no_saving` says why, or nobody asked."""
        means = [one for one in results if one.metric in JOB_METRICS and one.statistic == "mean"]
        if not means or not self.asks_for_saving or self.why_no_saving():
            return None
        # The difference is b - a, and what is saved a - b.
        per_day = self.a.per_day or 0.0
        more, hours = means[0].difference, per_day / 3.6e6
        lo, hi = (None if end is None else -end * hours for end in (more.hi, more.lo))
        usd = self.a.usd_an_hour if self.a.usd_an_hour == self.b.usd_an_hour else None
        return Saving(per_day, Interval(-more.value * hours, lo, hi), usd)

    @property
    def asks_for_saving(self) -> bool:
        """Whether the workloads say, with one number, how many jobs a day has."""
        return self.a.per_day is not None and self.a.per_day == self.b.per_day

    def why_no_saving(self) -> str | None:
        """In words, where jobs did not end alike well: a failed job has no time, and failing would save."""
        if not self.asks_for_saving:
            return None
        a, b = _failed(self.a), _failed(self.b)
        apart = share_difference(a, b)
        most = LIMITS["failed_jobs_share"].suspect or 0.0
        shown = apart.lo is not None and apart.hi is not None and (apart.lo > 0.0 or apart.hi < 0.0)
        if not (shown or abs(apart.value) > most):
            return None
        return (
            f"jobs did not end alike well: {share(*a)} of A's failed and {share(*b)} of B's, and a job that "
            "failed has no time"
        )

    def parts_rows(self) -> list[list[str]]:
        """Lines of a table under PARTS_HEAD: the parts of a job's time, and all of it; none without jobs."""
        of_a, of_b = self.a.parts_ms(), self.b.parts_ms()
        if of_a is None or of_b is None:
            return []
        wholes = [sum(of.values()) for of in (of_a, of_b)]
        rows = []
        for part in Part:
            if of_a[part] > 0.0 or of_b[part] > 0.0:
                name = part_name(self.b if self.b.streaming else self.a, part)
                cells = [
                    cell
                    for of, whole in zip((of_a, of_b), wholes, strict=True)
                    for cell in (format_ms(of[part]), whole_percent(of[part] / whole) if whole else "-")
                ]
                rows.append([name, *cells])
        return [*rows, ["all", format_ms(wholes[0]), "", format_ms(wholes[1]), ""]]


def side_rows(report: Report) -> list[tuple[str, str]]:
    """What one side says of its jobs: how they ended, what they have, and their goodput."""
    jobs = report.evidence.jobs
    return [row for row in job_rows(jobs) if row[0] != "A day"] if jobs is not None else []


def _failed(figures: JobFigures) -> tuple[int, int]:
    """Jobs that failed, of those that came to an end."""
    failed = figures.jobs.count(JobState.FAILED)
    return failed, failed + figures.jobs.count(JobState.OK)

"""What an advice weighs of one offer: the bill and the time of its jobs, as means with their spread."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from paceline.advisor.bill import DAYS_PER_MONTH, JobCosts, job_costs
from paceline.advisor.board import BoardRow
from paceline.advisor.identity import OfferKey
from paceline.advisor.job_times import JobTimes, job_times
from paceline.catalogue.price import Price
from paceline.stats.positive_mean import MeanEstimate, apart_estimate, mean_estimate

Floats = npt.NDArray[np.float64]

MS_PER_HOUR = 3_600_000.0


@dataclass(frozen=True)
class Case:
    """One offer of a board."""

    row: BoardRow

    @property
    def key(self) -> OfferKey:
        """Which offer it is."""
        return self.row.key

    @property
    def price(self) -> Price | None:
        """None: unknown."""
        return self.row.price if isinstance(self.row.price, Price) else None

    @cached_property
    def times(self) -> JobTimes:
        """Of the sample's jobs."""
        return job_times(self.row.evidence)

    @cached_property
    def costs(self) -> JobCosts | None:
        """Of the sample's jobs that ended well; None without a price."""
        if self.price is None:
            return None
        return job_costs(self.row.evidence, self.price, self.row.bill.jobs_per_day)

    @cached_property
    def bill(self) -> MeanEstimate | None:
        """USD of a job; None where no price is known, or no tokens are."""
        if self.costs is None or not len(self.costs.usd):
            return None
        return mean_estimate(self.costs.usd, self.costs.run)

    @cached_property
    def time_ms(self) -> MeanEstimate:
        """Of a job: the time in which its calls are under way, without tools and people."""
        known = ~np.isnan(self.times.calls_ms)
        return mean_estimate(self.times.calls_ms[known], self.times.run[known])

    def total(self, worth_usd_per_hour: float) -> MeanEstimate | None:
        """Bill and time of a job, USD, at what an hour is worth; None where there is no bill."""
        if worth_usd_per_hour not in self._totals:
            self._totals[worth_usd_per_hour] = self._total(worth_usd_per_hour)
        return self._totals[worth_usd_per_hour]

    @cached_property
    def _totals(self) -> dict[float, MeanEstimate | None]:
        return {}

    def _total(self, worth_usd_per_hour: float) -> MeanEstimate | None:
        if self.bill is None or not self.time_ms.n:
            return None
        worth = worth_usd_per_hour / MS_PER_HOUR
        times = self.times.calls_ms[self.times.well]
        if self.costs is not None and len(self.costs.usd) == len(times):
            return mean_estimate(self.costs.usd + worth * times, self.costs.run)
        # As if the two rose and fell together: no less than any dependence gives.
        parts = (self.bill, self.time_ms.scaled(worth))
        value = sum(one.value for one in parts)
        spread = sum(one.value * one.spread for one in parts if one.value) / value if value else 0.0
        return MeanEstimate(value, spread, min(one.freedom for one in parts), min(one.n for one in parts))

    def per(self, period: str) -> MeanEstimate | None:
        """The bill per job, day or month; None where it is not known, or not how many jobs there are."""
        bill, jobs = self.bill, self.row.bill.jobs_per_day
        if period == "job" or bill is None:
            return bill
        return None if jobs is None else bill.scaled(jobs * (DAYS_PER_MONTH if period == "month" else 1.0))

    @cached_property
    def block_sums(self) -> Floats:
        """By block, or by run where runs differ by more than chance: jobs with a bill, their USD, jobs with a
        time, their ms; float64[4, b].
        """
        times, costs = self.times, self.costs
        timed = ~np.isnan(times.calls_ms)
        by_run = apart_estimate(times.calls_ms[timed], times.run[timed]) is not None
        if costs is not None:
            by_run = by_run or apart_estimate(costs.usd, costs.run) is not None
        block = times.run if by_run else times.block
        evidence = self.row.evidence
        count = int((evidence.run if by_run else evidence.blocks).max()) + 1 if len(block) else 1
        sums = np.zeros((4, count))
        if costs is not None:
            paid = costs.run if by_run else costs.block
            sums[0] = np.bincount(paid, minlength=count)
            sums[1] = np.bincount(paid, costs.usd, count)
        sums[2] = np.bincount(block[timed], minlength=count)
        sums[3] = np.bincount(block[timed], times.calls_ms[timed], count)
        return sums

    def draws(self, replicates: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Bill in USD and time in ms of a job, of the same drawn blocks, float64[replicates] each.

        nan where not known.
        """
        sums = self.block_sums
        drawn = rng.multinomial(sums.shape[1], np.full(sums.shape[1], 1.0 / sums.shape[1]), replicates)
        billed, usd, timed, ms = (drawn @ row for row in sums)
        with np.errstate(invalid="ignore", divide="ignore"):
            return usd / billed, ms / timed

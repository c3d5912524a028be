"""The bill of one job of a workload at one offer, from the tokens that were measured."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from paceline.advisor.evidence import OfferEvidence
from paceline.advisor.figures import Figure
from paceline.catalogue.price import Price, PriceUnknown
from paceline.stats.dependence import FEWEST
from paceline.stats.frame import Ints
from paceline.stats.means import mean_estimate as drawn_mean
from paceline.stats.positive_mean import apart_estimate, mean_estimate
from paceline.units import format_number, format_percentage

if TYPE_CHECKING:
    from paceline.workloads.spec import WorkloadSpec

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

DAYS_PER_MONTH = 30
_SECONDS_PER_DAY = 86_400.0
_TAIL = 0.025
_TOKENS = {
    "prompt": "prompt_tokens",
    "cached": "cached_tokens",
    "cache_write": "cache_write_tokens",
    "completion": "completion_tokens",
    "reasoning": "reasoning_tokens",
}
_PARTS = ("input", "cache_read", "cache_write", "output", "requests")


@dataclass(frozen=True)
class JobCosts:
    """usd: of each sampled job that ended well, float64[j]; block: what a bootstrap draws it with, int64[j];
    run: the place of its run in the evidence, int64[j].

    Blocks have the numbers of `OfferEvidence.blocks`. A job whose tokens are not known is not among them.
    """

    usd: Floats
    block: Ints
    run: Ints


@dataclass(frozen=True)
class Bill:
    """usd_per_job, and where the workload says how many jobs a day, usd_per_day and usd_per_month (30 days).

    parts: USD of a job for `input`, `cache_read`, `cache_write`, `output` (reasoning is in it), `reasoning`
    (of which), `requests`, or `hardware`. tokens: mean of a job: `prompt` (with both of the cache), `cached`,
    `cache_write`, `completion` (with reasoning), `reasoning`; one that nobody says is not there. basis: whose
    tokens: `measured`, or `asked` (the workload's own lengths, without reasoning). price: PriceUnknown where
    there is none; figures then have no value, and say so. notes: what is in the bill and what is not.
    """

    usd_per_job: Figure
    usd_per_day: Figure | None
    usd_per_month: Figure | None
    parts: Mapping[str, float]
    tokens: Mapping[str, float]
    basis: Literal["measured", "asked"]
    jobs_per_day: float | None
    price: Price | PriceUnknown
    notes: tuple[str, ...] = ()


def bill_of(
    evidence: OfferEvidence,
    price: Price | PriceUnknown,
    workload: "WorkloadSpec | None" = None,
    *,
    jobs_per_day: float | None = None,
) -> Bill:
    """The bill of a mean job, of those that ended well.

    How many jobs a day there are says `jobs_per_day`, else `workload`, else that of the runs. The interval is
    that of the mean over blocks of requests, or of whole jobs.
    """
    jobs = _Jobs.of(evidence)
    notes = [*jobs.notes(), *(["token counts are approximate"] if _approximate(evidence) else [])]
    told = (jobs_per_day, None if workload is None else workload.jobs_per_day, evidence.jobs_per_day)
    a_day = next((one for one in told if one is not None), None)
    if isinstance(price, PriceUnknown):
        figure, parts = _unknown(price), dict[str, float]()
    else:
        figure, parts, more = _measured(jobs, evidence, price, a_day)
        notes += more
    if isinstance(price, Price) and price.kind == "hours":
        notes += _hardware_notes(jobs, evidence, price.usd_per_hour or 0.0, a_day)
    return _bill(figure, parts, jobs.mean_tokens(), "measured", price, notes, jobs_per_day=a_day)


def _measured(
    jobs: "_Jobs", evidence: OfferEvidence, price: Price, jobs_per_day: float | None
) -> tuple[Figure, dict[str, float], list[str]]:
    """USD of a job, its parts, and what there is to say of them."""
    usd, parts = _costs(jobs, evidence, price, jobs_per_day)
    known = jobs.ok & ~np.isnan(usd)
    notes = _notes_of_price(evidence, price)
    ok, left_out = int(jobs.ok.sum()), int(jobs.ok.sum() - known.sum())
    if not known.any():
        why = _why_left_out(price) if ok else "no job ended well"
        return Figure(None, note=f"not known: {why}"), {}, notes
    if left_out:
        notes.append(f"{left_out:,} of {ok:,} jobs are left out: {_why_left_out(price)}")
    means = {name: float(value[known].mean()) for name, value in parts.items()}
    if apart_estimate(usd[known], jobs.run[known]) is not None:
        notes.append(
            "the bill of its runs differs by more than chance: the interval is that of a further run"
        )
    return _mean(usd[known], jobs.run[known], jobs.block[known]), means, notes


def _mean(usd: Floats, run: Ints, block: Ints) -> Figure:
    """The mean of jobs as an advice takes it; of fewer than that asks for, by drawing blocks."""
    if len(usd) < FEWEST:
        drawn = drawn_mean(usd, block)
        return Figure(drawn.value, drawn.lo, drawn.hi, drawn.n, drawn.needs_n and min(drawn.needs_n, FEWEST))
    found = mean_estimate(usd, run)
    hi = found.upper(_TAIL)
    return Figure(found.value, found.lower(_TAIL), hi if math.isfinite(hi) else None, found.n)


def job_costs(evidence: OfferEvidence, price: Price, jobs_per_day: float | None = None) -> JobCosts:
    """What each sampled job that ended well has cost; own hardware as in `bill_of`."""
    jobs = _Jobs.of(evidence)
    usd, _ = _costs(jobs, evidence, price, jobs_per_day)
    known = jobs.ok & ~np.isnan(usd)
    return JobCosts(usd[known], jobs.block[known], jobs.run[known])


def asked_bill(
    workload: "WorkloadSpec", price: Price | PriceUnknown, *, jobs_per_day: float | None = None
) -> Bill:
    """The bill of an offer that was not measured with the workload, from the lengths that it asks for.

    It has no interval: how long answers are, how much is reasoned and what a cache gives is not known. Raises
    ConfigError for a workload whose files cannot be read.
    """
    from paceline.workloads.asked_tokens import asked_tokens

    asked = asked_tokens(workload)
    jobs = int(asked.job[-1]) + 1 if len(asked.job) else 0

    def a_job(values: Floats) -> float:
        return float(values.sum()) / jobs if jobs else math.nan

    tokens = {"prompt": a_job(asked.prompt), "completion": a_job(asked.output)}
    parts = {}
    if isinstance(price, PriceUnknown):
        figure = _unknown(price)
    elif price.kind == "hours":
        figure = Figure(None, note="not known: own hardware is billed by what it does in an hour; measure it")
    else:
        costs = price.usd(asked.prompt, 0.0, 0.0, asked.output)
        total = a_job(costs.total)
        if math.isnan(total):
            figure = Figure(
                None, note="not known: the workload does not say how long its texts are; measure it"
            )
        else:
            figure = Figure(total)
            parts = {name: a_job(getattr(costs, name)) for name in ("input", "output", "requests")}
    return _bill(
        figure,
        parts,
        {name: value for name, value in tokens.items() if not math.isnan(value)},
        "asked",
        price,
        ["tokens as the workload asks for them: no reasoning, nothing from a cache", *asked.notes],
        jobs_per_day=jobs_per_day if jobs_per_day is not None else workload.jobs_per_day,
    )


@dataclass(frozen=True)
class _Jobs:
    """Jobs of the sample, in order. begins: the first request of each, int64[j]. ok: every call ended well.

    run, block: int64[j]; elapsed_s: from the first sending to the last end, float64[j].
    """

    evidence: OfferEvidence
    begins: Ints
    ok: Bools
    run: Ints
    block: Ints
    elapsed_s: Floats

    @classmethod
    def of(cls, evidence: OfferEvidence) -> "_Jobs":
        columns, run = evidence.columns, evidence.run
        job = columns["job"]
        begins = np.flatnonzero(np.r_[True, (np.diff(run) != 0) | (np.diff(job) != 0)]) if len(job) else run
        if not len(begins):
            return cls(evidence, begins, np.empty(0, np.bool_), run, run, np.empty(0))
        ended_s = columns["at_s"] + columns["elapsed_ms"] / 1e3
        elapsed_s = np.maximum.reduceat(ended_s, begins) - np.minimum.reduceat(columns["at_s"], begins)
        ok = np.logical_and.reduceat(evidence.well, begins)
        return cls(evidence, begins, ok, run[begins], evidence.blocks[begins], elapsed_s)

    def sums(self, of_requests: Floats) -> Floats:
        """A column of requests summed over each job, float64[j]."""
        return np.add.reduceat(of_requests, self.begins) if len(self.begins) else np.empty(0)

    def mean_tokens(self) -> dict[str, float]:
        """Mean of a job that ended well, of those jobs where it is said of every call."""
        found = {}
        for name, column in _TOKENS.items():
            sums = self.sums(self.evidence.columns[column])[self.ok]
            if not np.isnan(sums).all():
                found[name] = float(np.nanmean(sums))
        return found

    def notes(self) -> list[str]:
        """What became of the jobs that are in no figure."""
        failed = len(self.ok) - int(self.ok.sum())
        if not failed:
            return []
        share = format_percentage(failed / len(self.ok))
        return [f"{share} of jobs did not end well and are in no figure; they may have cost as well"]


def _costs(
    jobs: _Jobs, evidence: OfferEvidence, price: Price, jobs_per_day: float | None
) -> tuple[Floats, dict[str, Floats]]:
    """USD of each job, and of its parts, float64[j]; nan where it is not known."""
    if price.kind == "hours":
        usd = _of_hardware(jobs, evidence, price.usd_per_hour or 0.0, jobs_per_day)
        return usd, {"hardware": usd}
    columns = [evidence.columns[name] for name in _TOKENS.values()]
    costs = price.usd(*columns)
    parts = {name: jobs.sums(getattr(costs, name)) for name in _PARTS}
    if not np.isnan(costs.reasoning).all():
        parts["reasoning"] = jobs.sums(np.nan_to_num(costs.reasoning))
    return jobs.sums(costs.total), parts


def _of_hardware(
    jobs: _Jobs, evidence: OfferEvidence, usd_per_hour: float, jobs_per_day: float | None
) -> Floats:
    """USD of each job on own hardware; nan for a run of which no throughput is known.

    With jobs a day: what the hardware costs in a day, as often as they take it, over those jobs. It costs
    that when it is idle, too. Without, as if it were always as busy as in the run: what it costs a second,
    over the run's jobs a second. A job then bears the cost of its run in proportion to its time: the mean is
    that of the run's throughput, and jobs differ as their throughput would (Little 1961: as many are in
    flight as come a second, times their time).
    """
    usd = np.full(len(jobs.ok), np.nan)
    for place, digest in enumerate(evidence.digests):
        rate_s = digest.requests_s if digest.jobs is None else digest.jobs_s
        mine = jobs.ok & (jobs.run == place)
        if not rate_s or not mine.any():
            continue
        if jobs_per_day:
            usd[mine] = _sets(jobs_per_day, _SECONDS_PER_DAY * rate_s) * 24.0 * usd_per_hour / jobs_per_day
            continue
        time_s = jobs.elapsed_s[mine]
        share = time_s / time_s.mean() if time_s.mean() > 0.0 else np.ones(len(time_s))
        usd[mine] = usd_per_hour / 3600.0 / rate_s * share
    return usd


def _sets(jobs_per_day: float, capacity_per_day: float) -> int:
    """How many times the hardware so many jobs a day take."""
    return max(math.ceil(jobs_per_day / capacity_per_day), 1)


def _unknown(price: PriceUnknown) -> Figure:
    return Figure(None, note=f"unknown: {price.why}; {price.hint}")


def _bill(  # noqa: PLR0917
    usd_per_job: Figure,
    parts: Mapping[str, float],
    tokens: Mapping[str, float],
    basis: Literal["measured", "asked"],
    price: Price | PriceUnknown,
    notes: Sequence[str],
    *,
    jobs_per_day: float | None,
) -> Bill:
    a_day = None if jobs_per_day is None else _times(usd_per_job, jobs_per_day)
    a_month = None if a_day is None else _times(a_day, DAYS_PER_MONTH)
    return Bill(usd_per_job, a_day, a_month, parts, tokens, basis, jobs_per_day, price, tuple(notes))


def _times(figure: Figure, factor: float) -> Figure:
    value, lo, hi = (None if one is None else one * factor for one in (figure.value, figure.lo, figure.hi))
    return Figure(value, lo, hi, figure.n, figure.needs_n, figure.note)


def _approximate(evidence: OfferEvidence) -> bool:
    return any(one.approximate for one in evidence.digests)


def _why_left_out(price: Price) -> str:
    if price.kind == "hours":
        return "their run was too short to tell how many jobs a second it did"
    return "the server did not say how many tokens they had"


def _notes_of_price(evidence: OfferEvidence, price: Price) -> list[str]:
    read = price.rates.cache_read_usd_per_mtok
    silent = bool(np.isnan(evidence.columns["cached_tokens"][evidence.well]).all())
    if read is not None and silent and evidence.well.any():
        return ["the server does not say what its cache gave: reckoned as nothing"]
    return []


def _hardware_notes(
    jobs: _Jobs, evidence: OfferEvidence, usd_per_hour: float, jobs_per_day: float | None
) -> list[str]:
    """What own hardware costs is known for the load that was measured, and only while it is busy so."""
    busy = _of_hardware(jobs, evidence, usd_per_hour, None)
    busy = busy[~np.isnan(busy)]
    if not len(busy) or not busy.mean():
        return []
    day_usd = 24.0 * usd_per_hour
    can = day_usd / float(busy.mean())
    pace = (
        f"own hardware: busy as at {evidence.load} it does {format_number(can)} jobs a day for "
        f"{day_usd:,.2f} USD"
    )
    another = "another load gives another bill"
    if not jobs_per_day:
        return [f"{pace}, which it costs when it is idle too: say how many you have; {another}"]
    sets = _sets(jobs_per_day, can)
    used = format_percentage(jobs_per_day / (sets * can))
    of_it = "of it" if sets == 1 else f"of {sets:,} times that"
    return [f"{pace}; {format_number(jobs_per_day)} jobs a day take {used} {of_it}, and bear all; {another}"]

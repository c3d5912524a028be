"""How an offer stands to a constraint, by one-sided bounds at given errors."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from paceline.advisor.case import Case
from paceline.advisor.constraints import (
    COLUMN_OF,
    TOO_CLOSE,
    BudgetConstraint,
    CapabilityConstraint,
    Constraint,
    Outcome,
    SloConstraint,
    SuccessConstraint,
    Verdict,
)
from paceline.advisor.digest import CUT
from paceline.advisor.figures import Figure
from paceline.advisor.identity import OfferKey
from paceline.catalogue.price import PriceUnknown
from paceline.stats.clustered_share import ShareEstimate, share_estimate
from paceline.stats.dependence import FEWEST

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
CapabilityOf = Callable[[OfferKey, str | None], Figure]

# Without these a request that ended well had nothing that could be late: one event, or a caller who hung up.
_MAY_LACK = {"output_tok_s", "longest_stall_ms", "fluidity", "e2e_ms"}
# Without these such a request was not streamed.
_OF_STREAMS = {"ttft_ms", "output_tok_s", "longest_stall_ms", "fluidity"}
_Z = 1.959964
_NOT_STREAMED = "answers were not streamed, so that tokens have no times; measure it with --stream"
_HIGHER_IS_BETTER = {"output_tok_s", "fluidity"}


@dataclass(frozen=True)
class Errors:
    """What each verdict may be wrong by: probability of a false `meets`, and of a false `fails`."""

    meets: float
    fails: float


def judge(case: Case, constraint: Constraint, errors: Errors, capability: CapabilityOf) -> Verdict:
    """The verdict on one offer."""
    if isinstance(constraint, SloConstraint):
        return _slo(case, constraint, errors)
    if isinstance(constraint, SuccessConstraint):
        evidence = case.row.evidence
        misses = np.where(evidence.well, 0.0, np.inf)
        jobs = evidence.units if evidence.several_calls else None
        estimate = share_estimate(misses, constraint.share, jobs, evidence.run)
        return _of_share(constraint, constraint.share, estimate, errors, fewest=FEWEST)
    if isinstance(constraint, CapabilityConstraint):
        return _capability(case, constraint, errors, capability)
    return _budget(case, constraint, errors)


def closeness(case: Case, constraint: SloConstraint) -> tuple[Floats, Bools]:
    """How near each request, or job, came to its nearest limit, float64[n], and which of them count, bool[n].

    Value over limit, so that over 1 is a miss; inf for one that failed. Of a percentile those without the
    metric do not count.
    """
    if constraint.of_jobs:
        times = case.times
        nearest = times.span_ms / min(constraint.limits.values())
        return np.where(times.well, nearest, np.inf), np.ones(len(nearest), np.bool_)
    evidence = case.row.evidence
    well = evidence.well
    nearest = np.where(well, 0.0, np.inf)
    counts = np.ones(len(well), np.bool_)
    for name, limit in constraint.limits.items():
        column = COLUMN_OF[name]
        values = evidence.columns[column]
        known = ~np.isnan(values)
        lacking = 0.0 if column in _MAY_LACK else np.inf
        ratio = np.where(known, _over_limit(name, values, limit), lacking)
        nearest = np.maximum(nearest, ratio)
        if constraint.quantile:
            counts &= known | (evidence.columns["outcome"] == CUT)
    return nearest, counts


def _over_limit(name: str, values: Floats, limit: float) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        if name in ("tpot_ms", "itl_ms"):
            found: Floats = 1000.0 / values / limit
        elif COLUMN_OF[name] in _HIGHER_IS_BETTER:
            found = limit / values
        else:
            found = values / limit
    return found


def _slo(case: Case, constraint: SloConstraint, errors: Errors) -> Verdict:
    evidence = case.row.evidence
    unit = "jobs" if constraint.of_jobs else "requests"
    of_streams = not _OF_STREAMS.isdisjoint(COLUMN_OF.get(name, "") for name in constraint.limits)
    if of_streams and not any(one.streaming for one in evidence.digests):
        return Verdict(
            constraint, "not enough data", constraint.share, unit=unit, missing=True, why=_NOT_STREAMED
        )
    nearest, counts = closeness(case, constraint)
    jobs = evidence.units[counts] if evidence.several_calls and not constraint.of_jobs else None
    runs = case.times.run if constraint.of_jobs else evidence.run
    estimate = share_estimate(nearest[counts], constraint.share, jobs, runs[counts])
    return _of_share(constraint, constraint.share, estimate, errors, fewest=FEWEST, unit=unit)


def _capability(
    case: Case, constraint: CapabilityConstraint, errors: Errors, capability: CapabilityOf
) -> Verdict:
    figure = capability(case.key, constraint.benchmark)
    n = _items(figure)
    if figure.value is None or n is None:
        why = figure.note or "its number of items is not known"
        return Verdict(
            constraint, "not enough data", constraint.least, figure.value, unit="items", missing=True, why=why
        )
    estimate = ShareEstimate(figure.value * n, n)
    return _of_share(constraint, constraint.least, estimate, errors, unit="items")


def _items(figure: Figure) -> int | None:
    """How many items a score is worth: told, or by its interval as a binomial share; None: not known."""
    if figure.n or figure.value is None or figure.lo is None or figure.hi is None:
        return figure.n or None
    half = (figure.hi - figure.lo) / 2.0
    spread = figure.value * (1.0 - figure.value)
    return math.floor(spread * (_Z / half) ** 2) or None if half > 0.0 and spread > 0.0 else None


def _of_share(
    constraint: Constraint,
    least: float,
    estimate: ShareEstimate,
    errors: Errors,
    *,
    fewest: int = 1,
    unit: str = "requests",
) -> Verdict:
    """Of the bounds at both errors; under `fewest` observations nothing is said, since dependence is not
    seen.
    """
    lo, hi = estimate.lower(errors.meets), estimate.upper(errors.fails)
    outcome: Outcome = "not enough data"
    if estimate.n >= fewest:
        outcome = "meets" if lo >= least else "fails" if hi < least else outcome
    needs = None
    if outcome == "not enough data":
        needs = estimate.more_needed(least, above_error=errors.meets, below_error=errors.fails, fewest=fewest)
    return Verdict(
        constraint,
        outcome,
        least,
        estimate.value,
        lo,
        hi,
        estimate.n,
        estimate.effective_n,
        unit,
        needs,
        why=TOO_CLOSE if needs is None and outcome == "not enough data" else None,
    )


def _budget(case: Case, constraint: BudgetConstraint, errors: Errors) -> Verdict:
    spent = case.per(constraint.per)
    if spent is None:
        return Verdict(
            constraint, "not enough data", constraint.usd, unit="jobs", missing=True, why=unpriced_words(case)
        )
    lo, hi = spent.lower(errors.fails), spent.upper(errors.meets)
    outcome: Outcome = (
        "meets" if hi <= constraint.usd else "fails" if lo > constraint.usd else "not enough data"
    )
    needs, why = None, None
    if outcome == "not enough data":
        error = errors.meets if spent.value <= constraint.usd else errors.fails
        needs = spent.more_needed(constraint.usd, error)
        why = TOO_CLOSE if needs is None else None
    bounded = hi if math.isfinite(hi) else None
    return Verdict(
        constraint, outcome, constraint.usd, spent.value, lo, bounded, spent.n, None, "jobs", needs, why=why
    )


def unpriced_words(case: Case) -> str:
    """Why the bill of an offer is not known, and what to do."""
    price = case.row.price
    if isinstance(price, PriceUnknown):
        return f"{price.why}; {price.hint}"
    if case.row.bill.jobs_per_day is None and case.bill is not None:
        return "how many jobs there are a day is not known; say --jobs-per-day"
    return case.row.bill.usd_per_job.note or "its tokens are not known"

"""Where each number of an advice comes from: runs, requests, columns, prices, scores and formulas."""

from dataclasses import dataclass

from paceline.advisor.advise import Advice, OfferAdvice
from paceline.advisor.constraints import COLUMN_OF, SloConstraint, Verdict
from paceline.advisor.identity import OfferKey
from paceline.catalogue.price import PriceUnknown

FORMULAS: dict[str, str] = {
    "share": "exact bounds (Clopper and Pearson) of the share of attempted requests or jobs that meet every "
    "limit, at the effective number n / inflation (Korn and Graubard 1998); inflation from the fitted "
    "autoregression of the requests, or from what calls of one job have in common",
    "needed": "the fewest observations at which a bound passes the limit, if share and inflation stay; of "
    "means n x ((reach / room)^2 - 1)",
    "mean": "mean over jobs; bounds by Student's t on its logarithm, with the variance of the fitted "
    "autoregression of the series of jobs",
    "bill": "tokens of each job at the price's rates, or of own hardware USD a day over the jobs of a day, "
    "else USD an hour over the run's jobs an hour: mean over "
    "jobs that ended well",
    "time": "of a job: time in which at least one of its calls is under way, from sending (in an open loop "
    "from the due instant) to the last token; without tools and people; a call that was cut "
    "counts as long as it was waited for",
    "total": "bill + time x worth of an hour, job by job",
    "ratio": "difference of the logarithms of two means, Student's t with Welch's degrees of freedom",
    "pareto": "share of bootstrap draws in which no other offer is as good in all and better in one; bill "
    "and time of the same drawn blocks, capability of Beta(solved + 1/2, not solved + 1/2)",
    "errors": "error / (2 x offers) for each `meets` and each comparison, error / (2 x constraints) for each "
    "`fails`",
    "price_flip": "(bill of the rival - bill of the answer) / bill of the answer; with a worth of time their "
    "totals",
    "worth_flip": "USD more a job / hours less a job, by draws of both offers",
    "volume_flip": "24 x USD an hour / USD of a job by tokens",
}
"""What is computed how; docs/concepts/advice.md explains them."""


@dataclass(frozen=True)
class Origin:
    """One number: of which offer, what it is, and from where and how it was made."""

    offer: OfferKey
    what: str
    source: str
    formula: str


def origins(advice: Advice) -> list[Origin]:
    """The origin of every number that is said of an offer, offer by offer."""
    return [one for offer in advice.offers for one in _of_offer(offer, advice)]


def _of_offer(offer: OfferAdvice, advice: Advice) -> list[Origin]:
    evidence, row = offer.case.row.evidence, offer.case.row
    runs = ", ".join(one.run_id for one in evidence.digests)
    sample = f"{len(evidence.run):,} of {evidence.attempted:,} requests of {runs}"
    found = [_of_verdict(offer, verdict, sample) for verdict in offer.verdicts]
    price = row.price
    if isinstance(price, PriceUnknown):
        found.append(Origin(offer.key, "bill", f"no price: {price.why}; {price.hint}", "bill"))
    else:
        columns = (
            "prompt_tokens, cached_tokens, cache_write_tokens, completion_tokens, reasoning_tokens"
            if price.kind == "tokens"
            else "at_s, elapsed_ms and the run's jobs a second"
        )
        source = f"{columns} of {sample}; price: {price.source}"
        found.append(Origin(offer.key, "bill", source, "bill, mean"))
    found.append(Origin(offer.key, "time", f"at_s, e2e_ms, elapsed_ms of {sample}", "time, mean"))
    if offer.pareto is not None:
        over = ", ".join(advice.dimensions)
        draws = f"{advice.query.replicates:,} draws, seed {advice.query.seed}"
        found.append(Origin(offer.key, "pareto", f"{over} of {sample}; {draws}", "pareto"))
    return found


def _of_verdict(offer: OfferAdvice, verdict: Verdict, sample: str) -> Origin:
    constraint = verdict.constraint
    if isinstance(constraint, SloConstraint):
        columns = ["at_s, elapsed_ms"] if constraint.of_jobs else []
        columns += [COLUMN_OF[name] for name in constraint.limits if name in COLUMN_OF]
        source = f"outcome, {', '.join(dict.fromkeys(columns))} of {sample}"
        if verdict.effective_n is not None:
            source += f"; worth {verdict.effective_n:,.0f} independent ones"
        return Origin(offer.key, constraint.name, source, "share")
    if constraint.kind == "capability":
        note = offer.case.row.figures["capability"].note or verdict.why or ""
        return Origin(offer.key, constraint.name, note or f"{verdict.n} items", "share")
    if constraint.kind == "budget":
        return Origin(offer.key, constraint.name, f"the bill of {verdict.n:,} jobs", "bill, mean")
    return Origin(offer.key, constraint.name, f"outcome of {sample}", "share")

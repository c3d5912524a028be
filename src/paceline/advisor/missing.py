"""What has to be measured so that an advice can name the best: one batch an offer, fixed in advance."""

import math
from dataclasses import dataclass
from typing import Literal

from paceline.advisor.advise import Advice, OfferAdvice
from paceline.advisor.identity import OfferKey

Kind = Literal["jobs", "items"]

ROOM = 1.5
"""So many times what is needed is measured: the need is itself an estimate, and there is one batch only."""


@dataclass(frozen=True)
class Batch:
    """So many jobs of the board's workload, or items of the capability probe, for one offer.

    wanted: how many would be needed, with room; None: too many to tell. count: how many are
    to be sent. calls: requests a job, about. like: the run whose endpoint, load and workload they have.
    """

    key: OfferKey
    kind: Kind
    like: str
    count: int
    wanted: int | None
    calls: float = 1.0


def missing_batches(advice: Advice, most_requests: int) -> list[Batch]:
    """The batches, of at most so many requests each; none where nothing can be settled by measuring."""
    if advice.best is not None:
        return []
    jobs = {one.key: _jobs_for_verdicts(one) for one in advice.offers}
    items = {one.key: _items_for_verdicts(one) for one in advice.offers}
    for one in advice.decision.blockers:
        # Who is worse already only waits for its own verdicts.
        if one.standing == "open" and advice.first is not None:
            for key in (one.rival, advice.first):
                jobs[key] = [*jobs[key], one.needs]
    if advice.first is None:
        relevant = {one.key for one in advice.with_status("open")}
    else:
        relevant = {advice.first, *(one.rival for one in advice.decision.blockers)}
    found = []
    for offer in advice.offers:
        if offer.key not in relevant:
            continue
        evidence = offer.case.row.evidence
        calls = len(evidence.units) / (int(evidence.units[-1]) + 1) if len(evidence.units) else 1.0
        if jobs[offer.key]:
            wanted = _with_room(jobs[offer.key])
            most = max(math.floor(most_requests / calls), 1)
            count = most if wanted is None else min(wanted, most)
            found.append(Batch(offer.key, "jobs", evidence.digests[-1].run_id, count, wanted, calls))
        if items[offer.key]:
            wanted = _with_room(items[offer.key])
            count = most_requests if wanted is None else min(wanted, most_requests)
            found.append(Batch(offer.key, "items", "", count, wanted))
    return found


def _jobs_for_verdicts(offer: OfferAdvice) -> list[int | None]:
    """Of each open verdict on requests or jobs, how many jobs settle it."""
    evidence = offer.case.row.evidence
    calls = len(evidence.units) / (int(evidence.units[-1]) + 1) if len(evidence.units) else 1.0
    found: list[int | None] = []
    for verdict in offer.verdicts:
        if verdict.outcome != "not enough data" or verdict.missing or verdict.unit == "items":
            continue
        per = calls if verdict.unit == "requests" else 1.0
        found.append(None if verdict.needs is None else math.ceil(verdict.needs / per))
    return found


def _items_for_verdicts(offer: OfferAdvice) -> list[int | None]:
    return [
        verdict.needs
        for verdict in offer.verdicts
        if verdict.outcome == "not enough data" and not verdict.missing and verdict.unit == "items"
    ]


def _with_room(counts: list[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return math.ceil(ROOM * max(known)) if len(known) == len(counts) else None

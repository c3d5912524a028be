"""From verdicts, bills and times to one name, or none: who is shown to be the best.

The best offer is the one that meets every constraint at the lowest bill; bills within the margin are a tie,
which the time of a job breaks (with a worth of time: the lowest sum of bill and time).

A name is wrong where another offer is the best in truth. That takes one of two things. Either the best offer
was thrown out, by a false `fails` on one of its C constraints: each has a probability of at most error / 2C,
so all have error / 2. Or another offer stands in its place, of which one definite statement is false: where
it does not meet a constraint in truth, that it `meets` it; where it meets all, that it is better than the
best, or as good. Each statement has a probability of at most error / 2K, and there are fewer than K such
offers: error / 2 again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from paceline.advisor.case import Case
from paceline.advisor.constraints import Verdict
from paceline.advisor.identity import OfferKey
from paceline.advisor.judge import Errors
from paceline.stats.positive_mean import MeanEstimate, RatioEstimate, ratio

Objective = Literal["cheapest", "fastest", "worth"]
Status = Literal["meets", "fails", "open", "aside"]
Standing = Literal["better", "worse", "tie", "open"]


@dataclass(frozen=True)
class Weigh:
    """How offers are weighed. error: of each one-sided statement. margin: below it a difference is a tie."""

    objective: Objective
    worth_usd_per_hour: float
    error: float
    margin: float


@dataclass(frozen=True)
class Against:
    """An offer beside a rival. bill, time: offer over rival; None: not known, or not looked at.

    needs: requests more of each that would settle it; None: settled, or too many.
    """

    rival: OfferKey
    standing: Standing
    bill: RatioEstimate | None
    time: RatioEstimate | None
    needs: int | None


@dataclass(frozen=True)
class Decision:
    """best: None where none is shown to be. first: the one that is best so far among those that meet all.

    blockers: what stands between `first` and being the best. ties: those as good as the best.
    """

    best: Case | None
    first: Case | None
    against: tuple[Against, ...]

    @property
    def blockers(self) -> tuple[Against, ...]:
        """Rivals that `first` is not shown to beat."""
        return tuple(one for one in self.against if one.standing in ("worse", "open"))

    @property
    def ties(self) -> tuple[Against, ...]:
        """Rivals that are shown to be as good."""
        return tuple(one for one in self.against if one.standing == "tie")


def shared_errors(error: float, offers: int, constraints: int) -> Errors:
    """The errors of single statements at which a name is wrong with at most `error`; see the module."""
    return Errors(meets=error / 2.0 / max(offers, 1), fails=error / 2.0 / max(constraints, 1))


def status_of(verdicts: Sequence[Verdict]) -> Status:
    """`open`: more observations would tell; `aside`: none would, since a fact is missing."""
    outcomes = {one.outcome for one in verdicts}
    if "fails" in outcomes:
        return "fails"
    if any(one.missing for one in verdicts):
        return "aside"
    return "open" if "not enough data" in outcomes else "meets"


def decide(cases: Sequence[Case], status: Mapping[OfferKey, Status], weigh: Weigh) -> Decision:
    """Who of those that meet all is shown to be the best, also against those that may yet meet all."""
    meeting = [one for one in cases if status[one.key] == "meets"]
    rivals = [one for one in cases if status[one.key] in ("meets", "open")]
    found = [
        Decision(case, case, tuple(against(case, other, weigh) for other in rivals if other is not case))
        for case in sorted(meeting, key=lambda one: _order(one, weigh))
    ]
    best = next((one for one in found if not one.blockers), None)
    if best is not None:
        return best
    if not found:
        return Decision(None, None, ())
    # Of those in the way the fewest, and of as many the cheapest.
    first = min(found, key=lambda one: sum(rival.standing == "worse" for rival in one.against))
    return Decision(None, first.first, first.against)


def against(case: Case, rival: Case, weigh: Weigh) -> Against:
    """How an offer stands to another."""
    if weigh.objective == "fastest":
        time = _ratio(case.time_ms, rival.time_ms, weigh)
        return Against(rival.key, _standing(time), None, time, time.needs)
    if weigh.objective == "worth":
        one, other = case.total(weigh.worth_usd_per_hour), rival.total(weigh.worth_usd_per_hour)
    else:
        one, other = case.bill, rival.bill
    if one is None or other is None:
        # Whoever has no bill was set aside before.
        return Against(rival.key, "open", None, None, None)
    bill = _ratio(one, other, weigh)
    if bill.relation != "same":
        return Against(rival.key, _standing(bill), bill, None, bill.needs)
    time = _ratio(case.time_ms, rival.time_ms, weigh)
    return Against(rival.key, _standing(time), bill, time, time.needs)


def _ratio(one: MeanEstimate, other: MeanEstimate, weigh: Weigh) -> RatioEstimate:
    return ratio(one, other, error=weigh.error, margin=weigh.margin)


def _standing(found: RatioEstimate) -> Standing:
    named: dict[str, Standing] = {"less": "better", "more": "worse", "same": "tie", "unknown": "open"}
    return named[found.relation]


def _order(case: Case, weigh: Weigh) -> float:
    return objective_value(case, weigh) or 0.0


def objective_value(case: Case, weigh: Weigh) -> float | None:
    """What is to be least: USD, or ms."""
    if weigh.objective == "fastest":
        return case.time_ms.value
    found = case.total(weigh.worth_usd_per_hour) if weigh.objective == "worth" else case.bill
    return None if found is None else found.value

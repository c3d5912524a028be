"""Which offer to take: verdicts on each, the Pareto set, one name or none, and what would flip it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from paceline.advisor.board import Board
from paceline.advisor.case import Case
from paceline.advisor.constraints import CapabilityConstraint, Constraint, Verdict
from paceline.advisor.decide import (
    Against,
    Decision,
    Objective,
    Status,
    Weigh,
    against,
    decide,
    objective_value,
    shared_errors,
    status_of,
)
from paceline.advisor.figures import Figure
from paceline.advisor.flip import (
    Draws,
    PriceFlip,
    TierPays,
    VolumeFlip,
    WorthFlip,
    draw_all,
    price_flip,
    tiers_paying,
    volume_flips,
    worth_flips,
)
from paceline.advisor.identity import OfferKey
from paceline.advisor.judge import CapabilityOf, Errors, judge, unpriced_words
from paceline.stats.pareto import membership, pareto_set

Outcome = Literal["recommended", "not enough data", "none meets", "nothing measured"]

ERROR = 0.05
MARGIN = 0.05


@dataclass(frozen=True)
class AdviceQuery:
    """What is asked of a board.

    worth_usd_per_hour: of the time of a job; None: the cheapest is wanted, then the fastest. error: how
    probable a wrong name may be. margin: a bill or a time within so much of another is a tie. replicates: of
    the bootstrap behind the Pareto set and what would flip the answer; 0: neither.
    """

    constraints: tuple[Constraint, ...] = ()
    worth_usd_per_hour: float | None = None
    error: float = ERROR
    margin: float = MARGIN
    replicates: int = 2000
    seed: int = 1


@dataclass(frozen=True)
class OfferAdvice:
    """One offer. why_aside: what fact is missing, where it is set aside. pareto: probability of being in the
    Pareto set, None where its bill or time is not known; in_pareto: it is in that of the estimates.
    """

    case: Case
    status: Status
    verdicts: tuple[Verdict, ...]
    why_aside: str | None = None
    pareto: float | None = None
    in_pareto: bool = False

    @property
    def key(self) -> OfferKey:
        """Which offer it is."""
        return self.case.key


@dataclass(frozen=True)
class Binding:
    """A constraint without which the answer would be another. settled: that answer would be shown."""

    constraint: Constraint
    instead: OfferKey
    settled: bool
    verdict: Verdict


@dataclass(frozen=True)
class RunnerUp:
    """The best without the best. against: the best beside it, at 95 %."""

    key: OfferKey
    against: Against


@dataclass(frozen=True)
class Flips:
    """What would turn the answer round."""

    price: PriceFlip | None = None
    worth: tuple[WorthFlip, ...] = ()
    volume: tuple[VolumeFlip, ...] = ()
    tiers: tuple[TierPays, ...] = ()


@dataclass(frozen=True)
class Advice:
    """outcome: `recommended`, then `best` is the name; `not enough data`, then `first` is the best of those
    that are shown to meet all, if any, and `decision.blockers` and open offers say why it is no more; `none
    meets`, then `nearest` comes nearest; `nothing measured`. dimensions: of the Pareto set.
    """

    board: Board
    query: AdviceQuery
    objective: Objective
    errors: Errors
    outcome: Outcome
    best: OfferKey | None
    first: OfferKey | None
    nearest: OfferKey | None
    offers: tuple[OfferAdvice, ...]
    decision: Decision
    binding: tuple[Binding, ...]
    runner_up: RunnerUp | None
    flips: Flips
    dimensions: tuple[str, ...]

    def offer(self, key: OfferKey) -> OfferAdvice:
        """The offer of that key. Raises KeyError."""
        for one in self.offers:
            if one.key == key:
                return one
        raise KeyError(key)

    def with_status(self, status: Status) -> tuple[OfferAdvice, ...]:
        """Offers that stand so."""
        return tuple(one for one in self.offers if one.status == status)


def advise(board: Board, query: AdviceQuery, *, capability: CapabilityOf | None = None) -> Advice:
    """The advice of a board.

    capability: a benchmark's figure of an offer, for benchmarks other than the board's own.
    """
    known = partial(_capability, board, capability)
    cases = [Case(row) for row in board.rows]
    errors = shared_errors(query.error, len(cases), len(query.constraints))
    verdicts = {
        case.key: tuple(judge(case, one, errors, known) for one in query.constraints) for case in cases
    }
    weigh = Weigh(_objective(cases, query), query.worth_usd_per_hour or 0.0, errors.meets, query.margin)
    offers = [_standing(case, verdicts[case.key], weigh.objective) for case in cases]
    decision = decide(cases, {one.key: one.status for one in offers}, weigh)
    best = decision.best.key if decision.best else None
    first = decision.first.key if decision.first else None
    draws = draw_all(cases, query.replicates, query.seed) if query.replicates else {}
    dimensions, offers = _with_pareto(offers, draws, known, query)
    return Advice(
        board=board,
        query=query,
        objective=weigh.objective,
        errors=errors,
        outcome=_outcome(offers, best),
        best=best,
        first=first,
        nearest=_nearest(offers) if first is None else None,
        offers=_in_order(offers, weigh, first),
        decision=decision,
        binding=_binding(offers, weigh, first),
        runner_up=_runner_up(offers, decision, weigh),
        flips=_flips(offers, decision, draws, weigh),
        dimensions=dimensions,
    )


def _capability(board: Board, others: CapabilityOf | None, key: OfferKey, benchmark: str | None) -> Figure:
    if benchmark is None or benchmark == board.query.benchmark:
        return next(row.figures["capability"] for row in board.rows if row.key == key)
    if others is None:
        return Figure(None, note=f"no score of {benchmark} is known")
    return others(key, benchmark)


def _objective(cases: Sequence[Case], query: AdviceQuery) -> Objective:
    """Without any price all that can be told is who is fastest."""
    if not any(case.bill is not None for case in cases):
        return "fastest"
    return "worth" if query.worth_usd_per_hour else "cheapest"


def _standing(case: Case, verdicts: tuple[Verdict, ...], objective: Objective) -> OfferAdvice:
    status = status_of(verdicts)
    why = next((one.why for one in verdicts if one.missing), None)
    if status in ("meets", "open", "aside") and objective != "fastest" and case.bill is None:
        status, why = "aside", unpriced_words(case)
    if status in ("meets", "open") and not case.time_ms.n and objective != "cheapest":
        status, why = "aside", "no job of it ended, so that its time is not known"
    return OfferAdvice(case, status, verdicts, why if status == "aside" else None)


def _outcome(offers: Sequence[OfferAdvice], best: OfferKey | None) -> Outcome:
    if not offers:
        return "nothing measured"
    if best is not None:
        return "recommended"
    return (
        "not enough data" if any(one.status in ("meets", "open", "aside") for one in offers) else "none meets"
    )


def _with_pareto(
    offers: list[OfferAdvice], draws: dict[OfferKey, Draws], capability: CapabilityOf, query: AdviceQuery
) -> tuple[tuple[str, ...], list[OfferAdvice]]:
    """Over the time and the bill of a job and capability, as far as they are known."""
    benchmark = next(
        (one.benchmark for one in query.constraints if isinstance(one, CapabilityConstraint)), None
    )
    priced = any(one.case.bill is not None for one in offers)
    held = [one for one in offers if one.case.time_ms.n and (one.case.bill is not None or not priced)]
    figures = [capability(one.key, benchmark) for one in held]
    scored = any(figure.value is not None and figure.n for figure in figures)
    dimensions = ("time", *(("bill",) if priced else ()), *(("capability",) if scored else ()))
    if not held:
        return dimensions, offers
    points = np.array(
        [
            [
                one.case.time_ms.value,
                one.case.bill.value if one.case.bill else 0.0,
                np.nan if figure.value is None or not scored else -figure.value,
            ][: 2 + scored]
            for one, figure in zip(held, figures, strict=True)
        ]
    )
    inside = pareto_set(points)
    chances = _membership(held, figures, draws, query, scored=scored) if draws else [None] * len(held)
    found = {
        one.key: OfferAdvice(one.case, one.status, one.verdicts, one.why_aside, chance, bool(mine))
        for one, chance, mine in zip(held, chances, inside, strict=True)
    }
    return dimensions, [found.get(one.key, one) for one in offers]


def _membership(
    held: Sequence[OfferAdvice],
    figures: Sequence[Figure],
    draws: dict[OfferKey, Draws],
    query: AdviceQuery,
    *,
    scored: bool,
) -> list[float | None]:
    """Bill and time of the same drawn blocks, capability of its posterior by Jeffreys' prior."""
    rng = np.random.default_rng([query.seed, 1_000_003])
    columns = []
    for one, figure in zip(held, figures, strict=True):
        mine = draws[one.key]
        bill = mine.bill if one.case.bill is not None else np.zeros(len(mine.time))
        solved = np.full(len(mine.time), np.nan)
        if figure.value is not None and figure.n:
            k = figure.value * figure.n
            solved = -rng.beta(k + 0.5, figure.n - k + 0.5, len(mine.time))
        columns.append(np.stack([mine.time, bill, solved][: 2 + scored], axis=-1))
    return [float(chance) for chance in membership(np.stack(columns, axis=1))]


def _in_order(offers: Sequence[OfferAdvice], weigh: Weigh, first: OfferKey | None) -> tuple[OfferAdvice, ...]:
    """The answer, then those that meet all, may yet, are set aside, fail; each by what is to be least."""
    ranks: dict[Status, int] = {"meets": 0, "open": 1, "aside": 2, "fails": 3}

    def rank(one: OfferAdvice) -> tuple[bool, int, float]:
        value = objective_value(one.case, weigh)
        return one.key != first, ranks[one.status], math.inf if value is None else value

    return tuple(sorted(offers, key=rank))


def _nearest(offers: Sequence[OfferAdvice]) -> OfferKey | None:
    """Of those that fail, who fails the fewest constraints, and by the smallest part of the limit."""

    def gap(one: OfferAdvice) -> tuple[int, float]:
        failed = [verdict for verdict in one.verdicts if verdict.outcome == "fails"]
        parts = [abs((verdict.value or 0.0) - verdict.limit) / verdict.limit for verdict in failed]
        return len(failed), max(parts, default=0.0)

    failing = [one for one in offers if one.status == "fails"]
    return min(failing, key=gap).key if failing else None


def _binding(offers: Sequence[OfferAdvice], weigh: Weigh, first: OfferKey | None) -> tuple[Binding, ...]:
    """Each constraint is left out in turn."""
    found = []
    cases = [one.case for one in offers]
    for place in range(len(offers[0].verdicts) if offers else 0):
        status: dict[OfferKey, Status] = {}
        for one in offers:
            left = (*one.verdicts[:place], *one.verdicts[place + 1 :])
            status[one.key] = _standing(one.case, left, weigh.objective).status
        without = decide(cases, status, weigh)
        if without.first is None or without.first.key == first:
            continue
        verdict = next(one.verdicts[place] for one in offers if one.key == without.first.key)
        found.append(Binding(verdict.constraint, without.first.key, without.best is not None, verdict))
    return tuple(found)


def _runner_up(offers: Sequence[OfferAdvice], decision: Decision, weigh: Weigh) -> RunnerUp | None:
    best = decision.first
    if best is None:
        return None
    left = [one for one in offers if one.key != best.key]
    second = decide([one.case for one in left], {one.key: one.status for one in left}, weigh).first
    if second is None:
        return None
    usual = Weigh(weigh.objective, weigh.worth_usd_per_hour, 0.025, 0.0)
    return RunnerUp(second.key, against(best, second, usual))


def _flips(
    offers: Sequence[OfferAdvice], decision: Decision, draws: dict[OfferKey, Draws], weigh: Weigh
) -> Flips:
    if not draws:
        return Flips()
    tiers = tuple(tiers_paying([one.case for one in offers if one.case.time_ms.n], draws))
    best = decision.first
    if best is None:
        return Flips(tiers=tiers)
    rivals = [one.case for one in offers if one.status == "meets" and one.key != best.key]
    worth = weigh.worth_usd_per_hour if weigh.objective == "worth" else 0.0
    rises = [found for rival in rivals if (found := price_flip(best, rival, draws, worth)) is not None]
    return Flips(
        price=min(rises, key=lambda one: one.rise.value, default=None),
        worth=tuple(worth_flips(best, rivals, draws, worth)),
        volume=tuple(volume_flips(best, rivals)),
        tiers=tiers,
    )

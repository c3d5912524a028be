"""An advice as `paceline.advice/1` (docs/reference/advice.md)."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from paceline.report import advice_words as words
from paceline.report.board_dict import price_dict
from paceline.report.figures import json_text, moment_text, offer_dict, rounded

if TYPE_CHECKING:
    from paceline.advisor.advise import Advice, Binding, Flips, OfferAdvice
    from paceline.advisor.constraints import Constraint, Verdict
    from paceline.advisor.decide import Against
    from paceline.advisor.explain import Origin
    from paceline.advisor.flip import Bound
    from paceline.advisor.identity import OfferKey
    from paceline.stats.positive_mean import MeanEstimate, RatioEstimate

SCHEMA = "paceline.advice/1"
_TAIL = 0.025


def advice_json(
    advice: "Advice", origins: Sequence["Origin"] = (), formulas: Mapping[str, str] | None = None
) -> str:
    """The document as text."""
    return json_text(advice_dict(advice, origins, formulas))


def advice_dict(
    advice: "Advice", origins: Sequence["Origin"] = (), formulas: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """The document."""
    board, query = advice.board, advice.query
    return {
        "schema": SCHEMA,
        "made_at": moment_text(board.made_at),
        "workload": board.workload,
        "load": board.load,
        "outcome": advice.outcome,
        "best": _key_or_none(advice.best),
        "first": _key_or_none(advice.first),
        "nearest": _key_or_none(advice.nearest),
        "objective": advice.objective,
        "worth_usd_per_hour": query.worth_usd_per_hour,
        "error": query.error,
        "statement_errors": {"meets": advice.errors.meets, "fails": advice.errors.fails},
        "margin": query.margin,
        "constraints": [_constraint(one) for one in query.constraints],
        "offers": [_offer(one, advice) for one in advice.offers],
        "against": [_against(one) for one in advice.decision.against],
        "binding": [_binding(one) for one in advice.binding],
        "runner_up": None
        if advice.runner_up is None
        else {**offer_dict(advice.runner_up.key), "against": _against(advice.runner_up.against)},
        "flips": _flips(advice.flips),
        "pareto_dimensions": list(advice.dimensions),
        "says": {
            "headline": words.headline(advice),
            "because": words.because(advice),
            "binding": words.binding_words(advice),
            "flips": words.flip_words(advice),
            "notes": words.notes(advice),
            "next": words.next_steps(advice),
        },
        "origins": [
            {**offer_dict(one.offer), "what": one.what, "source": one.source, "formula": one.formula}
            for one in origins
        ],
        "formulas": dict(formulas or {}),
    }


def _offer(one: "OfferAdvice", advice: "Advice") -> dict[str, Any]:
    evidence, case = one.case.row.evidence, one.case
    worth = advice.query.worth_usd_per_hour
    return {
        **offer_dict(one.key),
        "status": one.status,
        "why_aside": one.why_aside,
        "runs": [run.run_id for run in evidence.digests],
        "suspect_runs": list(evidence.suspect),
        "requests": evidence.attempted,
        "requests_sampled": len(evidence.run),
        "verdicts": [_verdict(verdict) for verdict in one.verdicts],
        "usd_per_job": _mean(case.bill),
        "job_ms": _mean(case.time_ms),
        "total_usd_per_job": _mean(case.total(worth)) if worth else None,
        "pareto_probability": rounded(one.pareto),
        "in_pareto_set": one.in_pareto,
        "price": price_dict(case.row.price),
    }


def _constraint(one: "Constraint") -> dict[str, Any]:
    return {"kind": one.kind, "name": one.name, "asked": {**asdict(one)}}


def _verdict(one: "Verdict") -> dict[str, Any]:
    return {
        "constraint": one.constraint.name,
        "outcome": one.outcome,
        "text": str(one),
        "limit": one.limit,
        "value": rounded(one.value),
        "lo": rounded(one.lo),
        "hi": rounded(one.hi),
        "n": one.n,
        "effective_n": rounded(one.effective_n),
        "unit": one.unit,
        "needs_more": one.needs,
        "missing": one.missing,
        "why": one.why,
    }


def _binding(one: "Binding") -> dict[str, Any]:
    return {
        "constraint": one.constraint.name,
        "instead": offer_dict(one.instead),
        "settled": one.settled,
        "verdict": _verdict(one.verdict),
    }


def _against(one: "Against") -> dict[str, Any]:
    return {
        "rival": offer_dict(one.rival),
        "standing": one.standing,
        "bill_ratio": _ratio(one.bill),
        "time_ratio": _ratio(one.time),
        "needs_more": one.needs,
    }


def _flips(flips: "Flips") -> dict[str, Any]:
    price = flips.price
    return {
        "price": None if price is None else {"rival": offer_dict(price.rival), "rise": _bound(price.rise)},
        "worth": [
            {"rival": offer_dict(one.rival), "side": one.side, "usd_per_hour": _bound(one.usd_per_hour)}
            for one in flips.worth
        ],
        "volume": [
            {
                "hours": offer_dict(one.hours),
                "tokens": offer_dict(one.tokens),
                "jobs_per_day": _bound(one.jobs_per_day),
                "capacity_per_day": rounded(one.capacity_per_day),
            }
            for one in flips.volume
        ],
        "tiers": [
            {
                "slower": offer_dict(one.slower),
                "faster": offer_dict(one.faster),
                "extra_usd_per_job": _bound(one.extra_usd),
                "saved_s_per_job": _bound(one.saved_s),
                "pays_from_usd_per_hour": None if one.usd_per_hour is None else _bound(one.usd_per_hour),
            }
            for one in flips.tiers
        ],
    }


def _mean(one: "MeanEstimate | None") -> dict[str, Any] | None:
    if one is None or not one.n:
        return None
    known = math.isfinite(one.spread)
    return {
        "value": rounded(one.value),
        "lo": rounded(one.lower(_TAIL)) if known else None,
        "hi": rounded(one.upper(_TAIL)) if known else None,
        "n": one.n,
    }


def _ratio(one: "RatioEstimate | None") -> dict[str, Any] | None:
    if one is None:
        return None
    return {
        "value": rounded(one.value),
        "lo": rounded(one.lo),
        "hi": rounded(one.hi),
        "relation": one.relation,
        "needs_more": one.needs,
    }


def _bound(one: "Bound") -> dict[str, float | None]:
    return {"value": rounded(one.value), "lo": rounded(one.lo), "hi": rounded(one.hi)}


def _key_or_none(key: "OfferKey | None") -> dict[str, str] | None:
    return None if key is None else offer_dict(key)

from dataclasses import replace

import pytest

from paceline.advisor.advise import Advice, AdviceQuery, advise
from paceline.advisor.constraints import parse_budget, parse_capability, parse_slos
from paceline.advisor.decide import shared_errors
from paceline.advisor.explain import FORMULAS, origins
from paceline.advisor.figures import Figure
from paceline.advisor.identity import OfferKey
from paceline.advisor.missing import missing_batches
from paceline.catalogue.price import PriceUnknown
from tests.advisor.planted import OFFERS, START, WORKS, Market, Work, board_of

CHAT, VOICE, AGENT, BATCH, EDIT = WORKS


def advised(work: Work, n: int = 1000, seed: int = 3, query: AdviceQuery | None = None) -> Advice:
    return advise(Market(work, seed, max(n, 20)).board(n), query or work.query)


def key(name: str) -> OfferKey:
    return OFFERS[name].key


def test_errors_are_shared_among_offers_and_constraints() -> None:
    found = shared_errors(0.05, 5, 2)
    assert (found.meets, found.fails) == (0.005, 0.0125)
    assert shared_errors(0.05, 0, 0).meets == 0.025


def test_the_constraint_that_binds_is_named_with_who_it_would_be() -> None:
    found = advised(CHAT)
    assert found.best == key("steady")
    assert [(one.constraint.name, one.instead) for one in found.binding] == [("ttft_ms=1000", key("cheap"))]
    assert found.binding[0].settled
    assert found.binding[0].verdict.outcome == "fails"
    assert found.offer(key("cheap")).status == "fails"


def test_the_runner_up_and_by_how_much() -> None:
    found = advised(CHAT)
    assert found.runner_up is not None
    assert found.runner_up.key == key("middle")
    ratio = found.runner_up.against.bill
    assert ratio is not None
    # 0.05 to 0.30 USD a million in, 0.20 to 1.20 out: a sixth.
    assert ratio.lo < 1 / 6 < ratio.hi


def test_a_price_may_rise_until_the_runner_up_is_as_good() -> None:
    rise = advised(CHAT).flips.price
    assert rise is not None
    assert rise.rival == key("middle")
    assert rise.rise.lo is not None
    assert rise.rise.hi is not None
    assert rise.rise.lo < 5.0 < rise.rise.hi


def test_from_which_worth_of_an_hour_the_faster_one_wins() -> None:
    cheap = advised(AGENT, query=replace(AGENT.query, worth_usd_per_hour=None))
    assert cheap.best == key("middle")
    flip = next(one for one in cheap.flips.worth if one.side == "above")
    assert flip.rival == key("rapid")
    bills = [cheap.offer(key(name)).case.bill for name in ("rapid", "middle")]
    times = [cheap.offer(key(name)).case.time_ms.value for name in ("rapid", "middle")]
    assert bills[0] is not None
    assert bills[1] is not None
    by_hand = (bills[0].value - bills[1].value) / ((times[1] - times[0]) / 3.6e6)
    assert flip.usd_per_hour.value == pytest.approx(by_hand)
    # On both sides of it the answer is as said.
    for worth, best in ((by_hand * 0.5, "middle"), (by_hand * 2.0, "rapid")):
        asked = replace(AGENT.query, worth_usd_per_hour=worth)
        assert advised(AGENT, query=asked).first == key(best)


def test_whether_a_fast_tier_pays() -> None:
    tiers = advised(VOICE).flips.tiers
    assert [(one.slower, one.faster) for one in tiers] == [(key("grand"), key("fast"))]
    pays = tiers[0].usd_per_hour
    assert pays is not None
    assert pays.lo is not None
    assert pays.hi is not None
    assert pays.lo < pays.value < pays.hi
    assert pays.value == pytest.approx(tiers[0].extra_usd.value / tiers[0].saved_s.value * 3600)


def test_own_hardware_against_tokens() -> None:
    board = Market(CHAT, 3, 500).board(500)
    rows = list(board.rows)
    own = rows[4]
    assert not isinstance(own.price, PriceUnknown)
    rows[4] = replace(own, price=replace(own.price, kind="hours", usd_per_hour=2.0))
    found = advise(board_of(CHAT, rows), CHAT.query)
    flip = found.flips.volume[0]
    assert (flip.hours, flip.tokens) == (own.key, key("steady"))
    bill = found.offer(key("steady")).case.bill
    assert bill is not None
    assert flip.jobs_per_day.value == pytest.approx(48.0 / bill.value)
    # The planted runs did one request a second.
    assert flip.capacity_per_day == pytest.approx(86_400.0)


def test_own_hardware_is_held_against_a_budget_by_what_its_day_costs() -> None:
    rows = [
        replace(one, bill=replace(one.bill, jobs_per_day=1000.0))
        for one in Market(CHAT, 3, 500).board(500).rows
    ]
    own = rows[4]
    assert not isinstance(own.price, PriceUnknown)
    rows[4] = replace(own, price=replace(own.price, kind="hours", usd_per_hour=2.0))
    found = advise(board_of(CHAT, rows), AdviceQuery((parse_budget("40/day"),)))
    told = found.offer(own.key)
    assert told.status == "fails"
    a_day = told.case.per("day")
    assert a_day is not None
    assert a_day.value == pytest.approx(48.0)


def test_where_none_meets_it_is_said_who_comes_nearest() -> None:
    query = AdviceQuery((*parse_slos("ttft_ms=200"), parse_capability(">= 0.95")))
    found = advised(CHAT, query=query)
    assert (found.outcome, found.best, found.first) == ("none meets", None, None)
    # It alone fails one constraint only.
    assert found.nearest == key("fast")


def test_an_offer_that_may_yet_meet_all_and_is_cheaper_keeps_the_name_from_being_given() -> None:
    board = Market(EDIT, 3, 1000).board(1000)
    rows = [
        replace(row, figures={"capability": Figure(0.7, 0.5, 0.85, 20)}) if row.key == key("steady") else row
        for row in board.rows
    ]
    found = advise(board_of(EDIT, rows), EDIT.query)
    assert (found.outcome, found.best, found.first) == ("not enough data", None, key("middle"))
    assert [one.rival for one in found.decision.blockers] == [key("steady")]
    batches = missing_batches(found, 500)
    assert [(one.key, one.kind) for one in batches] == [(key("steady"), "items")]
    assert batches[0].count == min(batches[0].wanted or 500, 500)


def test_a_dearer_open_offer_blocks_nothing() -> None:
    board = Market(EDIT, 3, 1000).board(1000)
    rows = [
        replace(row, figures={"capability": Figure(0.7, 0.5, 0.85, 20)}) if row.key == key("fast") else row
        for row in board.rows
    ]
    assert advise(board_of(EDIT, rows), EDIT.query).best == key("middle")


def test_a_missing_fact_sets_aside_and_blocks_nothing() -> None:
    board = Market(CHAT, 3, 1000).board(1000)
    rows = [
        replace(row, price=PriceUnknown("no price", "add it")) if row.key == key("cheap") else row
        for row in board.rows
    ]
    found = advise(board_of(CHAT, rows), AdviceQuery())
    assert found.best == key("steady")
    assert found.offer(key("cheap")).status == "aside"
    assert found.offer(key("cheap")).why_aside == "no price; add it"


def test_without_any_price_the_fastest_is_named() -> None:
    board = Market(CHAT, 3, 1000).board(1000)
    rows = [replace(row, price=PriceUnknown("no price", "add it")) for row in board.rows]
    found = advise(board_of(CHAT, rows), AdviceQuery())
    assert (found.objective, found.best) == ("fastest", key("rapid"))


def test_equal_bills_are_a_tie_that_the_time_breaks() -> None:
    offers = {
        "slow": replace(OFFERS["steady"], key=OfferKey("a", "x")),
        "quick": replace(OFFERS["steady"], key=OfferKey("b", "x"), tok_s=400),
        "twin": replace(OFFERS["steady"], key=OfferKey("c", "x"), tok_s=400),
    }
    work = replace(CHAT, query=AdviceQuery(margin=0.08))
    found = advise(Market(work, 1, 4000, offers).board(4000), work.query)
    assert found.best in (OfferKey("b", "x"), OfferKey("c", "x"))
    other = OfferKey("c", "x") if found.best == OfferKey("b", "x") else OfferKey("b", "x")
    assert [one.rival for one in found.decision.ties] == [other]


def test_an_empty_board() -> None:
    found = advise(board_of(CHAT, []), CHAT.query)
    assert (found.outcome, found.offers, found.best) == ("nothing measured", (), None)


def test_of_too_few_requests_the_batches_are_what_is_missing() -> None:
    found = advised(CHAT, 60)
    batches = missing_batches(found, 500)
    assert batches
    assert all(0 < one.count <= 500 for one in batches)
    jobs = missing_batches(advised(AGENT, 30), 90)
    assert all(one.count * one.calls <= 96 for one in jobs if one.kind == "jobs")
    assert missing_batches(advised(CHAT), 500) == []


def test_members_of_the_pareto_set_are_those_that_nobody_beats() -> None:
    found = advised(CHAT)
    inside = {one.key for one in found.offers if one.in_pareto}
    # At its standard tier it is the slowest, and dearer than all but its fast tier; but it solves more.
    assert key("grand") in inside
    assert found.dimensions == ("time", "bill", "capability")
    assert all(one.pareto is not None and one.pareto > 0.5 for one in found.offers if one.in_pareto)


def test_every_number_has_an_origin() -> None:
    found = advised(CHAT)
    told = origins(found)
    for offer in found.offers:
        mine = [one for one in told if one.offer == offer.key]
        assert [one.what for one in mine] == ["ttft_ms=1000", "bill", "time", "pareto"]
        assert offer.case.row.evidence.digests[0].run_id in mine[0].source
        assert "planted" in mine[1].source
        assert f"{START:%Y-%m-01}" in mine[1].source
    assert {name for one in told for name in one.formula.split(", ")} <= set(FORMULAS)


def test_a_budget_of_a_day_needs_jobs_a_day() -> None:
    found = advised(CHAT, query=AdviceQuery((parse_budget("1/day"),)))
    assert {one.status for one in found.offers} == {"aside"}
    assert "--jobs-per-day" in (found.offers[0].why_aside or "")

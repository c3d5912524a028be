"""The advisor finds what was planted, and where it cannot know it says so, and names nobody."""

from collections import Counter

import pytest

from paceline.advisor.advise import Advice, advise
from tests.advisor.planted import OFFERS, WORKS, Market, Work, quick

SEEDS = 200
SIZES = (5, 20, 60, 200)
LARGE, LARGE_SEEDS = 1000, 20
MOST_WRONG = 0.05


def named(advice: Advice) -> str:
    """The offer by its name here, or `nobody`."""
    return next((name for name, offer in OFFERS.items() if offer.key == advice.best), "nobody")


def names(work: Work, sizes: tuple[int, ...], seeds: int) -> dict[int, Counter[str]]:
    """Who was named how often, by requests an offer."""
    found: dict[int, Counter[str]] = {n: Counter() for n in sizes}
    for seed in range(seeds):
        market = Market(work, seed, max(sizes))
        for n in sizes:
            found[n][named(advise(market.board(n), quick(work.query)))] += 1
    return found


@pytest.mark.parametrize("work", WORKS, ids=lambda work: work.name)
def test_at_most_five_per_cent_of_names_are_wrong_at_every_size(work: Work) -> None:
    for n, counted in names(work, SIZES, SEEDS).items():
        wrong = SEEDS - counted[work.best] - counted["nobody"]
        assert wrong <= MOST_WRONG * SEEDS, f"{n} requests: {counted}"
        if n < 20:
            assert counted["nobody"] == SEEDS, "of so few nothing can be shown"


@pytest.mark.parametrize("work", WORKS, ids=lambda work: work.name)
def test_of_many_requests_the_planted_best_is_named(work: Work) -> None:
    counted = names(work, (LARGE,), LARGE_SEEDS)[LARGE]
    assert counted[work.best] >= 0.95 * LARGE_SEEDS, counted


def test_each_workload_has_another_best() -> None:
    assert len({work.best for work in WORKS}) == len(WORKS)


@pytest.mark.parametrize("work", WORKS, ids=lambda work: work.name)
def test_too_few_requests_are_said_to_be_too_few(work: Work) -> None:
    advice = advise(Market(work, 1, 20).board(5), quick(work.query))
    assert advice.outcome == "not enough data"
    assert (
        any(verdict.needs for offer in advice.offers for verdict in offer.verdicts)
        or advice.decision.blockers
    )

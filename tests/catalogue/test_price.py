import math
from datetime import date

import numpy as np
import pytest

from paceline.catalogue.price import ContextTier, Price, Rates

DAY = date(2026, 11, 30)
CACHED = Rates(3.0, 15.0, 0.3, 3.75, request_usd=0.001)


def price(rates: Rates = CACHED, *tiers: ContextTier) -> Price:
    return Price("tokens", rates, "by hand", DAY, tiers)


def test_costs_are_those_computed_by_hand() -> None:
    """The cases of the gateway's own reckoning (crates/paceline-gateway, accounts/price.rs)."""
    columns = ([1000, 0, 1000], [600, 0, 2000], [300, 0, 500], [200, 0, 0])
    # 100 x 3 + 600 x 0.3 + 300 x 3.75 + 200 x 15; nothing; 1000 x 0.3, no token being charged twice.
    assert price().usd(*columns).total == pytest.approx([0.005605, 0.001, 0.0013])
    plain = price(Rates(3.0, 15.0)).usd([1000], [600], [300], [200])
    assert plain.total == pytest.approx([0.006])
    assert plain.cache_read == pytest.approx([0.0018])


def test_a_tier_is_of_prompts_over_it() -> None:
    tiered = price(
        Rates(1.0, 2.0, 0.1),
        ContextTier(32_000, Rates(3.0, 4.0, 0.3, request_usd=0.5)),
        ContextTier(128_000, Rates(5.0, 6.0)),
    )
    prompt = [31_999, 32_000, 32_001, 128_000, 128_001]
    costs = tiered.usd(prompt, 1000, 0, 1000)
    assert costs.output == pytest.approx([0.002, 0.002, 0.004, 0.004, 0.006])
    assert costs.cache_read == pytest.approx([0.0001, 0.0001, 0.0003, 0.0003, 0.005])
    assert costs.input == pytest.approx([0.030999, 0.031, 0.093003, 0.381, 0.635005])
    assert costs.requests == pytest.approx([0, 0, 0.5, 0.5, 0])


def test_reasoning_is_of_the_answer_and_may_have_a_price_of_its_own() -> None:
    same = price().usd([0], [0], [0], [100], [40])
    assert same.output == pytest.approx([0.0015])
    assert same.reasoning == pytest.approx([0.0006])
    own = price(Rates(2.0, 8.0, reasoning_usd_per_mtok=3.0)).usd([0], [0], [0], [100], [40])
    assert own.output == pytest.approx([(60 * 8 + 40 * 3) / 1e6])


def test_what_is_not_known() -> None:
    nan = math.nan
    costs = price().usd([nan, 1000, 1000], [nan, nan, 0], [0, nan, 0], [10, 10, nan], [nan, nan, 3])
    assert np.isnan(costs.input).tolist() == [True, False, False]
    assert np.isnan(costs.output).tolist() == [False, False, True]
    assert np.isnan(costs.total).tolist() == [True, False, True]
    # A server that says nothing of its cache has given nothing from it.
    assert costs.total[1] == pytest.approx(0.003 + 0.00015 + 0.001)
    assert np.isnan(costs.reasoning).tolist() == [True, True, True]
    tiered = price(Rates(1.0, 2.0), ContextTier(100, Rates(1.0, 3.0))).usd([nan], 0, 0, [10])
    assert np.isnan(tiered.output[0])
    assert tiered.requests[0] == 0


def test_so_many_times_a_price() -> None:
    own = price(Rates(0.1, 0.4, request_usd=0.01), ContextTier(10, Rates(0.2, 0.8))).times(3)
    assert own.rates == Rates(0.3, 1.2, request_usd=0.03)
    assert own.tiers == (ContextTier(10, Rates(0.6, 2.4)),)
    assert own.source == "by hand, times 3"
    assert price().times(1) == price()
    assert Price("hours", Rates(0, 0), "x", DAY, usd_per_hour=2.0).times(0.5).usd_per_hour == 1.0

"""Figures of a row by hand, and intervals against what they promise."""

from datetime import date
from typing import Any

import numpy as np
import pytest

from paceline.advisor.bill import bill_of, job_costs
from paceline.advisor.board_figures import (
    answer_time,
    answer_times_ms,
    figures_of,
    speed_per_usd,
    stability,
    success_share,
)
from paceline.advisor.digest import CUT, FAILED, WELL
from paceline.advisor.evidence import OfferEvidence, pooled
from paceline.advisor.figures import FIGURES, Figure, of_estimate
from paceline.catalogue.price import Price, PriceUnknown, Rates
from tests.advisor.samples import digest, evidence

PRICE = Price("tokens", Rates(2.0, 10.0), "test", date(2026, 11, 30))


def figures(one: OfferEvidence, price: Price | PriceUnknown = PRICE) -> dict[str, Figure]:
    costs = job_costs(one, price) if isinstance(price, Price) else None
    return figures_of(one, bill=bill_of(one, price), costs=costs, capability=Figure(0.5, 0.4, 0.6, 10))


def test_every_figure_is_there_in_order_and_by_hand() -> None:
    found = figures(evidence(400))
    assert list(found) == list(FIGURES)
    values = {name: one.value for name, one in found.items()}
    assert values["ttft_p50_ms"] == values["ttft_p95_ms"] == values["ttfat_p50_ms"] == 200.0
    assert values["output_tok_s"] == 50.0
    assert values["stability"] == 1.0
    assert values["stall_p95_ms"] == 25.0
    # 200 ms, then 499 tokens of 20 ms each.
    assert values["e2e_500_ms"] == pytest.approx(200.0 + 499 * 20.0)
    assert values["success_share"] == 1.0
    assert values["capability"] == 0.5
    # 500 prompt tokens at 2 USD and 100 answered at 10 USD a million: 0.001 + 0.001.
    assert values["usd_per_job"] == pytest.approx(0.002)
    # 50 tok/s for 2 USD a thousand jobs.
    assert values["tok_s_per_usd"] == pytest.approx(25.0)
    assert all(one.known for one in found.values())


def test_e2e_is_of_each_requests_own_rate_and_not_of_medians() -> None:
    one = evidence(3, sample={"ttfat_ms": [100, 200, 900], "output_tok_s": [10, 500, 100]})
    assert answer_times_ms(one).tolist() == pytest.approx([50_000.0, 1198.0, 5890.0])
    assert answer_time(one).value == pytest.approx(5890.0)


def test_a_request_that_was_cut_makes_e2e_longer() -> None:
    outcome = np.full(100, WELL)
    outcome[:60] = CUT
    nothing = np.where(outcome == WELL, 100.0, np.nan)
    one = evidence(
        100, sample={"outcome": outcome, "ttfat_ms": nothing, "output_tok_s": nothing, "elapsed_ms": 9e4}
    )
    found = answer_time(one)
    assert found.value is None
    assert found.lo is not None
    assert found.note == "beyond what was waited for"


def test_success_is_of_all_requests_with_the_exact_interval() -> None:
    outcome = np.where(np.arange(100) % 40 == 7, FAILED, WELL)
    found = success_share(evidence(100, sample={"outcome": outcome}))
    assert (found.value, found.n) == (0.97, 100)
    # Clopper and Pearson, 97 of 100.
    assert found.lo == pytest.approx(0.9148, abs=5e-5)
    assert found.hi == pytest.approx(0.9938, abs=5e-5)


def test_stability_is_the_tail_over_the_median() -> None:
    # 90 of 100 take 100 ms, 10 take 300 ms.
    times = np.where(np.arange(1000) % 10 == 3, 300.0, 100.0)
    found = stability(evidence(1000, sample={"ttft_ms": times}))
    assert (found.value, found.n) == (3.0, 1000)
    assert found.lo is not None
    assert found.lo <= 3.0


def test_the_interval_of_stability_holds_the_truth_as_often_as_it_says() -> None:
    """Lognormal TTFT of sigma 0.3: the truth is exp(1.645 * 0.3)."""
    truth, rng, inside = np.exp(1.6448536 * 0.3), np.random.default_rng(5), 0
    for _ in range(100):
        found = stability(evidence(600, sample={"ttft_ms": 200.0 * rng.lognormal(0.0, 0.3, 600)}))
        assert found.lo is not None
        assert found.hi is not None
        inside += found.lo <= truth <= found.hi
    assert inside >= 88


@pytest.mark.parametrize(("n", "needs"), [(50, 200), (199, 200)])
def test_few_requests_have_no_interval_of_stability(n: int, needs: int) -> None:
    found = stability(evidence(n))
    assert (found.value, found.lo, found.hi, found.needs_n) == (1.0, None, None, needs)


def test_a_tail_beyond_what_was_waited_for_is_not_known() -> None:
    outcome = np.where(np.arange(400) % 10 == 0, CUT, WELL)
    times = np.where(outcome == WELL, 100.0, np.nan)
    found = stability(evidence(400, sample={"outcome": outcome, "ttft_ms": times, "elapsed_ms": 1e5}))
    assert found.value is None
    assert found.note == "beyond what was waited for"


def test_speed_for_money_has_the_spread_of_both() -> None:
    rng = np.random.default_rng(3)
    tokens = rng.lognormal(4.5, 0.8, 2000).round()
    one = evidence(2000, sample={"completion_tokens": tokens, "output_tok_s": rng.lognormal(4.0, 0.2, 2000)})
    rate, bill = of_estimate(one.quantile("output_tok_s", 0.5)), bill_of(one, PRICE)
    found = speed_per_usd(one, rate, bill, job_costs(one, PRICE))
    assert rate.value is not None
    assert bill.usd_per_job.value is not None
    assert found.value == pytest.approx(rate.value / (1000.0 * bill.usd_per_job.value))
    assert found.lo is not None
    assert found.hi is not None
    assert found.lo < float(found.value or 0.0) < found.hi
    # Relative widths add up about as squares: wider than either alone, and no wider than their sum.
    width, speed, usd = (one.hi / one.lo - 1.0 for one in (found, rate, bill.usd_per_job))  # type: ignore[operator]
    assert max(speed, usd) * 0.8 < width < (speed + usd) * 1.3


def test_without_a_price_it_says_what_to_do() -> None:
    found = figures(evidence(400), PriceUnknown("nobody knows", "state it"))
    assert found["usd_per_job"].value is None
    assert found["tok_s_per_usd"].value is None
    assert found["tok_s_per_usd"].note == found["usd_per_job"].note
    assert "state it" in str(found["usd_per_job"].note)


def test_what_costs_nothing_has_no_speed_for_money() -> None:
    found = figures(evidence(400), Price("tokens", Rates(0.0, 0.0), "test", date(2026, 11, 30)))
    assert found["usd_per_job"].value == 0.0
    assert found["tok_s_per_usd"].note == "it costs nothing"


def test_answers_in_one_piece_say_so() -> None:
    nothing = dict.fromkeys(("ttft_ms", "ttfat_ms", "output_tok_s", "longest_stall_ms"), np.nan)
    found = figures(evidence(400, sample=nothing, streaming=False))
    for name in ("ttft_p50_ms", "stability", "output_tok_s", "e2e_500_ms", "tok_s_per_usd", "stall_p95_ms"):
        assert found[name].value is None
        assert str(found[name].note).startswith("not streamed")
    assert found["success_share"].value == 1.0
    assert found["usd_per_job"].value is not None


def test_a_run_of_failures_has_its_share_and_nothing_else() -> None:
    nothing: dict[str, Any] = dict.fromkeys(
        ("ttft_ms", "ttfat_ms", "output_tok_s", "longest_stall_ms"), np.nan
    )
    found = figures(evidence(50, sample={**nothing, "outcome": FAILED}))
    assert found["success_share"].value == 0.0
    assert found["ttft_p50_ms"].note == "no request ended well"
    assert found["usd_per_job"].value is None


def test_a_single_request_is_no_evidence() -> None:
    found = figures(evidence(1))
    assert found["ttft_p50_ms"].value == 200.0
    assert not found["ttft_p50_ms"].known
    assert not found["stability"].known
    assert not found["tok_s_per_usd"].known


def test_days_that_differ_make_it_less_sure_than_either_alone_says() -> None:
    rng = np.random.default_rng(2)
    days = [
        digest(400, run_id=f"day-{number}", sample={"ttft_ms": level * rng.lognormal(0.0, 0.1, 400)})
        for number, level in enumerate((150.0, 250.0, 150.0, 250.0))
    ]
    offer = pooled(days)[0]
    assert offer.runs_differ
    both = offer.quantile("ttft_ms", 0.5)
    one = pooled(days[:1])[0].quantile("ttft_ms", 0.5)
    assert one.enough
    assert both.lo is not None
    assert both.hi is not None
    # They span what the days were.
    assert both.lo < 152.0
    assert both.hi > 245.0

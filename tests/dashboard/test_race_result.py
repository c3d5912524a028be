"""What is said at the end of a race."""

import math
from datetime import date
from typing import Any

import pytest

from paceline.catalogue.price import Price, PriceUnknown, Rates
from paceline.dashboard.race_result import cost_of, summary
from paceline.dashboard.race_side import Figures
from tests.dashboard.test_race_side import side

PRICE = Price("tokens", Rates(2.0, 10.0, cache_read_usd_per_mtok=0.5), "a file, line 3", date(2026, 11, 30))


def figures(**fields: Any) -> Figures:
    told: dict[str, Any] = {
        "outcome": "ok",
        "error": None,
        "ttft_ms": 100.0,
        "ttfat_ms": 100.0,
        "e2e_ms": 500.0,
        "output_tok_s": 50.0,
        "longest_stall_ms": 20.0,
        "tokens": 40,
        "prompt_tokens": 1000,
        "completion_tokens": 200,
        "reasoning_tokens": None,
        "cached_tokens": 400,
        "cache_write_tokens": None,
        "approximate": False,
        "connect_ms": None,
        "finish_reason": "stop",
        **fields,
    }
    return Figures(**told)


def result(lane: int, **fields: Any) -> dict[str, Any]:
    return {"lane": lane, **vars(figures(**fields))}


def test_a_cost_by_hand() -> None:
    cost = cost_of(figures(), PRICE)
    # 600 fresh at 2, 400 cached at 0.5, 200 answered at 10 USD a million.
    assert math.isclose(cost["usd"], (600 * 2 + 400 * 0.5 + 200 * 10) / 1e6)
    assert cost["source"] == "a file, line 3"


@pytest.mark.parametrize(
    ("price", "fields", "why"),
    [
        (PriceUnknown("nobody knows it", "state it"), {}, "nobody knows it"),
        (PRICE, {"prompt_tokens": None}, "did not say how many tokens"),
        (PRICE, {"completion_tokens": None}, "did not say how many tokens"),
        (Price("hours", Rates(0.0, 0.0), "x", date(2026, 11, 30), usd_per_hour=2.0), {}, "own hardware"),
    ],
)
def test_a_cost_that_is_not_known_says_why(
    price: Price | PriceUnknown, fields: dict[str, Any], why: str
) -> None:
    cost = cost_of(figures(**fields), price)
    assert cost["usd"] is None
    assert why in cost["why"]


def test_the_order_is_by_each_figure_and_of_those_at_their_end() -> None:
    results = {
        0: result(0, e2e_ms=900.0, ttft_ms=50.0, output_tok_s=40.0),
        1: result(1, e2e_ms=500.0, ttft_ms=200.0, output_tok_s=90.0),
        2: result(2, outcome="timeout", e2e_ms=1.0, ttft_ms=1.0, output_tok_s=999.0),
        3: result(3, e2e_ms=700.0, ttft_ms=100.0, output_tok_s=None),
    }
    found = summary([side(), side(), side(), side()], results)
    assert found["order"] == {"e2e_ms": [1, 3, 0], "ttft_ms": [0, 3, 1], "output_tok_s": [1, 0]}
    assert found["leads"] == {"e2e_ms": 1, "ttft_ms": 0, "output_tok_s": 1}
    assert "one sample" in found["notes"][0]
    assert any("did not come to its end" in note for note in found["notes"])
    assert any("runs against itself" in note for note in found["notes"])


def test_who_is_ahead_by_a_hair_does_not_lead() -> None:
    results = {0: result(0, e2e_ms=500.0, ttft_ms=100.0), 1: result(1, e2e_ms=501.0, ttft_ms=106.0)}
    found = summary([side(), side()], results)
    assert found["order"]["e2e_ms"] == [0, 1]
    assert found["leads"] == {"e2e_ms": None, "ttft_ms": 0, "output_tok_s": None}


def test_answers_of_different_length_are_told_of() -> None:
    found = summary([side(), side()], {0: result(0, tokens=40), 1: result(1, tokens=90, approximate=True)})
    assert any("40 to 90 tokens" in note for note in found["notes"])
    assert any(note.startswith("~") for note in found["notes"])

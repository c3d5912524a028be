"""What a run has cost, against sums by hand."""

from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from paceline.catalogue.price import Price, PriceUnknown, Rates
from paceline.report.cost import RunCost, run_cost
from paceline.report.html import render_html
from paceline.report.markdown import render_markdown
from paceline.report.model import Report
from paceline.report.terminal import render_text
from tests.report.samples import report
from tests.support.rows import make_row

PRICE = Price("tokens", Rates(3.0, 15.0, 0.3), "by hand, as of 2026-11-30", date(2026, 11, 30))
HOURS = Price("hours", Rates(0.0, 0.0), "by hand, as of 2026-11-30", date(2026, 11, 30), usd_per_hour=36.0)


def row(index: int, **fields: Any) -> dict[str, Any]:
    return make_row(
        request_index=index,
        **{"prompt_tokens": 1000, "cached_tokens": 400, "completion_tokens": 200, **fields},
    )


def costed(home: Path, rows: list[dict[str, Any]], price: Price | PriceUnknown) -> Report:
    found = report(home, rows)
    return replace(found, cost=run_cost(found.evidence, price))


def test_all_measured_requests_are_in_the_sum(home: Path) -> None:
    """600 x 3 + 400 x 0.3 + 200 x 15 = 4,920 millionths each; one failed after the half of its answer."""
    rows = [row(0), row(1), row(2, outcome="truncated", completion_tokens=100), row(3, phase="warmup")]
    cost = costed(home, rows, PRICE).cost
    assert cost is not None
    assert cost.usd == pytest.approx(2 * 0.00492 + 0.00342)
    assert cost.usd_per_request == pytest.approx(0.00492)
    assert cost.unpriced == 0
    assert cost.words() == "0.0133 USD, 0.00492 a request (by hand, as of 2026-11-30)"


def test_tokens_that_the_server_does_not_say(home: Path) -> None:
    cost = costed(home, [row(0), row(1, prompt_tokens=None)], PRICE).cost
    assert cost is not None
    assert cost.unpriced == 1
    assert cost.usd == pytest.approx(0.00492)
    assert cost.words().startswith("at least 0.00492 USD")
    none = costed(home, [row(0, prompt_tokens=None)], PRICE)
    assert none.to_dict()["cost"] == {
        "known": False,
        "reason": "the server did not say how many tokens there were",
    }


def test_own_hardware_costs_its_time(healthy: Report) -> None:
    """36 USD an hour are 0.01 a second."""
    seconds = sum(one["elapsed_ns"] for one in healthy.manifest.segments) / 1e9
    cost = run_cost(healthy.evidence, HOURS)
    assert cost.usd == pytest.approx(0.01 * seconds)
    assert cost.usd_per_request == pytest.approx(0.01 * seconds / healthy.well)


def test_only_a_known_price_has_a_line(healthy: Report) -> None:
    known = replace(healthy, cost=run_cost(healthy.evidence, PRICE))
    unknown = replace(healthy, cost=run_cost(healthy.evidence, PriceUnknown("nobody knows it", "ask")))
    for render in (render_text, render_markdown):
        assert "by hand, as of" in " ".join(render(known).split())
        for other in (healthy, unknown):
            assert "USD" not in render(other)
    assert "by hand, as of" in render_html(known).split("paceline.report/1")[0]
    assert unknown.to_dict()["cost"] == {"known": False, "reason": "nobody knows it"}
    assert healthy.to_dict()["cost"]["known"] is False


def test_the_page_describes_a_known_cost() -> None:
    page = Path(__file__).parents[2] / "docs" / "reference" / "report.md"
    (line,) = [one for one in page.read_text().splitlines() if one.startswith("| `cost` |")]
    document = RunCost(PRICE, 1.0, 0.5, 0).to_dict()
    assert all(f"`{name}`" in line for name in (*document, "reason"))

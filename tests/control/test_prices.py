from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import genai_prices
import pytest

from paceline.control.config import OfferConfig
from paceline.control.prices import priced
from paceline.errors import ConfigError

NOW = datetime(2026, 11, 30, tzinfo=UTC)


def offer(**more: Any) -> OfferConfig:
    return OfferConfig.model_validate({"id": "a", "model": "m", "base_url": "http://a"} | more)


def billed(model: str, provider: str, **usage: int) -> Decimal:
    """By the package's own reckoning."""
    return genai_prices.calc_price(
        genai_prices.Usage(**usage), model, provider_id=provider, genai_request_timestamp=NOW
    ).total_price


def test_own_figures_times_the_tier() -> None:
    price = {"input_usd_per_mtok": 0.1, "output_usd_per_mtok": 0.4, "request_usd": 0.01}
    found = priced(offer(price=price, price_multiplier=3), NOW)
    assert found.price == {"input_usd_per_mtok": 0.3, "output_usd_per_mtok": 1.2, "request_usd": 0.03}
    assert found.source == "the config, times 3"
    assert found.warnings == []


@pytest.mark.parametrize(
    "reference", [{"ref": "openai:gpt-5-mini"}, {"provider": "openai", "model": "gpt-5-mini"}]
)
def test_a_reference_is_the_packages_price(reference: dict[str, str]) -> None:
    found = priced(offer(price=reference), NOW)
    assert found.price is not None
    million = billed("gpt-5-mini", "openai", input_tokens=1_000_000)
    assert found.price["input_usd_per_mtok"] == pytest.approx(float(million))
    out = billed("gpt-5-mini", "openai", output_tokens=1_000_000)
    assert found.price["output_usd_per_mtok"] == pytest.approx(float(out))
    cached = billed("gpt-5-mini", "openai", input_tokens=1_000_000, cache_read_tokens=1_000_000)
    assert found.price["cache_read_usd_per_mtok"] == pytest.approx(float(cached))
    assert found.source == f"genai-prices {genai_prices.__version__}, openai:gpt-5-mini, as of 2026-11-30"


def test_a_tier_that_the_body_asks_for_has_its_own_price() -> None:
    standard = priced(offer(price={"ref": "openai:gpt-5-mini"}), NOW)
    body = {"service_tier": "priority"}
    fast = priced(offer(price={"ref": "openai:gpt-5-mini"}, tier="fast", extra_body=body), NOW)
    assert standard.price is not None
    assert fast.price is not None
    expected = genai_prices.calc_price(
        genai_prices.Usage(output_tokens=1_000_000),
        "gpt-5-mini",
        provider_id="openai",
        genai_request_timestamp=NOW,
        price_context=body,
    ).total_price
    assert fast.price["output_usd_per_mtok"] == pytest.approx(float(expected))
    assert fast.price["output_usd_per_mtok"] > standard.price["output_usd_per_mtok"]
    assert "service_tier priority" in (fast.source or "")
    assert fast.warnings == []


def test_a_tier_at_the_standard_price_is_doubted() -> None:
    (warning,) = priced(offer(price={"ref": "openai:gpt-5-mini"}, tier="fast"), NOW).warnings
    assert "say price_multiplier" in warning
    assert (
        priced(offer(price={"ref": "openai:gpt-5-mini"}, tier="fast", price_multiplier=2), NOW).warnings == []
    )


def test_a_price_that_grows_with_the_prompt_is_doubted() -> None:
    reference = {"ref": "anthropic:claude-sonnet-4-5"}
    (warning,) = priced(offer(price=reference), NOW).warnings
    assert "prompts of more than 200,000 tokens" in warning
    assert priced(offer(price=reference, context_tokens=200_000), NOW).warnings == []


def test_no_price_is_no_price() -> None:
    found = priced(offer(), NOW)
    assert (found.price, found.source) == (None, None)
    assert "no price" in found.warnings[0]


def test_a_reference_that_leads_nowhere() -> None:
    with pytest.raises(ConfigError, match="no such model of openai") as caught:
        priced(offer(price={"ref": "openai:gpt-5-mnii"}), NOW)
    assert "gpt-5-mini" in (caught.value.hint or "")
    with pytest.raises(ConfigError, match="no such provider"):
        priced(offer(price={"ref": "nobody:gpt-5"}), NOW)

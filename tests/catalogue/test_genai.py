"""The package's own reckoning (`genai_prices.calc_price`) is the independent truth."""

import random
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import genai_prices
import pytest
from genai_prices.data import providers

from paceline.catalogue.genai import BATCH, body_variant, by_endpoint, by_reference
from paceline.errors import ConfigError

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


def peer(provider: str, model: str, at: datetime, variant: dict[str, str], **usage: int) -> Decimal:
    return genai_prices.calc_price(
        genai_prices.Usage(**usage),
        model,
        provider_id=provider,
        genai_request_timestamp=at,
        price_context=variant,
    ).total_price


def ours(provider: str, model: str, at: datetime, variant: dict[str, str], **usage: int) -> float | None:
    price = by_reference(provider, model, at, variant).price
    if price is None:
        return None
    costs = price.usd(
        [usage["input_tokens"]],
        [usage["cache_read_tokens"]],
        [usage["cache_write_tokens"]],
        [usage["output_tokens"]],
        [usage["output_reasoning_tokens"]],
    )
    return float(costs.total[0])


def a_usage(rng: random.Random) -> dict[str, int]:
    prompt = rng.choice([0, 1, 999, 127_999, 128_000, 128_001, 199_999, 200_000, 200_001, 272_001, 600_000])
    read = rng.randint(0, prompt)
    write = rng.randint(0, prompt - read)
    output = rng.randint(0, 20_000)
    return {
        "input_tokens": prompt,
        "cache_read_tokens": read,
        "cache_write_tokens": write,
        "output_tokens": output,
        "output_reasoning_tokens": rng.randint(0, output),
    }


def test_bills_are_those_of_the_package() -> None:
    """Every model of every provider, each at a random day, variant and usage; and the big ones at many."""
    rng = random.Random(5)
    variants: list[dict[str, str]] = [
        {},
        {"service_tier": "priority"},
        {"service_tier": "flex"},
        {"speed": "fast"},
        BATCH,
    ]
    checked = 0
    for provider in providers:
        times = 6 if provider.id in ("openai", "anthropic", "google", "deepseek") else 1
        for model in provider.models * times:
            at = NOW - timedelta(minutes=rng.randint(0, 900 * 24 * 60))
            variant = rng.choice(variants)
            usage = a_usage(rng)
            try:
                mine = ours(provider.id, model.id, at, variant, **usage)
            except ConfigError:
                # An id by which the package itself does not find its model.
                with pytest.raises(LookupError):
                    peer(provider.id, model.id, at, variant, **usage)
                continue
            if mine is None:
                continue
            theirs = float(peer(provider.id, model.id, at, variant, **usage))
            assert mine == pytest.approx(theirs, rel=1e-10, abs=1e-15), (provider.id, model.id)
            checked += 1
    assert checked > 2_500


@pytest.mark.parametrize("prompt", [199_999, 200_000, 200_001])
def test_a_long_prompt_costs_more_in_all_its_tokens(prompt: int) -> None:
    """3 and 15 USD up to 200,000 tokens, 6 and 22.5 beyond (claude-sonnet-4-5's prices of that day)."""
    price = by_reference("anthropic", "claude-sonnet-4-5", NOW).price
    assert price is not None
    costs = price.usd([prompt], [0], [0], [1000])
    per_mtok = (6.0, 22.5) if prompt > 200_000 else (3.0, 15.0)
    assert costs.input[0] == pytest.approx(prompt * per_mtok[0] / 1e6)
    assert costs.output[0] == pytest.approx(1000 * per_mtok[1] / 1e6)
    assert price.tiers[0].over_prompt_tokens == 200_000


def test_the_price_is_that_of_the_day() -> None:
    """claude-opus-4-6 cost more beyond 200,000 tokens until 2026-03-12, and no more from then on."""
    before = by_reference("anthropic", "claude-opus-4-6", datetime(2026, 3, 12, 23, 59, tzinfo=UTC)).price
    after = by_reference("anthropic", "claude-opus-4-6", datetime(2026, 3, 13, tzinfo=UTC)).price
    assert before is not None
    assert after is not None
    long = ([300_000], [0], [0], [1000])
    assert before.usd(*long).total[0] == pytest.approx(0.3 * 10 + 0.001 * 37.5)
    assert after.usd(*long).total[0] == pytest.approx(0.3 * 5 + 0.001 * 25)
    assert before.source.endswith("anthropic:claude-opus-4-6, as of 2026-03-12")


def test_variants_have_their_own_prices() -> None:
    standard = by_reference("openai", "gpt-5-mini", NOW)
    fast = by_reference("openai", "gpt-5-mini", NOW, {"service_tier": "priority"})
    batch = by_reference("openai", "gpt-5-mini", NOW, BATCH)
    assert standard.price is not None
    assert fast.price is not None
    assert batch.price is not None
    assert [one.price.rates.output_usd_per_mtok for one in (standard, fast, batch) if one.price] == [
        2,
        3.6,
        1,
    ]
    assert (standard.as_standard, fast.as_standard, batch.as_standard) == (True, False, False)
    assert fast.price.source == (
        f"genai-prices {genai_prices.__version__}, openai:gpt-5-mini, service_tier priority, as of 2026-11-30"
    )
    unknown = by_reference("groq", "llama-3.3-70b-versatile", NOW, {"service_tier": "priority"})
    assert unknown.as_standard
    assert unknown.price is not None
    assert "priority" not in unknown.price.source


def test_what_a_body_asks_for() -> None:
    assert body_variant({"service_tier": "priority", "top_k": 3}) == {"service_tier": "priority"}
    assert body_variant({"service_tier": "batch"}) == BATCH
    assert body_variant({"service_tier": 5}) == {}


@pytest.mark.parametrize(
    ("endpoint", "model", "name"),
    [
        ("https://api.openai.com/v1", "gpt-5-mini", "openai:gpt-5-mini"),
        ("https://api.openai.com/v1", "gpt-5-mini-2025-08-07", "openai:gpt-5-mini"),
        ("https://api.anthropic.com", "claude-sonnet-4-5", "anthropic:claude-sonnet-4-5"),
        ("https://api.groq.com/openai/v1", "llama-3.3-70b-versatile", "groq:llama-3.3-70b-versatile"),
    ],
)
def test_a_price_by_url(endpoint: str, model: str, name: str) -> None:
    found = by_endpoint(endpoint, "whoever", model, NOW, {})
    assert found is not None
    assert found.name == name


def test_who_is_called_is_who_is_paid() -> None:
    """The URL goes before the provider's name, which only counts where no URL is known, and only whole."""
    assert by_endpoint("http://127.0.0.1:8080/v1", "127.0.0.1:8080", "gpt-5-mini", NOW, {}) is None
    found = by_endpoint("http://127.0.0.1:8080/v1", "OpenAI", "gpt-5-mini", NOW, {})
    assert found is not None
    assert found.name == "openai:gpt-5-mini"
    assert by_endpoint("http://127.0.0.1:8080/v1", "my-openai", "gpt-5-mini", NOW, {}) is None
    assert by_endpoint("https://api.openai.com/v1", "openai", "no-such-model", NOW, {}) is None
    routed = by_endpoint("https://openrouter.ai/api/v1", "openai", "openai/gpt-5-mini", NOW, {})
    assert routed is not None
    assert routed.name.startswith("openrouter:")


def test_a_price_that_changes_within_the_day_says_so() -> None:
    at = datetime(2026, 11, 30, 2, 30, tzinfo=UTC)
    price = by_reference("deepseek", "deepseek-v4-flash", at).price
    assert price is not None
    assert price.rates.input_usd_per_mtok == 0.3
    assert price.warnings == ("the price changes within the day: it is that of 02:30 UTC",)


def test_a_request_has_a_price() -> None:
    """perplexity:sonar, 12 USD for a thousand requests, 1 USD a million tokens."""
    price = by_reference("perplexity", "sonar", NOW).price
    assert price is not None
    costs = price.usd([1000, 0], [0, 0], [0, 0], [500, 0])
    assert costs.total == pytest.approx([0.012 + 0.0015, 0.012])


def test_a_model_without_a_price_a_token() -> None:
    found = by_reference("groq", "whisper-large-v3", NOW)
    assert found.price is None


@pytest.mark.parametrize(
    ("reference", "message", "hint"),
    [
        (("openai", "gpt-5-mnii"), "no such model of openai", "gpt-5-mini"),
        (("opnai", "gpt-5"), "no such provider", "openai"),
    ],
)
def test_a_reference_that_leads_nowhere(reference: tuple[str, str], message: str, hint: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        by_reference(reference[0], reference[1], NOW)
    assert hint in (caught.value.hint or "")

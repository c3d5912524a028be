"""Usage and cost by hand: what upstreams say, what they do not say, and what they serve other than asked."""

from typing import Any

import pytest

from paceline.protocols import Protocol
from tests.e2e.gateway.conftest import Engines, Gateways
from tests.support.gateway import asks
from tests.support.gateway.engines import tokens_sent
from tests.support.gateway.process import config_of, cost_usd, offer

PRICE = {
    "input_usd_per_mtok": 3.0,
    "output_usd_per_mtok": 5.0,
    "cache_read_usd_per_mtok": 0.5,
    "request_usd": 0.001,
}
PROMPT = 100


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("protocol", asks.STREAMING)
def test_cached_prompts_have_their_own_price(
    engine: Engines, gateway: Gateways, protocol: Protocol, stream: bool
) -> None:
    upstream = engine({"cached_tokens": 64, "reasoning_tokens": 2})
    served = gateway(config_of(offer("a", upstream.url, price=PRICE)))
    answer = served.ask(protocol, asks.body(protocol, "demo", PROMPT, stream))
    entry = served.entry()
    usage = entry["attempts"][0]["usage"]
    reasoning = 0 if protocol == "openai-completions" else 2
    assert usage == {
        "prompt_tokens": PROMPT, "completion_tokens": 6, "reasoning_tokens": usage["reasoning_tokens"],
        "cached_tokens": 64, "cache_write_tokens": 0, "source": "server",
    }  # fmt: skip
    assert usage["reasoning_tokens"] in (0, reasoning, 2)
    expected = cost_usd(PRICE, PROMPT, 6, cached=64)
    assert entry["cost_usd"] == pytest.approx(expected, abs=1e-9)
    assert answer.usage == {
        "prompt": PROMPT, "completion": 6, "cached": 64, "cost": pytest.approx(expected, abs=1e-9),
    }  # fmt: skip


@pytest.mark.parametrize("protocol", asks.STREAMING)
def test_an_upstream_that_says_no_usage_is_counted(
    engine: Engines, gateway: Gateways, protocol: Protocol
) -> None:
    upstream = engine({"usage": "none"})
    served = gateway(config_of(offer("a", upstream.url, price=PRICE)))
    assert served.ask(protocol, asks.body(protocol, "demo", PROMPT, stream=True)).is_whole(6)
    entry = served.entry(outcome="ok")
    usage = entry["attempts"][0]["usage"]
    (record,) = upstream.truth_of(PROMPT)
    assert usage["source"] == "estimated"
    assert usage["completion_tokens"] == tokens_sent(record) == 6
    # By the bytes of `w0 w1 ... w99`: no tokenizer is asked, so it is of the right size and no more.
    assert PROMPT / 2 <= usage["prompt_tokens"] <= PROMPT * 2
    expected = cost_usd(PRICE, usage["prompt_tokens"], 6)
    assert entry["cost_usd"] == pytest.approx(expected, abs=1e-9)


def test_usage_that_was_not_asked_for_is_not_sent_on(engine: Engines, gateway: Gateways) -> None:
    served = gateway(config_of(offer("a", engine().url, price=PRICE)))
    asked = asks.body("openai-chat", "demo", PROMPT, stream=True)
    del asked["stream_options"]
    answer = served.ask("openai-chat", asked)
    assert answer.is_whole(6)
    assert answer.is_done
    assert answer.usage is None
    assert served.entry()["attempts"][0]["usage"]["source"] == "server"


def test_a_price_that_is_not_known_makes_the_cost_partial(engine: Engines, gateway: Gateways) -> None:
    unpriced = offer("a", engine().url)
    del unpriced["price"]
    served = gateway(config_of(unpriced))
    answer = served.ask("openai-chat", asks.body("openai-chat", "demo", PROMPT))
    assert answer.is_whole(6)
    entry = served.entry()
    assert (entry["cost_usd"], entry["cost_is_partial"]) == (0, True)
    assert entry["attempts"][0]["cost_usd"] is None


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    ("protocol", "tier", "asked", "served_by"),
    [
        ("openai-chat", "fast", {"service_tier": "priority"}, {"service_tier": "default"}),
        ("anthropic-messages", "fast", {"speed": "fast"}, {"speed": "standard"}),
        ("openai-responses", "standard", {}, {"server_model": "truth-mini"}),
    ],
)
def test_a_silent_downgrade_is_visible(
    engine: Engines,
    gateway: Gateways,
    *,
    protocol: Protocol,
    tier: str,
    asked: dict[str, Any],
    served_by: dict[str, Any],
    stream: bool,
) -> None:
    upstream = engine(served_by)
    served = gateway(config_of(offer("a", upstream.url, tier=tier, extra_body=asked)))
    assert served.ask(protocol, asks.body(protocol, "demo", PROMPT, stream)).is_whole(6)
    downgrade = served.entry()["attempts"][0]["downgrade"]
    assert downgrade is not None
    assert next(iter(served_by.values())) in downgrade


@pytest.mark.parametrize("stream", [True, False])
def test_a_tier_that_is_served_is_no_downgrade(engine: Engines, gateway: Gateways, stream: bool) -> None:
    upstream = engine({"service_tier": "echo"})
    fast = offer("a", upstream.url, tier="fast", extra_body={"service_tier": "priority"})
    served = gateway(config_of(fast))
    assert served.ask("openai-chat", asks.body("openai-chat", "demo", PROMPT, stream)).is_whole(6)
    assert served.entry()["attempts"][0]["downgrade"] is None


def test_a_generation_is_told_as_the_ledger_has_it(engine: Engines, gateway: Gateways) -> None:
    served = gateway(config_of(offer("a", engine().url, price=PRICE)))
    answer = served.ask(
        "openai-chat", asks.body("openai-chat", "demo", PROMPT, stream=True), headers={"x-title": "Mine"}
    )
    made = answer.headers["x-generation-id"]
    found = served.get(f"/api/v1/generation?id={made}").json()["data"]
    assert found["id"] == made
    assert found["total_cost"] == pytest.approx(cost_usd(PRICE, PROMPT, 6), abs=1e-9)
    assert (found["tokens_prompt"], found["tokens_completion"]) == (PROMPT, 6)
    assert served.entry()["app_title"] == "Mine"
    unknown = served.get("/v1/generation?id=gen-unknown")
    assert (unknown.status_code, unknown.json()["error"]["code"]) == (404, "unknown_generation")

"""Usage and cost by hand: what upstreams say, what they do not say, and what they serve other than asked."""

from typing import Any

import pytest

from paceline.protocols import Protocol
from tests.e2e.gateway.conftest import Engines, Gateways
from tests.support.gateway import asks
from tests.support.gateway.answers import Answer
from tests.support.gateway.process import Entry, Gateway, config_of, cost_usd, offer

PRICE = {
    "input_usd_per_mtok": 3.0,
    "output_usd_per_mtok": 5.0,
    "cache_read_usd_per_mtok": 0.5,
    "request_usd": 0.001,
}
PROMPT = 100

DOWNGRADES: dict[str, tuple[Protocol, str, dict[str, Any], dict[str, Any]]] = {
    "service-tier": ("openai-chat", "fast", {"service_tier": "priority"}, {"service_tier": "default"}),
    "speed": ("anthropic-messages", "fast", {"speed": "fast"}, {"speed": "standard"}),
    "model": ("openai-responses", "standard", {}, {"server_model": "truth-mini"}),
}


@pytest.fixture(scope="module")
def served(module_engine: Engines, module_gateway: Gateways) -> Gateway:
    """A model for each kind of upstream."""
    cached = module_engine({"cached_tokens": 64, "reasoning_tokens": 2})
    plain = module_engine({"service_tier": "echo"})
    unpriced = offer("unpriced", plain.url, model="unpriced")
    del unpriced["price"]
    offers = [
        offer("cached", cached.url, model="cached", price=PRICE),
        offer("mute", module_engine({"usage": "none"}).url, model="mute", price=PRICE),
        offer("plain", plain.url, model="plain", price=PRICE),
        offer("fast", plain.url, model="fast", tier="fast", extra_body={"service_tier": "priority"}),
        unpriced,
    ]
    for name, (_, tier, asked, serves) in DOWNGRADES.items():
        offers.append(offer(name, module_engine(serves).url, model=name, tier=tier, extra_body=asked))
    return module_gateway(config_of(*offers))


def entry_of(served: Gateway, answer: Answer) -> Entry:
    return served.entry(id=answer.headers["x-generation-id"])


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("protocol", asks.STREAMING)
def test_cached_prompts_have_their_own_price(served: Gateway, protocol: Protocol, stream: bool) -> None:
    answer = served.ask(protocol, asks.body(protocol, "cached", PROMPT, stream))
    entry = entry_of(served, answer)
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
def test_an_upstream_that_says_no_usage_is_counted(served: Gateway, protocol: Protocol) -> None:
    answer = served.ask(protocol, asks.body(protocol, "mute", PROMPT, stream=True))
    assert answer.is_whole(6)
    entry = entry_of(served, answer)
    assert entry["outcome"] == "ok"
    usage = entry["attempts"][0]["usage"]
    assert usage["source"] == "estimated"
    assert usage["completion_tokens"] == 6
    # By the bytes of `w0 w1 ... w99`: no tokenizer is asked, so it is of the right size and no more.
    assert PROMPT / 2 <= usage["prompt_tokens"] <= PROMPT * 2
    expected = cost_usd(PRICE, usage["prompt_tokens"], 6)
    assert entry["cost_usd"] == pytest.approx(expected, abs=1e-9)


def test_usage_that_was_not_asked_for_is_not_sent_on(served: Gateway) -> None:
    asked = asks.body("openai-chat", "plain", PROMPT, stream=True)
    del asked["stream_options"]
    answer = served.ask("openai-chat", asked)
    assert answer.is_whole(6)
    assert answer.is_done
    assert answer.usage is None
    assert entry_of(served, answer)["attempts"][0]["usage"]["source"] == "server"


def test_a_price_that_is_not_known_makes_the_cost_partial(served: Gateway) -> None:
    answer = served.ask("openai-chat", asks.body("openai-chat", "unpriced", PROMPT))
    assert answer.is_whole(6)
    entry = entry_of(served, answer)
    assert (entry["cost_usd"], entry["cost_is_partial"]) == (0, True)
    assert entry["attempts"][0]["cost_usd"] is None


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("name", DOWNGRADES)
def test_a_silent_downgrade_is_visible(served: Gateway, name: str, stream: bool) -> None:
    protocol, _, _, serves = DOWNGRADES[name]
    answer = served.ask(protocol, asks.body(protocol, name, PROMPT, stream))
    assert answer.is_whole(6)
    downgrade = entry_of(served, answer)["attempts"][0]["downgrade"]
    assert downgrade is not None
    assert next(iter(serves.values())) in downgrade


@pytest.mark.parametrize("stream", [True, False])
def test_a_tier_that_is_served_is_no_downgrade(served: Gateway, stream: bool) -> None:
    answer = served.ask("openai-chat", asks.body("openai-chat", "fast", PROMPT, stream))
    assert answer.is_whole(6)
    assert entry_of(served, answer)["attempts"][0]["downgrade"] is None


def test_a_generation_is_told_as_the_ledger_has_it(served: Gateway) -> None:
    asked = asks.body("openai-chat", "plain", PROMPT, stream=True)
    answer = served.ask("openai-chat", asked, headers={"x-title": "Mine"})
    made = answer.headers["x-generation-id"]
    found = served.get(f"/api/v1/generation?id={made}").json()["data"]
    assert found["id"] == made
    assert found["total_cost"] == pytest.approx(cost_usd(PRICE, PROMPT, 6), abs=1e-9)
    assert (found["tokens_prompt"], found["tokens_completion"]) == (PROMPT, 6)
    assert entry_of(served, answer)["app_title"] == "Mine"
    unknown = served.get("/v1/generation?id=gen-unknown")
    assert (unknown.status_code, unknown.json()["error"]["code"]) == (404, "unknown_generation")

"""Keys: who may ask, and how much; a budget is not overspent by many at once."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from paceline.control.keys import KeyLimits, KeyStore
from tests.e2e.gateway.conftest import Engines, Gateways
from tests.support.gateway import asks
from tests.support.gateway.answers import Answer
from tests.support.gateway.engines import wait_for
from tests.support.gateway.process import Gateway, config_of, cost_usd, offer

PRICE = {"input_usd_per_mtok": 100.0, "output_usd_per_mtok": 100.0}
PROMPT = 20


def bearing(secret: str) -> dict[str, str]:
    return {"authorization": f"Bearer {secret}"}


def key(served: Gateway, name: str, **limits: Any) -> str:
    """A new key, once the gateway knows it."""
    secret = KeyStore(served.home).create(name, KeyLimits(**limits))[1]
    served.look()
    wait_for("the new key", lambda: figures(served, secret))
    return secret


def figures(served: Gateway, secret: str) -> dict[str, Any] | None:
    """What the gateway tells of a key; None: it does not know it."""
    answer = served.get("/api/v1/key", bearing(secret))
    return answer.json()["data"] if answer.is_success else None


def ask(served: Gateway, secret: str, client: httpx.Client | None = None, model: str = "demo") -> Answer:
    asked = asks.body("openai-chat", model, PROMPT, stream=True, max_tokens=6)
    return served.ask("openai-chat", asked, client=client, headers=bearing(secret))


def test_many_at_once_do_not_overspend_a_budget(engine: Engines, gateway: Gateways) -> None:
    upstream = engine({"ttft_us": 20_000})
    served = gateway(config_of(offer("a", upstream.url, price=PRICE), require_key=True))
    one = cost_usd(PRICE, PROMPT, 6)
    limit = 60 * one
    secret = key(served, "team", budgets_usd=(("total", limit),))
    with served.client() as client, ThreadPoolExecutor(64) as threads:
        answers = list(threads.map(lambda _: ask(served, secret, client), range(200)))
    seen = Counter((answer.status, answer.code) for answer in answers)
    assert set(seen) == {(200, None), (402, "budget_exhausted")}
    assert all(answer.is_whole(6) for answer in answers if answer.status == 200)
    entries = served.entries(200)
    spent = sum(entry["cost_usd"] for entry in entries)
    assert spent == pytest.approx(seen[200, None] * one)
    # What a request can cost is reserved before it begins, so the bound is the budget itself.
    assert 0 < spent <= limit
    assert len(upstream.truth_of(PROMPT, seen[200, None])) == seen[200, None]
    told = figures(served, secret)
    assert told is not None
    assert told["usage"] == pytest.approx(spent)
    assert told["limit_remaining"] == pytest.approx(limit - spent)
    refused = next(answer for answer in answers if answer.status == 402)
    assert refused.errors[0]["type"] == "insufficient_quota"


def test_what_was_reserved_and_not_used_is_free_again(engine: Engines, gateway: Gateways) -> None:
    served = gateway(config_of(offer("a", engine().url, price=PRICE), require_key=True))
    one = cost_usd(PRICE, PROMPT, 6)
    # Room for one reservation: a token for two bytes of the prompt, 256 for its template, 6 for the answer.
    reserved = cost_usd(PRICE, len(asks.words(PROMPT)) // 2 + 257, 6)
    secret = key(served, "team", budgets_usd=(("day", 10 * one + reserved),))
    for _ in range(10):
        assert ask(served, secret).is_whole(6)
    while (answer := ask(served, secret)).status == 200:
        assert answer.is_whole(6)
    assert answer.code == "budget_exhausted"
    spent = sum(entry["cost_usd"] for entry in served.ledger())
    assert spent <= 10 * one + reserved


def test_a_budget_goes_on_after_a_restart(engine: Engines, gateway: Gateways) -> None:
    config = config_of(offer("a", engine().url, price=PRICE), require_key=True)
    served = gateway(config)
    one = cost_usd(PRICE, PROMPT, 6)
    secret = key(served, "team", budgets_usd=(("month", 100 * one),))
    for _ in range(5):
        assert ask(served, secret).is_whole(6)
    served.stop()
    served.start()
    told = figures(served, secret)
    assert told is not None
    assert told["usage_monthly"] == pytest.approx(5 * one)


def test_who_has_no_key_is_refused_in_its_own_protocol(engine: Engines, gateway: Gateways) -> None:
    upstream = engine()
    served = gateway(config_of(offer("a", upstream.url), require_key=True))
    revoked = key(served, "gone")
    KeyStore(served.home).revoke("gone")
    served.look()
    wait_for("the end of the key", lambda: figures(served, revoked) is None or None)
    for protocol, stream in asks.WAYS:
        asked = asks.body(protocol, "demo", PROMPT, stream)
        for headers in ({}, bearing("wrong"), {"x-api-key": revoked}):
            answer = served.ask(protocol, asked, headers=headers)
            assert (answer.status, answer.code) == (401, "invalid_api_key"), (protocol, headers)
            assert answer.errors[0]["type"] == "authentication_error"
    assert upstream.truth() == []


def test_a_key_has_its_models_and_rates(engine: Engines, gateway: Gateways) -> None:
    url = engine().url
    offers = [offer("a", url), offer("b", url, model="other")]
    served = gateway(config_of(*offers, require_key=True))
    secret = key(served, "team", models=("demo",), requests_per_min=3)
    other = ask(served, secret, model="other")
    assert (other.status, other.code) == (403, "model_not_allowed")
    codes = [(answer.status, answer.code) for answer in (ask(served, secret) for _ in range(5))]
    assert codes.count((429, "rate_limit_exceeded")) >= 2
    assert codes[0] == (200, None)
    limited = ask(served, secret)
    assert int(limited.headers["retry-after"]) > 0


def test_sessions_are_for_so_many_keys(engine: Engines, gateway: Gateways) -> None:
    limits = {"sessions": 1, "session": "1h"}
    served = gateway(config_of(offer("a", engine().url, limits=limits), require_key=True))
    first, second = (key(served, name) for name in ("first", "second"))
    assert ask(served, first).is_whole(6)
    refused = ask(served, second)
    assert (refused.status, refused.code) == (429, "session_limit")
    assert int(refused.headers["retry-after"]) > 0
    assert ask(served, first).is_whole(6)


def test_an_allow_list_admits(engine: Engines, gateway: Gateways) -> None:
    offers = [offer("fast", engine().url, tier="fast", allow_keys=["vip"]), offer("slow", engine().url)]
    served = gateway(config_of(*offers, require_key=True))
    vip, other = (key(served, name) for name in ("vip", "other"))
    asked = asks.body("openai-chat", "demo", PROMPT, provider={"order": ["fast", "slow"]})
    by = {
        secret: served.ask("openai-chat", asked, headers=bearing(secret)).headers["x-paceline-offer"]
        for secret in (vip, other)
    }
    assert by == {vip: "fast", other: "slow"}

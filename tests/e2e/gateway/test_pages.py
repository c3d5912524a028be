"""Pages of a gateway that has served: as the official clients read them, and against the ledger."""

import re
from typing import Any

import anthropic
import httpx
import openai
import pytest

from tests.e2e.gateway.conftest import Engines, Gateways
from tests.support.gateway import asks
from tests.support.gateway.process import Gateway, config_of, offer

ASKED = 5


@pytest.fixture(scope="module")
def served(module_engine: Engines, module_gateway: Gateways) -> Gateway:
    """A gateway with one offer that has answered, and one model that nobody asked for."""
    upstream = module_engine({"ttft_us": 5_000})
    first = offer("a", upstream.url, context_tokens=8_192, tier="fast", parameters=["tools", "max_tokens"])
    gateway = module_gateway(
        config_of(
            first, offer("b", upstream.url, model="author/idle"), models=({"id": "demo", "aliases": ["d"]},)
        )
    )
    for _ in range(ASKED):
        answer = gateway.ask("openai-chat", asks.body("openai-chat", "demo", 20, stream=True, max_tokens=4))
        assert answer.status == 200
    gateway.entries(ASKED)
    return gateway


def get(url: str, **headers: str) -> httpx.Response:
    return httpx.get(url, headers=headers, trust_env=False)


def test_models_are_read_by_both_clients(served: Gateway) -> None:
    client = openai.OpenAI(api_key="k", base_url=f"{served.url}/v1")
    assert [model.id for model in client.models.list()] == ["demo", "author/idle"]
    assert client.models.retrieve("author/idle").owned_by == "author"
    with pytest.raises(openai.NotFoundError) as raised:
        client.models.retrieve("dem")
    assert raised.value.code == "unknown_model"
    claude = anthropic.Anthropic(api_key="k", base_url=served.url)
    assert [model.id for model in claude.models.list()] == ["demo", "author/idle"]
    with pytest.raises(anthropic.NotFoundError) as missing:
        claude.models.retrieve("dem")
    assert missing.value.error_code == "unknown_model"


def test_endpoints_show_what_was_measured(served: Gateway) -> None:
    data = get(f"{served.url}/api/v1/models/d/endpoints").json()["data"]
    (endpoint,) = data["endpoints"]
    assert (endpoint["tag"], endpoint["tier"], endpoint["context_length"]) == ("a", "fast", 8_192)
    assert endpoint["pricing"]["prompt"] == "0.000001"
    assert endpoint["supported_parameters"] == ["max_tokens", "tools"]
    assert endpoint["uptime_last_30m"] == 100
    assert endpoint["latency_last_30m"]["p50"] >= 5
    assert endpoint["figures"]["ttft_ms"]["n"] == ASKED
    (idle,) = get(f"{served.url}/v1/models/author/idle/endpoints").json()["data"]["endpoints"]
    assert idle["latency_last_30m"] is None


def test_operators_see_every_figure(served: Gateway) -> None:
    page = get(f"{served.admin}/endpoints").json()
    assert page["schema"] == "paceline.endpoints/1"
    first, second = page["offers"]
    assert (first["offer"], first["attempts"], first["breaker"]) == ("a", ASKED, "closed")
    assert (second["offer"], second["attempts"], second["cold"]) == ("b", 0, True)
    assert get(f"{served.url}/endpoints").status_code == 404


def test_metrics_agree_with_the_ledger(served: Gateway) -> None:
    page = get(f"{served.admin}/metrics")
    assert page.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    entries = [entry for entry in served.entries(ASKED) if entry["outcome"] == "ok"]
    attempts: list[Any] = [attempt for entry in entries for attempt in entry["attempts"]]
    assert total(page.text, "attempts_total", 'offer="a"') == len(attempts)
    for kind in ("prompt", "completion"):
        tokens = sum(attempt["usage"][f"{kind}_tokens"] for attempt in attempts)
        assert total(page.text, "tokens_total", f'kind="{kind}"') == tokens
    cost_usd = sum(entry["cost_usd"] for entry in entries)
    assert total(page.text, "cost_usd_total") == pytest.approx(cost_usd)
    assert total(page.text, "requests_total", 'outcome="ok"') == len(entries)
    assert total(page.text, "server_time_to_first_token_seconds_count") == len(attempts)


def total(text: str, name: str, label: str = "") -> float:
    """The sum of a metric's samples that have the label."""
    lines = re.findall(rf"^paceline_gateway_{name}(\{{.*\}})? (\S+)$", text, re.MULTILINE)
    return sum(float(value) for labels, value in lines if label in labels)


def test_a_generation_is_found_by_its_id(served: Gateway) -> None:
    entry = served.entries(ASKED)[0]
    data = get(f"{served.url}/api/v1/generation?id={entry['id']}").json()["data"]
    assert (data["id"], data["model"], data["offer"]) == (entry["id"], "demo", "a")
    assert data["total_cost"] == pytest.approx(entry["cost_usd"])
    missing = get(f"{served.url}/v1/generation?id=gen-none")
    assert (missing.status_code, missing.json()["error"]["code"]) == (404, "unknown_generation")


def test_health(served: Gateway) -> None:
    for address in (served.url, served.admin):
        assert get(f"{address}/healthz").json() == {"status": "ok"}
        assert get(f"{address}/readyz").json() == {"status": "ready"}
    wrong = httpx.post(f"{served.url}/v1/models", trust_env=False)
    assert (wrong.status_code, wrong.headers["allow"]) == (405, "GET")

"""Hedging to the first token: a second offer is asked, the loser is cancelled, and both are billed."""

import pytest

from tests.e2e.gateway.conftest import Engines, Gateways
from tests.support.gateway import asks
from tests.support.gateway.engines import Engine
from tests.support.gateway.process import Gateway, config_of, cost_usd, offer

WARM = 8
SLOW_PRICE = {"input_usd_per_mtok": 3.0, "output_usd_per_mtok": 5.0}
QUICK_PRICE = {"input_usd_per_mtok": 7.0, "output_usd_per_mtok": 11.0}
PROMPT = 30


def slow_after_warming(engine: Engines, ttft_us: int = 3_600_000_000) -> Engine:
    return engine(timeline=[{"after_requests": WARM, "exact": {"ttft_us": ttft_us}}])


def warmed(engine: Engines, gateway: Gateways, slow: Engine, share: float) -> tuple[Gateway, Engine]:
    """A gateway that knows both offers, and the quick one."""
    quick = engine()
    offers = [
        offer("slow", slow.url, price=SLOW_PRICE, timeouts={"first_token": "1s"}),
        offer("quick", quick.url, price=QUICK_PRICE),
    ]
    hedging = {"share": share, "least_wait": "1ms"}
    served = gateway(config_of(*offers, hedging=hedging, policy={"min_samples": 4}))
    for name in ("slow", "quick"):
        for _ in range(WARM):
            asked = asks.body("openai-chat", "demo", PROMPT, stream=True, provider={"only": [name]})
            assert served.ask("openai-chat", asked).is_whole(6)
    return served, quick


@pytest.mark.parametrize("stream", [True, False])
def test_the_second_offer_answers_and_the_first_is_cancelled_and_billed(
    engine: Engines, gateway: Gateways, stream: bool
) -> None:
    slow = slow_after_warming(engine)
    served, quick = warmed(engine, gateway, slow, share=1.0)
    order = {"order": ["slow", "quick"]}
    answer = served.ask(
        "openai-chat", asks.body("openai-chat", "demo", PROMPT + 1, stream=stream, provider=order)
    )
    assert answer.is_whole(6)
    assert answer.headers["x-paceline-offer"] == "quick"
    assert [one["end"] for one in slow.truth_of(PROMPT + 1)] == ["client_gone"]
    assert [one["end"] for one in quick.truth_of(PROMPT + 1)] == ["complete"]
    (entry,) = served.entries(1, id=answer.headers["x-generation-id"])
    attempts = {one["offer"]: one for one in entry["attempts"]}
    assert {name: (one["role"], one["served"]) for name, one in attempts.items()} == {
        "slow": ("first", False), "quick": ("hedge", True),
    }  # fmt: skip
    loser = attempts["slow"]
    assert loser["row"]["outcome"] == "cancelled"
    assert loser["usage"]["source"] == "estimated"
    assert loser["usage"]["prompt_tokens"] > 0
    assert loser["usage"]["completion_tokens"] == 0
    assert loser["cost_usd"] == pytest.approx(cost_usd(SLOW_PRICE, loser["usage"]["prompt_tokens"], 0))
    winner = cost_usd(QUICK_PRICE, PROMPT + 1, 6)
    assert attempts["quick"]["cost_usd"] == pytest.approx(winner)
    assert entry["cost_usd"] == pytest.approx(winner + loser["cost_usd"])


def test_without_hedging_the_first_has_its_time(engine: Engines, gateway: Gateways) -> None:
    slow = slow_after_warming(engine)
    served, _ = warmed(engine, gateway, slow, share=0.0)
    order = {"order": ["slow", "quick"]}
    answer = served.ask(
        "openai-chat", asks.body("openai-chat", "demo", PROMPT + 1, stream=True, provider=order)
    )
    assert answer.is_whole(6)
    (entry,) = served.entries(1, id=answer.headers["x-generation-id"])
    roles = [(one["offer"], one["role"], one["row"]["outcome"]) for one in entry["attempts"]]
    assert roles == [("slow", "first", "timeout"), ("quick", "retry", "ok")]


def test_a_request_can_decline_to_be_hedged(engine: Engines, gateway: Gateways) -> None:
    slow = slow_after_warming(engine)
    served, _ = warmed(engine, gateway, slow, share=1.0)
    asked = asks.body(
        "openai-chat", "demo", PROMPT + 1, stream=True,
        provider={"order": ["slow", "quick"], "hedge": False},
    )  # fmt: skip
    answer = served.ask("openai-chat", asked)
    (entry,) = served.entries(1, id=answer.headers["x-generation-id"])
    assert [one["role"] for one in entry["attempts"]] == ["first", "retry"]

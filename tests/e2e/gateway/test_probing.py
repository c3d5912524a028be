"""Probes: small real requests to an offer that has no traffic, accounted as what they are."""

import pytest

from tests.e2e.gateway.conftest import Engines, Gateways
from tests.support.gateway.engines import wait_for
from tests.support.gateway.process import Entry, Gateway, config_of, cost_usd, offer

PRICE = {"input_usd_per_mtok": 3.0, "output_usd_per_mtok": 5.0}
PROTOCOLS = [
    "openai-chat",
    "openai-completions",
    "openai-responses",
    "openai-embeddings",
    "anthropic-messages",
]


def probes(served: Gateway, least: int = 1) -> list[Entry]:
    def look() -> list[Entry] | None:
        found = [entry for entry in served.ledger() if entry["outcome"] == "probe"]
        return found if len(found) >= least else None

    return wait_for("a probe in the ledger", look)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_silent_offer_is_probed_and_then_known(engine: Engines, gateway: Gateways, protocol: str) -> None:
    silent = engine()
    offers = [offer("silent", silent.url, protocol=protocol, price=PRICE)]
    probing = {"every": "1s", "usd_per_day": 1.0, "output_tokens": 4}
    served = gateway(config_of(*offers, probing=probing))
    (first, *_) = probes(served)
    (attempt,) = first["attempts"]
    assert (first["key"], attempt["role"], attempt["served"], attempt["protocol"]) == (
        None, "probe", False, protocol,
    )  # fmt: skip
    assert (attempt["row"]["outcome"], attempt["row"]["warmup"]) == ("ok", True)
    (truth, *_) = wait_for("the engine's own log", lambda: silent.truth() or None)
    usage = attempt["usage"]
    assert (usage["source"], usage["prompt_tokens"]) == ("server", truth["prompt_tokens"])
    assert first["cost_usd"] == pytest.approx(
        cost_usd(PRICE, usage["prompt_tokens"], usage["completion_tokens"])
    )

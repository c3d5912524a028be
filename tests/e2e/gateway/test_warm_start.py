"""A gateway that starts anew goes on from what its ledger tells of its offers."""

import os
import signal
from collections import Counter
from typing import Any

import pytest

from paceline.protocols import Protocol
from tests.e2e.gateway.conftest import Engines, Gateways
from tests.e2e.gateway.test_crash import _other, free_address
from tests.support.gateway import asks
from tests.support.gateway.engines import wait_for
from tests.support.gateway.process import Gateway, config_of, offer

CHAT: Protocol = "openai-chat"
REQUESTS = 12


def _first_choice(served: Gateway) -> dict[str, dict[str, Any]]:
    """What the first request is told of each offer."""
    body = asks.body(CHAT, "demo", 9, stream=False, explain=True)
    (document,) = served.ask(CHAT, body).documents
    considered = document["paceline"]["considered"]
    assert considered[0]["verdict"] == "chosen"
    return {one["offer"]: one for one in considered}


def _restart_data_plane(served: Gateway) -> None:
    pid = served.data_plane_pid
    os.kill(pid, signal.SIGKILL)
    wait_for("another data plane", lambda: _other(served.pid, pid))
    wait_for("a gateway that is ready again", served._is_ready)


def _restart_all(served: Gateway) -> None:
    served.kill()
    served.start()


def _restart_in_order(served: Gateway) -> None:
    served.stop()
    served.start()


@pytest.mark.parametrize("again", [_restart_data_plane, _restart_all, _restart_in_order])
# Whichever comes first in the config.
@pytest.mark.parametrize("names", [("fast", "slow"), ("slow", "fast")])
def test_the_first_request_after_a_restart_goes_to_the_faster_offer(
    engine: Engines, gateway: Gateways, again: Any, names: tuple[str, str]
) -> None:
    engines = {"fast": engine({"ttft_us": 2_000}), "slow": engine({"ttft_us": 80_000})}
    offers = [offer(name, engines[name].url) for name in names]
    served = gateway(config_of(*offers, listen=free_address()))
    with served.client() as client:
        for name in names:
            body = asks.body(CHAT, "demo", 20, stream=True, provider={"order": [name]})
            for _ in range(REQUESTS):
                assert served.ask(CHAT, body, client=client).is_whole(6)
    served.entries(2 * REQUESTS)
    again(served)
    told = _first_choice(served)
    assert next(iter(told)) == "fast"
    attempts = Counter(attempt["offer"] for entry in served.ledger() for attempt in entry["attempts"])
    # The request that asks is in the ledger by now, and was not when it was planned.
    assert {name: one["figures"]["samples"] for name, one in told.items()} == {
        "fast": attempts["fast"] - 1,
        "slow": attempts["slow"],
    }
    assert told["fast"]["figures"]["ttft_ms_p50"]["value"] < told["slow"]["figures"]["ttft_ms_p50"]["value"]
    assert not any(one["figures"]["cold"] for one in told.values())

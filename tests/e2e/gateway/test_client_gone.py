"""A client that leaves: the upstream is told at once, and what was used is in the ledger."""

from dataclasses import dataclass

import pytest

from paceline.protocols import PROTOCOLS
from tests.e2e.gateway.conftest import Engines, Gateways
from tests.support.gateway import asks
from tests.support.gateway.engines import Engine, tokens_sent, wait_for
from tests.support.gateway.process import Entry, Gateway, config_of, cost_usd, offer
from tests.support.gateway.raw import RawClient

# Longer than any test: an upstream that was not told goes on waiting, and the test fails.
FOR_EVER_US = 3_600_000_000
PRICE = {"input_usd_per_mtok": 3.0, "output_usd_per_mtok": 5.0}
PROMPT = 20


def assert_is_billed(entry: Entry, completion: int) -> None:
    (attempt,) = entry["attempts"]
    usage = attempt["usage"]
    assert attempt["row"]["outcome"] == "cancelled"
    assert usage["source"] == "estimated"
    assert usage["prompt_tokens"] > 0
    assert usage["completion_tokens"] == completion
    expected = cost_usd(PRICE, usage["prompt_tokens"], completion)
    assert attempt["cost_usd"] == entry["cost_usd"] == pytest.approx(expected, abs=1e-9)


IDS = [f"{PROTOCOLS[name].short}-{'stream' if stream else 'whole'}" for name, stream in asks.WAYS]


@dataclass(frozen=True)
class Place:
    """One engine stalls after three tokens, one never begins. Each test has its own model and prompt."""

    stalling: Engine
    silent: Engine
    gateway: Gateway


@pytest.fixture(scope="module")
def place(module_engine: Engines, module_gateway: Gateways) -> Place:
    stalling = module_engine({"stalls": [{"after_tokens": 3, "stall_us": FOR_EVER_US}]})
    silent = module_engine({"ttft_us": FOR_EVER_US})
    offers = [offer(f"stalling-{name}", stalling.url, model=f"stalling-{name}", price=PRICE) for name in IDS]
    offers += [offer(f"silent-{name}", silent.url, model=f"silent-{name}", price=PRICE) for name in IDS]
    return Place(stalling, silent, module_gateway(config_of(*offers)))


STREAMS = [place for place, (_, stream) in enumerate(asks.WAYS) if stream]


@pytest.mark.parametrize("way", STREAMS, ids=[IDS[way] for way in STREAMS])
def test_in_the_middle_of_a_stream(place: Place, way: int) -> None:
    protocol, prompt = asks.WAYS[way][0], PROMPT + way
    model = f"stalling-{IDS[way]}"
    with RawClient(place.gateway.url) as client:
        client.post(protocol, asks.body(protocol, model, prompt, stream=True))
        client.read_token_events(protocol, 3)
    (record,) = place.stalling.truth_of(prompt)
    assert record["end"] == "client_gone"
    assert record["gone_ns"] is not None
    assert tokens_sent(record) == 3
    entry = place.gateway.entry(asked_model=model)
    assert (entry["outcome"], entry["status"], entry["code"]) == ("client_gone", 200, None)
    assert entry["ttft_ns"] > 0
    assert entry["attempts"][0]["served"]
    assert_is_billed(entry, 3)


@pytest.mark.parametrize("way", range(len(IDS)), ids=IDS)
def test_before_anything_has_come(place: Place, way: int) -> None:
    (protocol, stream), prompt = asks.WAYS[way], PROMPT + way
    model = f"silent-{IDS[way]}"
    with RawClient(place.gateway.url) as client:
        client.post(protocol, asks.body(protocol, model, prompt, stream))
        wait_for("the upstream's work", lambda: place.silent.stats()["in_flight"] == 1 or None)
        assert client.received == b""
    (record,) = place.silent.truth_of(prompt)
    assert (record["end"], record["events"]) == ("client_gone", [])
    entry = place.gateway.entry(asked_model=model)
    assert (entry["outcome"], entry["status"], entry["ttft_ns"]) == ("client_gone", None, None)
    assert entry["streaming"] == stream
    assert not entry["attempts"][0]["served"]
    assert_is_billed(entry, 0)


def test_in_the_middle_of_its_own_request(engine: Engines, gateway: Gateways) -> None:
    upstream = engine()
    served = gateway(config_of(offer("a", upstream.url)))
    with RawClient(served.url) as client:
        client.send(b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\n{")
    answer = served.ask("openai-chat", asks.body("openai-chat", "demo", PROMPT))
    assert answer.is_whole(6)
    assert len(upstream.truth_of(PROMPT)) == 1
    assert len(served.ledger()) == 1


def test_with_a_rival_on_its_way_both_are_told(engine: Engines, gateway: Gateways) -> None:
    slow = engine({"ttft_us": 1_000}, timeline=[{"after_requests": 8, "exact": {"ttft_us": FOR_EVER_US}}])
    rival = engine(timeline=[{"after_requests": 8, "exact": {"ttft_us": FOR_EVER_US}}])
    offers = [offer("slow", slow.url), offer("rival", rival.url)]
    hedging = {"share": 1.0, "least_wait": "1ms"}
    served = gateway(config_of(*offers, hedging=hedging, policy={"min_samples": 4}))
    asked = asks.body("openai-chat", "demo", PROMPT, stream=True)
    for name in ("slow", "rival"):
        for _ in range(8):
            assert served.ask("openai-chat", asked | {"provider": {"only": [name]}}).is_whole(6)
    waiting = asks.body("openai-chat", "demo", PROMPT + 1, stream=True, provider={"order": ["slow", "rival"]})
    with RawClient(served.url) as client:
        client.post("openai-chat", waiting)
        for upstream in (slow, rival):
            wait_for("both at work", lambda: upstream.stats()["in_flight"] == 1 or None)  # noqa: B023
    assert [one["end"] for one in slow.truth_of(PROMPT + 1)] == ["client_gone"]
    assert [one["end"] for one in rival.truth_of(PROMPT + 1)] == ["client_gone"]
    entry = served.entry(outcome="client_gone")
    assert sorted((one["offer"], one["role"]) for one in entry["attempts"]) == [
        ("rival", "hedge"), ("slow", "first"),
    ]  # fmt: skip
    assert entry["cost_usd"] == pytest.approx(sum(one["cost_usd"] for one in entry["attempts"]))

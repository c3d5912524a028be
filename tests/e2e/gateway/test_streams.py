"""What a stream is like while nothing comes, and when its client is slow."""

import re

import pytest

from paceline.protocols import Protocol
from tests.e2e.gateway.conftest import Engines, Gateways
from tests.support.gateway import asks
from tests.support.gateway.engines import Engine, tokens_sent, wait_for
from tests.support.gateway.process import config_of, offer
from tests.support.gateway.raw import RawClient

PROMPT = 20


@pytest.mark.parametrize("protocol", asks.STREAMING)
def test_comments_keep_a_waiting_stream_alive(engine: Engines, gateway: Gateways, protocol: Protocol) -> None:
    served = gateway(config_of(offer("a", engine({"ttft_us": 500_000}).url), keep_alive="50ms"))
    answer = served.ask(protocol, asks.body(protocol, "demo", PROMPT, stream=True))
    assert answer.comments >= 2
    assert answer.raw.startswith(b":")
    assert answer.is_whole(6)
    assert answer.is_done
    assert served.entry()["outcome"] == "ok"


def test_another_offer_can_still_answer_after_a_comment(engine: Engines, gateway: Gateways) -> None:
    slow = engine({"ttft_us": 200_000}, fault={"kind": "cut", "after_events": 0})
    served = gateway(config_of(offer("a", slow.url), offer("b", engine().url), keep_alive="30ms"))
    asked = asks.body("openai-chat", "demo", PROMPT, stream=True, provider={"order": ["a", "b"]})
    answer = served.ask("openai-chat", asked)
    assert answer.comments >= 1
    assert answer.is_whole(6)
    assert answer.is_done
    assert [one["served"] for one in served.entry()["attempts"]] == [False, True]


@pytest.mark.parametrize("protocol", asks.STREAMING)
def test_a_failure_after_a_comment_is_an_event(
    engine: Engines, gateway: Gateways, protocol: Protocol
) -> None:
    slow = engine({"ttft_us": 300_000}, fault={"kind": "cut", "after_events": 0})
    served = gateway(config_of(offer("a", slow.url), keep_alive="30ms"))
    answer = served.ask(protocol, asks.body(protocol, "demo", PROMPT, stream=True))
    assert answer.status == 200
    assert answer.code
    assert not answer.is_done
    assert answer.finish is None
    assert served.entry()["outcome"] == "failed"


def test_an_answer_that_is_no_stream_has_no_comments(engine: Engines, gateway: Gateways) -> None:
    served = gateway(config_of(offer("a", engine({"ttft_us": 200_000}).url), keep_alive="30ms"))
    answer = served.ask("openai-chat", asks.body("openai-chat", "demo", PROMPT))
    assert answer.comments == 0
    assert answer.is_whole(6)


def settled(upstream: Engine) -> bool | None:
    """The upstream has sent something, and sends no more."""
    before = upstream.stats()["events"]
    wait_for("a moment", iter((None, None, None, None, None, True)).__next__)
    return True if before and upstream.stats()["events"] == before else None


def test_a_slow_client_holds_its_upstream_back_and_not_the_gateways_memory(
    engine: Engines, gateway: Gateways
) -> None:
    tokens, each = 3_600_000, 300
    upstream = engine({"output_tokens": tokens, "tokens_per_event": each, "itl_us": 0})
    served = gateway(config_of(offer("a", upstream.url)))
    assert served.ask("openai-chat", asks.body("openai-chat", "demo", 5, stream=True, max_tokens=6)).is_whole(
        6
    )
    before = served.memory_bytes()
    with RawClient(served.url, receive_buffer=65_536) as client:
        client.post("openai-chat", asks.body("openai-chat", "demo", PROMPT, stream=True))
        wait_for("an upstream that is held back", lambda: settled(upstream))
        assert upstream.truth(PROMPT) == []
        assert served.memory_bytes() - before < 8_000_000
        client.read_until(lambda received: received.endswith(b"0\r\n\r\n"))
        received = bytes(client.received)
    assert served.memory_bytes() - before < 8_000_000
    (record,) = upstream.truth_of(PROMPT)
    assert (record["end"], tokens_sent(record)) == ("complete", tokens)
    assert len(received) > 20_000_000
    content = b"".join(re.findall(rb'"content":"([^"]*)"', received))
    assert len(content.split()) == tokens
    assert served.entries(2)[1]["outcome"] == "ok"


def test_a_client_that_takes_nothing_has_gone(engine: Engines, gateway: Gateways) -> None:
    upstream = engine({"output_tokens": 6_000_000, "tokens_per_event": 300, "itl_us": 0})
    clients = {"write_timeout": "200ms"}
    served = gateway(config_of(offer("a", upstream.url), clients=clients))
    with RawClient(served.url, receive_buffer=65_536) as client:
        client.post("openai-chat", asks.body("openai-chat", "demo", PROMPT, stream=True))
        (record,) = upstream.truth_of(PROMPT)
    assert record["end"] == "client_gone"
    entry = served.entry()
    assert entry["outcome"] == "client_gone"
    assert 0 < entry["attempts"][0]["usage"]["completion_tokens"] <= tokens_sent(record)

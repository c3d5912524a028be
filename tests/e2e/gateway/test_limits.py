"""What an offer's own limits, failures and promises do to requests."""

import threading
from typing import Any

import pytest

from tests.e2e.gateway.conftest import Engines, Gateways
from tests.support.gateway import asks
from tests.support.gateway.answers import Answer
from tests.support.gateway.engines import Engine, wait_for
from tests.support.gateway.process import Gateway, config_of, offer
from tests.support.gateway.raw import RawClient

FOR_EVER_US = 3_600_000_000
ORDER = {"order": ["a", "b"]}
# So many answers that a promise of nine in ten can be made.
WARM = 40


def ask(served: Gateway, prompt: int = 20, stream: bool = True, **more: Any) -> Answer:
    return served.ask("openai-chat", asks.body("openai-chat", "demo", prompt, stream=stream, **more))


def test_retry_after_is_honoured(engine: Engines, gateway: Gateways) -> None:
    fault = {"kind": "http_429", "retry_after_s": 3_600}
    a, b = engine(fault=fault, timeline=[{"after_requests": 1, "fault": None}]), engine()
    served = gateway(config_of(offer("a", a.url), offer("b", b.url)))
    for _ in range(3):
        answer = ask(served, provider=ORDER)
        assert answer.is_whole(6)
        assert answer.headers["x-paceline-offer"] == "b"
    refused = ask(served, provider={"only": ["a"]})
    assert refused.status == 429
    assert 0 < int(refused.headers["retry-after"]) <= 3_600
    assert refused.code
    assert len(a.truth_of(20)) == 1
    assert served.entries(1, outcome="refused")[0]["attempts"] == []


def test_after_retry_after_the_offer_is_asked_again(engine: Engines, gateway: Gateways) -> None:
    fault = {"kind": "http_429", "retry_after_s": 1}
    a, b = engine(fault=fault, timeline=[{"after_requests": 1, "fault": None}]), engine()
    served = gateway(config_of(offer("a", a.url), offer("b", b.url)))
    assert ask(served, provider=ORDER).headers["x-paceline-offer"] == "b"

    def back() -> Answer | None:
        answer = ask(served, provider=ORDER)
        assert answer.is_whole(6)
        return answer if answer.headers["x-paceline-offer"] == "a" else None

    wait_for("the offer that was limited", back)


def failing(engine: Engines, times: int) -> Engine:
    """Fails at first, and is well afterwards."""
    return engine(fault={"kind": "http_503"}, timeline=[{"after_requests": times, "fault": None}])


def test_a_breaker_opens(engine: Engines, gateway: Gateways) -> None:
    a, b = failing(engine, 3), engine()
    policy = {"breaker_failures": 3, "breaker_open": "1h"}
    served = gateway(config_of(offer("a", a.url), offer("b", b.url), policy=policy))
    for _ in range(8):
        answer = ask(served, provider=ORDER)
        assert answer.is_whole(6)
        assert answer.headers["x-paceline-offer"] == "b"
    assert len(a.truth_of(20, 3)) == 3
    refused = ask(served, provider={"only": ["a"]})
    assert refused.status == 503
    assert refused.code
    assert int(refused.headers["retry-after"]) > 0


def test_a_breaker_lets_one_through_and_closes(engine: Engines, gateway: Gateways) -> None:
    a, b = failing(engine, 3), engine()
    policy = {"breaker_failures": 3, "breaker_open": "50ms"}
    served = gateway(config_of(offer("a", a.url), offer("b", b.url), policy=policy))
    for _ in range(3):
        assert ask(served, provider=ORDER).headers["x-paceline-offer"] == "b"

    def back() -> Answer | None:
        answer = ask(served, provider=ORDER)
        return answer if answer.headers["x-paceline-offer"] == "a" else None

    wait_for("an offer that is well again", back)
    for _ in range(5):
        assert ask(served, provider=ORDER).headers["x-paceline-offer"] == "a"


def test_a_server_that_is_not_there_is_passed_over(engine: Engines, gateway: Gateways) -> None:
    b = engine()
    gone = engine()
    gone.stop()
    served = gateway(config_of(offer("a", gone.url), offer("b", b.url)))
    assert ask(served, provider=ORDER).is_whole(6)
    attempts = served.entry()["attempts"]
    assert [(one["offer"], one["row"]["outcome"]) for one in attempts] == [
        ("a", "connect_error"),
        ("b", "ok"),
    ]
    assert attempts[0]["cost_usd"] == 0
    alone = ask(served, provider={"only": ["a"]})
    assert (alone.status, alone.code) == (502, "upstream_failed")


def occupied(engine: Engines) -> Engine:
    """Its first request is never answered to the end; others are."""
    endless = {"stalls": [{"after_tokens": 1, "stall_us": FOR_EVER_US}]}
    return engine(endless, timeline=[{"after_requests": 1, "exact": {"stalls": []}}])


def occupy(served: Gateway) -> RawClient:
    client = RawClient(served.url)
    client.post("openai-chat", asks.body("openai-chat", "demo", 5, stream=True))
    client.read_token_events("openai-chat", 1)
    return client


@pytest.mark.parametrize(
    "limits", [{"queue": 0}, {"queue": 4, "queue_timeout": "20ms"}], ids=["none", "brief"]
)
def test_a_full_offer_refuses(engine: Engines, gateway: Gateways, limits: dict[str, Any]) -> None:
    a = occupied(engine)
    served = gateway(config_of(offer("a", a.url, limits={"concurrency": 1, **limits})))
    with occupy(served):
        refused = ask(served)
        assert (refused.status, refused.code) == (429, "queue_full")
        assert int(refused.headers["retry-after"]) > 0
        assert a.truth(20) == []
    entry = served.entry(outcome="refused")
    assert (entry["status"], entry["code"], entry["attempts"]) == (429, "queue_full", [])


def test_a_full_queue_refuses_and_who_waits_is_served(engine: Engines, gateway: Gateways) -> None:
    a = occupied(engine)
    limits = {"concurrency": 1, "queue": 1, "queue_timeout": "60s"}
    served = gateway(config_of(offer("a", a.url, limits=limits)))
    answers: list[Answer] = []
    threads = [
        threading.Thread(target=lambda prompt: answers.append(ask(served, prompt)), args=(prompt,))
        for prompt in (21, 22)
    ]
    with occupy(served) as first:
        for thread in threads:
            thread.start()
        wait_for("a refusal of whoever came last", lambda: len(answers) == 1 or None)
        first.close()
        for thread in threads:
            thread.join()
    refused, waited = answers
    assert (refused.status, refused.code) == (429, "queue_full")
    assert waited.is_whole(6)
    logged = wait_for(
        "the one that was asked", lambda: [one for one in a.truth() if one["prompt_tokens"] > 20] or None
    )
    assert len(logged) == 1
    assert served.entry(outcome="ok")["queued_ns"] > 0


def test_a_full_offer_is_passed_over(engine: Engines, gateway: Gateways) -> None:
    a, b = occupied(engine), engine()
    served = gateway(config_of(offer("a", a.url, limits={"concurrency": 1}), offer("b", b.url)))
    with RawClient(served.url) as client:
        client.post("openai-chat", asks.body("openai-chat", "demo", 5, stream=True, provider=ORDER))
        client.read_token_events("openai-chat", 1)
        answer = ask(served, provider=ORDER)
        assert answer.is_whole(6)
        assert answer.headers["x-paceline-offer"] == "b"


def test_a_deadline_that_cannot_be_met_is_refused_at_once(engine: Engines, gateway: Gateways) -> None:
    a = engine({"ttft_us": 30_000})
    served = gateway(config_of(offer("a", a.url), policy={"min_samples": 3}))
    for _ in range(WARM):
        assert ask(served).is_whole(6)
    refused = ask(served, prompt=21, provider={"deadline_ms": 10})
    assert (refused.status, refused.code) == (422, "deadline_cannot_be_met")
    considered = refused.errors[0]["metadata"]["considered"]
    assert [one["offer"] for one in considered] == ["a"]
    assert a.truth(21) == []
    kept = ask(served, prompt=22, provider={"deadline_ms": 60_000})
    assert kept.is_whole(6)
    met = {entry["deadline_ns"]: entry["deadline_met"] for entry in served.entries(WARM + 2)}
    assert met == {None: None, 10_000_000: False, 60_000_000_000: True}


@pytest.mark.parametrize("stream", [True, False])
def test_a_deadline_that_is_missed_ends_the_request(engine: Engines, gateway: Gateways, stream: bool) -> None:
    a = engine(timeline=[{"after_requests": WARM, "exact": {"ttft_us": FOR_EVER_US}}])
    served = gateway(config_of(offer("a", a.url), policy={"min_samples": 3}))
    for _ in range(WARM):
        assert ask(served).is_whole(6)
    missed = ask(served, prompt=21, stream=stream, provider={"deadline_ms": 300})
    assert (missed.status, missed.code) == (504, "deadline_missed")
    (record,) = a.truth_of(21)
    assert record["end"] == "client_gone"
    entry = served.entry(code="deadline_missed")
    assert (entry["outcome"], entry["deadline_met"], entry["status"]) == ("failed", False, 504)
    assert entry["attempts"][0]["cost_usd"] > 0


def test_an_end_that_is_missed_is_an_error_in_the_stream(engine: Engines, gateway: Gateways) -> None:
    stalls = [{"after_tokens": 2, "stall_us": FOR_EVER_US}]
    a = engine(timeline=[{"after_requests": WARM, "exact": {"stalls": stalls}}])
    served = gateway(config_of(offer("a", a.url), policy={"min_samples": 3}))
    for _ in range(WARM):
        assert ask(served).is_whole(6)
    missed = ask(served, prompt=21, provider={"finish_by_ms": 300})
    assert missed.status == 200
    assert len(missed.tokens) == 2
    assert missed.code == "deadline_missed"
    assert not missed.is_done
    entry = served.entry(code="deadline_missed")
    assert (entry["outcome"], entry["deadline_met"]) == ("error_in_stream", False)
    assert entry["attempts"][0]["usage"]["completion_tokens"] == 2

"""What clients and upstreams send that no proper one would: nobody gets what is not theirs."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.e2e.gateway.conftest import Engines, Gateways
from tests.support.gateway import asks
from tests.support.gateway.answers import Answer
from tests.support.gateway.engines import wait_for
from tests.support.gateway.hostile import STOP, STREAM_HEAD, chunk, event, hostile, stream
from tests.support.gateway.process import Gateway, config_of, offer
from tests.support.gateway.raw import RawClient

BODY = json.dumps(asks.body("openai-chat", "demo", 20)).encode()
LENGTH = f"content-length: {len(BODY)}"
CHUNKS = b"%x\r\n%b\r\n0\r\n\r\n" % (len(BODY), BODY)
# What a proxy in front of the gateway would take for a body, and a careless gateway for a request.
NEXT = b"GET /healthz HTTP/1.1\r\nhost: gateway\r\nconnection: close\r\n\r\n"


@pytest.fixture(scope="module")
def served(module_engine: Engines, module_gateway: Gateways) -> Gateway:
    return module_gateway(config_of(offer("a", module_engine().url)))


@pytest.fixture
def quiet(served: Gateway) -> Iterator[Gateway]:
    """Nothing is left of a request that a test has sent."""
    yield served
    wait_for(
        "no request in flight", lambda: served.metrics()["paceline_gateway_requests_in_flight"] == 0 or None
    )


def sent(
    served: Gateway, *lines: str, then: bytes = b"", method: str = "POST", version: str = "1.1"
) -> bytes:
    """All that comes back of a request with these header lines, until the connection ends."""
    head = "\r\n".join([f"{method} /v1/chat/completions HTTP/{version}", "host: gateway", *lines])
    with RawClient(served.url) as client:
        client.send(head.encode() + b"\r\n\r\n" + then)
        while client.more():
            pass
        return bytes(client.received)


def statuses(received: bytes) -> list[int]:
    """Of each response, of which no body has such a line."""
    return [int(line[9:12]) for line in received.split(b"\r\n") if line.startswith(b"HTTP/1.1 ")]


@pytest.mark.parametrize(
    ("lines", "then"),
    [
        ([LENGTH, "transfer-encoding: chunked"], CHUNKS),
        (["transfer-encoding: chunked", "content-length: 0"], CHUNKS),
        ([LENGTH, "content-length: 3"], BODY),
        (["content-length: +5"], b"hello"),
        (["transfer-encoding: gzip, chunked"], CHUNKS),
        (["transfer-encoding: chunked, identity"], CHUNKS),
        (["transfer-encoding: chunked"], b"1 0\r\n0123456789abcdef\r\n0\r\n\r\n"),
        (["transfer-encoding: chunked"], b"10\n0123456789abcdef\r\n0\r\n\r\n"),
        ([LENGTH.replace(":", " :")], BODY),
        (["x-folded: a", " b", LENGTH], BODY),
    ],
)
def test_a_request_that_two_would_frame_differently(quiet: Gateway, lines: list[str], then: bytes) -> None:
    assert statuses(sent(quiet, *lines, then=then + NEXT)) == [400]


def test_head_has_no_body_that_would_be_the_next_response(quiet: Gateway) -> None:
    received = sent(quiet, method="HEAD", then=NEXT)
    head, _, rest = received.partition(b"\r\n\r\n")
    assert statuses(head) == [405]
    assert b"allow: POST" in head
    assert rest.startswith(b"HTTP/1.1 200 OK")


def test_a_client_of_http_1_0_gets_no_chunks(quiet: Gateway) -> None:
    body = json.dumps(asks.body("openai-chat", "demo", 20, stream=True)).encode()
    received = sent(quiet, f"content-length: {len(body)}", "connection: keep-alive", then=body, version="1.0")
    head, _, events = received.partition(b"\r\n\r\n")
    assert b"transfer-encoding" not in head
    assert b"connection: close" in head
    headers = httpx.Headers({"content-type": "text/event-stream"})
    assert Answer("openai-chat", True, 200, headers, events).is_whole(6)


def test_who_has_no_key_is_told_before_a_body_is_taken(engine: Engines, gateway: Gateways) -> None:
    served = gateway(config_of(offer("a", engine().url), require_key=True))
    received = sent(served, "content-length: 30000000", "expect: 100-continue")
    assert statuses(received) == [401]
    assert b"connection: close" in received


def through(gateway: Gateways, url: str, *more: dict[str, Any]) -> Gateway:
    # Nobody but a test sends so much before its first token.
    return gateway(config_of(offer("a", url, protocol="openai-chat"), *more, clients={"event_bytes": 10_000}))


def ask(served: Gateway, streams: bool = True) -> Answer:
    return served.ask("openai-chat", asks.body("openai-chat", "demo", 20, stream=streams))


def test_a_stream_that_comes_together_with_its_close(gateway: Gateways) -> None:
    answer = STREAM_HEAD + b"\r\n" + event(" t1") + STOP
    with hostile(lambda number, request: answer, closes=True) as upstream:
        served = through(gateway, upstream.url)
        for _ in range(10):
            got = ask(served)
            assert (got.tokens, got.is_done, got.errors) == ([" t1"], True, [])
        assert [entry["outcome"] for entry in served.entries(10)] == ["ok"] * 10


@pytest.mark.parametrize(
    "filler", [b": waiting\n\n", b"\n", b'data: {"choices":[{"index":0,"delta":{}}]}\n\n']
)
def test_what_comes_before_the_first_token_has_a_bound(gateway: Gateways, filler: bytes) -> None:
    much = STREAM_HEAD + b"transfer-encoding: chunked\r\n\r\n" + chunk(filler * 30_000)
    with hostile(lambda number, request: much) as upstream:
        served = through(gateway, upstream.url)
        answer = ask(served)
        assert (answer.status, answer.code) == (502, "upstream_failed")
        assert "no token" in answer.errors[0]["message"]


def test_a_whole_answer_without_a_body_is_none(gateway: Gateways) -> None:
    with hostile(lambda number, request: b"HTTP/1.1 204 No Content\r\n\r\n") as upstream:
        answer = ask(through(gateway, upstream.url), streams=False)
        assert (answer.status, answer.code) == (502, "upstream_failed")


def test_a_server_that_answers_unasked_gets_no_second_request_on_a_connection(gateway: Gateways) -> None:
    def says(number: int, request: bytes) -> bytes:
        text = json.loads(request.partition(b"\r\n\r\n")[2])["messages"][0]["content"]
        return stream(text) + stream("nobody asked")

    with hostile(says) as upstream:
        served = through(gateway, upstream.url)
        for number in range(20):
            body = asks.body("openai-chat", "demo", 1, stream=True)
            body["messages"][0]["content"] = f"mine {number}"
            with served.client() as client:
                raw = client.post("/v1/chat/completions", json=body).content
            assert f"mine {number}".encode() in raw
            assert b"nobody asked" not in raw
        assert upstream.connections == 20


def test_a_response_with_two_lengths_is_none(gateway: Gateways) -> None:
    body = b'{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}]}'
    answer = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\ncontent-length: 5\r\n\r\n%b" % (len(body), body)
    with hostile(lambda number, request: answer) as upstream:
        got = ask(through(gateway, upstream.url), streams=False)
        assert (got.status, got.code) == (502, "upstream_failed")

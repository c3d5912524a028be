"""Bounds on clients, TLS towards them, and what they are told of a choice."""

import json
import ssl

import httpx
import pytest
import trustme

from tests.e2e.gateway.conftest import Engines, Gateways
from tests.support.gateway import asks
from tests.support.gateway.process import Gateway, config_of, offer
from tests.support.gateway.raw import RawClient

FOR_EVER_US = 3_600_000_000
PROMPT = 20


def stalling(engine: Engines, gateway: Gateways, **clients: object) -> Gateway:
    """A gateway whose first answer never ends."""
    upstream = engine({"stalls": [{"after_tokens": 1, "stall_us": FOR_EVER_US}]})
    return gateway(config_of(offer("a", upstream.url), clients=clients))


def occupy(served: Gateway) -> RawClient:
    client = RawClient(served.url)
    client.post("openai-chat", asks.body("openai-chat", "demo", PROMPT, stream=True))
    client.read_token_events("openai-chat", 1)
    return client


def test_more_requests_than_there_may_be_are_refused(engine: Engines, gateway: Gateways) -> None:
    served = stalling(engine, gateway, requests=2)
    with occupy(served), occupy(served):
        refused = served.ask("anthropic-messages", asks.body("anthropic-messages", "demo", PROMPT))
        assert (refused.status, refused.code) == (503, "overloaded")
        assert int(refused.headers["retry-after"]) > 0


def test_more_connections_than_there_may_be_are_turned_away(engine: Engines, gateway: Gateways) -> None:
    served = stalling(engine, gateway, connections=2)
    with occupy(served), occupy(served), RawClient(served.url) as third:
        while third.more():
            pass
        assert third.received.startswith(b"HTTP/1.1 503 ")


@pytest.mark.parametrize(
    "begun",
    [
        b"POST /v1/messages HTTP/1.1\r\nhost: x\r\n",
        b"POST /v1/messages HTTP/1.1\r\ncontent-length: 9\r\n\r\n{",
    ],
    ids=["head", "body"],
)
def test_a_request_that_does_not_come_whole_in_time(engine: Engines, gateway: Gateways, begun: bytes) -> None:
    clients = {"head_timeout": "100ms", "body_timeout": "100ms"}
    served = gateway(config_of(offer("a", engine().url), clients=clients))
    with RawClient(served.url) as client:
        client.send(begun)
        while client.more():
            pass
    head, _, content = bytes(client.received).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 408 ")
    assert b"request_timeout" in content


def test_an_idle_connection_is_closed(engine: Engines, gateway: Gateways) -> None:
    served = gateway(config_of(offer("a", engine().url), clients={"idle_timeout": "100ms"}))
    with RawClient(served.url) as client:
        assert not client.more()
        assert client.received == b""


@pytest.mark.parametrize("count", [3])
def test_pipelined_requests_are_answered_in_order(engine: Engines, gateway: Gateways, count: int) -> None:
    served = gateway(config_of(offer("a", engine().url)))
    with RawClient(served.url) as client:
        for place in range(count):
            body = asks.body("openai-chat", "demo", PROMPT + place, stream=True)
            client.post("openai-chat", body)
        client.read_until(lambda received: received.count(b"data: [DONE]") == count)
    entries = served.entries(count)
    prompts = [entry["attempts"][0]["usage"]["prompt_tokens"] for entry in entries]
    assert prompts == [PROMPT + place for place in range(count)]


def test_tls_is_spoken_where_it_is_configured(
    engine: Engines, gateway: Gateways, tmp_path_factory: pytest.TempPathFactory
) -> None:
    authority = trustme.CA()
    certificate = authority.issue_cert("127.0.0.1")
    folder = tmp_path_factory.mktemp("tls")
    chain, key = folder / "chain.pem", folder / "key.pem"
    chain.write_bytes(b"".join(blob.bytes() for blob in certificate.cert_chain_pems))
    key.write_bytes(certificate.private_key_pem.bytes())
    trusted = ssl.create_default_context(cadata=authority.cert_pem.bytes().decode())
    tls = {"cert_file": str(chain), "key_file": str(key)}
    config = config_of(offer("a", engine().url), tls=tls)
    served = gateway(config, verify=trusted)
    for stream in (True, False):
        assert served.ask("openai-chat", asks.body("openai-chat", "demo", PROMPT, stream)).is_whole(6)
    plain = served.url.replace("https://", "http://")
    with pytest.raises(httpx.TransportError):
        httpx.get(f"{plain}/healthz", trust_env=False)


def test_an_upstream_with_tls_is_asked_and_one_that_is_not_trusted_is_not(
    engine: Engines, gateway: Gateways, tmp_path_factory: pytest.TempPathFactory
) -> None:
    authority = trustme.CA()
    certificate = authority.issue_cert("127.0.0.1")
    pems = "".join(blob.bytes().decode() for blob in certificate.cert_chain_pems)
    upstream = engine(tls_cert_pem=pems, tls_key_pem=certificate.private_key_pem.bytes().decode())
    ca = tmp_path_factory.mktemp("tls") / "ca.pem"
    ca.write_bytes(authority.cert_pem.bytes())
    url = upstream.url.replace("http://", "https://")
    served = gateway(config_of(offer("a", url, ca_file=str(ca)), offer("b", url, model="untrusted")))
    for stream in (True, False):
        assert served.ask("openai-chat", asks.body("openai-chat", "demo", PROMPT, stream)).is_whole(6)
    refused = served.ask("openai-chat", asks.body("openai-chat", "untrusted", PROMPT))
    assert (refused.status, refused.code) == (502, "upstream_failed")
    assert served.entry(asked_model="untrusted")["attempts"][0]["row"]["outcome"] == "connect_error"


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("by_header", [True, False])
def test_a_choice_is_explained(engine: Engines, gateway: Gateways, stream: bool, by_header: bool) -> None:
    offers = [offer("a", engine().url), offer("b", engine().url), offer("c", engine().url, tier="flex")]
    served = gateway(config_of(*offers))
    body = asks.body("openai-chat", "demo", PROMPT, stream, provider={"order": ["b"], "ignore": ["c"]})
    headers = {"x-paceline-explain": "true"} if by_header else {}
    if not by_header:
        body["explain"] = True
    answer = served.ask("openai-chat", body, headers=headers)
    assert answer.is_whole(6)
    told = json.loads(answer.headers["x-paceline-explain"])
    assert told["schema"] == "paceline.explain/1"
    verdicts = {one["offer"]: one["verdict"] for one in told["considered"]}
    assert verdicts["b"] == "chosen"
    assert verdicts["a"] == "candidate"
    assert verdicts["c"].replace("_", " ") == "left out"
    assert all(one["why"] for one in told["considered"] if one["offer"] == "c")
    if not stream:
        assert answer.documents[0]["paceline"] == told


def test_of_many_offers_a_streams_explanation_still_fits_a_header(engine: Engines, gateway: Gateways) -> None:
    served = gateway(config_of(*(offer(f"offer-{n}", engine().url) for n in range(40))))
    answer = served.ask("openai-chat", asks.body("openai-chat", "demo", PROMPT, explain=True))
    assert answer.is_whole(6)
    header = answer.headers["x-paceline-explain"]
    assert len(header) <= 8_000
    first, *others = json.loads(header)["considered"]
    assert (first["offer"], first["verdict"]) == (answer.headers["x-paceline-offer"], "chosen")
    assert first["figures"]["success"] is None, "nothing was seen of it"
    assert len(others) > 8
    assert all(one["why"] for one in others)

"""The tests' own reader, on what the reference engine sends when nobody is between."""

from collections.abc import Iterator

import httpx
import pytest

from paceline.protocols import PROTOCOLS, Protocol
from tests.support.gateway import asks
from tests.support.gateway.engines import Engine, engines, tokens_sent
from tests.support.gateway.process import read

IDS = [f"{PROTOCOLS[protocol].short}-{stream}" for protocol, stream in asks.WAYS]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with engines(tmp_path_factory.mktemp("engines")) as start:
        yield start({"cached_tokens": 3})


@pytest.mark.parametrize(("protocol", "stream"), asks.WAYS, ids=IDS)
def test_a_good_answer_is_whole(engine: Engine, protocol: Protocol, stream: bool) -> None:
    prompt = 10 + asks.WAYS.index((protocol, stream))
    with httpx.Client(base_url=f"http://{engine.address}", trust_env=False) as client:
        answer = read(client, protocol, asks.body(protocol, "truth", prompt, stream), {})
    assert answer.is_whole(6)
    assert answer.is_done == stream
    assert answer.usage is not None
    (record,) = engine.truth_of(prompt)
    assert (answer.usage["prompt"], answer.usage["completion"]) == (prompt, tokens_sent(record))
    assert answer.usage["cached"] in (3, None)


@pytest.mark.parametrize("protocol", asks.STREAMING)
@pytest.mark.parametrize("kind", ["error_event", "cut"])
def test_a_broken_answer_is_not(engine: Engine, protocol: Protocol, kind: str) -> None:
    fault = {"x-paceline-sim": f'{{"fault": {{"kind": "{kind}", "after_events": 2}}}}'}
    with httpx.Client(base_url=f"http://{engine.address}", trust_env=False) as client:
        answer = read(client, protocol, asks.body(protocol, "truth", 30, stream=True), fault)
    assert not answer.is_whole(6)
    assert len(answer.tokens) == 2
    assert answer.finish is None
    assert bool(answer.errors) == (kind == "error_event")
    assert bool(answer.broken) == (kind == "cut")

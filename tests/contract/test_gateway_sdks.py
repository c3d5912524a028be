"""The official `openai` and `anthropic` clients, and one written for OpenRouter, at a gateway.

What they read through it is what they read from the engine itself; what goes wrong raises their own errors.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import anthropic
import openai
import pytest

from paceline.control.keys import KeyLimits, KeyStore
from paceline.protocols import PROTOCOLS, Protocol
from tests.support.gateway import asks
from tests.support.gateway.engines import Engine, engines
from tests.support.gateway.process import Config, Gateway, config_of, cost_usd, gateways, offer
from tests.support.sdks import Refused, question, theirs

WAYS = list(asks.WAYS)
IDS = [f"{PROTOCOLS[protocol].short}-{'stream' if stream else 'whole'}" for protocol, stream in WAYS]
PRICE = {"input_usd_per_mtok": 3.0, "output_usd_per_mtok": 5.0}
SHAPES: dict[str, dict[str, Any]] = {
    "demo": {},
    "thinks": {"reasoning_tokens": 3},
    "calls": {"tool_tokens": 3},
}
FAULTS: dict[str, dict[str, Any]] = {
    "limited": {"kind": "http_429", "retry_after_s": 7},
    "down": {"kind": "http_503"},
    "refusing": {"kind": "http_400"},
    "failing": {"kind": "error_event", "after_events": 2},
    "cut": {"kind": "cut", "after_events": 2},
    "garbled": {"kind": "malformed_json", "after_events": 2},
}
# Typed as nothing in particular: the tests are of what the clients do, not of their signatures.
SAID: Any = [{"role": "user", "content": "one two three"}]


@dataclass(frozen=True)
class Place:
    """A gateway, and the engine behind each of its models."""

    gateway: Gateway
    engines: dict[str, Engine]

    @property
    def url(self) -> str:
        return self.gateway.url

    def openai(self) -> Any:
        return openai.OpenAI(base_url=f"{self.url}/v1", api_key="k", max_retries=0)

    def anthropic(self) -> Any:
        return anthropic.Anthropic(base_url=self.url, api_key="k", max_retries=0)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("gateway")
    with engines(folder / "engines") as engine, gateways(folder) as gateway:
        running = {name: engine(exact) for name, exact in SHAPES.items()}
        running |= {name: engine({"itl_us": 50_000}, fault=fault) for name, fault in FAULTS.items()}
        offers: list[Config] = [
            offer(name, one.url, model=name, provider=f"{name}-works", price=PRICE)
            for name, one in running.items()
        ]
        offers.append(offer("demo-dear", running["demo"].url, provider="dear", price={
            "input_usd_per_mtok": 30.0, "output_usd_per_mtok": 50.0,
        }))  # fmt: skip
        yield Place(gateway(config_of(*offers)), running)


@pytest.mark.parametrize("model", SHAPES)
@pytest.mark.parametrize(("protocol", "stream"), WAYS, ids=IDS)
def test_a_client_reads_what_it_reads_from_the_engine(
    place: Place, protocol: Protocol, stream: bool, model: str
) -> None:
    direct = place.engines[model].url.removesuffix("/v1")
    expected = theirs(protocol, stream, direct, question(protocol, stream, "truth"))
    for url in (place.url, f"{place.url}/api"):
        assert theirs(protocol, stream, url, question(protocol, stream, model)) == expected


@pytest.mark.parametrize(
    ("model", "kind", "status", "code"),
    [
        ("no-such", openai.NotFoundError, 404, "unknown_model"),
        ("limited", openai.RateLimitError, 429, "upstream_rate_limited"),
        ("down", openai.InternalServerError, 502, "upstream_failed"),
        ("refusing", openai.BadRequestError, 400, None),
    ],
)
def test_openais_client_raises_its_own_errors(
    place: Place, model: str, kind: type[openai.APIStatusError], status: int, code: str | None
) -> None:
    with place.openai() as client:
        calls: tuple[Callable[[], Any], ...] = (
            lambda: client.chat.completions.create(model=model, messages=SAID),
            lambda: client.chat.completions.create(model=model, messages=SAID, stream=True),
            lambda: client.completions.create(model=model, prompt="one"),
            lambda: client.responses.create(model=model, input="one"),
            lambda: client.responses.create(model=model, input="one", stream=True),
            lambda: client.embeddings.create(model=model, input="one"),
        )
        for call in calls:
            with pytest.raises(kind) as raised:
                call()
            assert raised.value.status_code == status
            assert raised.value.message
            assert code in (None, raised.value.code)
            assert status in (400, 404) or raised.value.request_id
    if model == "limited":
        assert int(raised.value.response.headers["retry-after"]) > 0


@pytest.mark.parametrize(
    ("model", "kind", "status"),
    [
        ("no-such", anthropic.NotFoundError, 404),
        ("limited", anthropic.RateLimitError, 429),
        ("down", anthropic.InternalServerError, 502),
        ("refusing", anthropic.BadRequestError, 400),
    ],
)
def test_anthropics_client_raises_its_own_errors(
    place: Place, model: str, kind: type[anthropic.APIStatusError], status: int
) -> None:
    with place.anthropic() as client:
        for stream in (False, True):
            with pytest.raises(kind) as raised:
                client.messages.create(model=model, max_tokens=9, messages=SAID, stream=stream)
            assert raised.value.status_code == status
            assert raised.value.message


@pytest.mark.parametrize("model", ["failing", "cut", "garbled"])
@pytest.mark.parametrize("protocol", asks.STREAMING)
def test_an_answer_that_breaks_off_raises(place: Place, protocol: Protocol, model: str) -> None:
    with pytest.raises(Refused):
        theirs(protocol, True, place.url, question(protocol, True, model))


@pytest.mark.parametrize("model", ["failing", "cut", "garbled"])
def test_what_came_before_the_break_was_read(place: Place, model: str) -> None:
    with place.openai() as client:
        texts = []
        with pytest.raises(openai.APIError):  # noqa: PT012
            for chunk in client.chat.completions.create(model=model, messages=SAID, stream=True):
                texts.append(chunk.choices[0].delta.content)
    assert len([text for text in texts if text]) == 2


def test_the_helpers_of_the_clients_for_streams(place: Place) -> None:
    with place.anthropic() as client:
        with client.messages.stream(model="calls", max_tokens=9, messages=SAID) as stream:
            text = "".join(stream.text_stream)
            message = stream.get_final_message()
        assert len(text.split()) == 3
        assert message.stop_reason == "tool_use"
        assert (message.usage.input_tokens, message.usage.output_tokens) == (3, 6)
    with place.openai() as openais:
        with openais.responses.stream(model="demo", input="one two three") as events:
            response = events.until_done().get_final_response()
        assert len(response.output_text.split()) == 6
        with openais.chat.completions.stream(model="calls", messages=SAID) as chunks:
            completion = chunks.until_done().get_final_completion()
        assert completion.choices[0].finish_reason == "tool_calls"
        assert completion.choices[0].message.tool_calls


@pytest.mark.parametrize(
    ("client", "upstream"), [("openai", "anthropic-messages"), ("anthropic", "openai-chat")]
)
@pytest.mark.parametrize("stream", [True, False])
def test_a_translated_answer_is_read_too(
    place: Place, tmp_path_factory: pytest.TempPathFactory, client: str, upstream: Protocol, stream: bool
) -> None:
    protocol: Protocol = "openai-chat" if client == "openai" else "anthropic-messages"
    one = offer("a", place.engines["calls"].url, protocol=upstream)
    with gateways(tmp_path_factory.mktemp("translating")) as gateway:
        read = theirs(protocol, stream, gateway(config_of(one)).url, question(protocol, stream, "demo"))
    content, _, arguments = read.texts
    assert (len(content.split()), bool(arguments)) == (3, True) or read.mixed
    assert read.finish == ("tool_calls" if client == "openai" else "tool_use")
    assert (read.prompt_tokens, read.completion_tokens) == (2, 6)


@pytest.fixture(scope="module")
def guarded(place: Place, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Gateway, str, str]]:
    """A gateway that wants keys; a key that may ask for all, and one whose budget is spent."""
    folder = tmp_path_factory.mktemp("guarded")
    one = offer("a", place.engines["demo"].url, price=PRICE)
    store = KeyStore(folder / "home-0")
    good = store.create("good", KeyLimits())[1]
    poor = store.create("poor", KeyLimits(budgets_usd=(("total", 1e-9),)))[1]
    with gateways(folder) as gateway:
        yield gateway(config_of(one, require_key=True)), good, poor


def test_keys_are_the_clients_keys(guarded: tuple[Gateway, str, str]) -> None:
    served, good, poor = guarded
    for key, kinds in (
        (good, None),
        ("sk-wrong", (openai.AuthenticationError, anthropic.AuthenticationError)),
        (poor, (openai.APIStatusError, anthropic.APIStatusError)),
    ):
        first = openai.OpenAI(base_url=f"{served.url}/v1", api_key=key, max_retries=0)
        second = anthropic.Anthropic(base_url=served.url, api_key=key, max_retries=0)
        with first, second:
            if kinds is None:
                assert first.chat.completions.create(model="demo", messages=SAID).choices
                assert second.messages.create(model="demo", max_tokens=9, messages=SAID).content
                continue
            with pytest.raises(kinds[0]) as raised:
                first.chat.completions.create(model="demo", messages=SAID)
            with pytest.raises(kinds[1]) as also:
                second.messages.create(model="demo", max_tokens=9, messages=SAID)
            assert raised.value.status_code == also.value.status_code == (402 if key == poor else 401)


def router(place: Place) -> Any:
    """As OpenRouter's documents have it: the OpenAI client at another base URL."""
    headers = {"HTTP-Referer": "https://app.example", "X-Title": "My App"}
    return openai.OpenAI(
        base_url=f"{place.url}/api/v1", api_key="sk-or-x", max_retries=0, default_headers=headers
    )


def test_a_client_of_openrouter_lists_models(place: Place) -> None:
    with router(place) as client:
        names = [model.id for model in client.models.list()]
        assert set(SHAPES) <= set(names)
        listed = client.models.list().data[0].model_extra
    assert listed
    assert {"pricing", "context_length"} <= set(listed)


@pytest.mark.parametrize(
    ("provider", "served"),
    [
        ({"order": ["dear"]}, "demo-dear"),
        ({"only": ["demo-works"]}, "demo"),
        ({"ignore": ["demo-works"]}, "demo-dear"),
        ({"sort": "price"}, "demo"),
        ({"max_price": {"prompt": 4, "completion": 6}}, "demo"),
    ],
)
def test_a_client_of_openrouter_chooses_providers(
    place: Place, provider: dict[str, Any], served: str
) -> None:
    with router(place) as client:
        raw = client.chat.completions.with_raw_response.create(
            model="demo",
            messages=SAID,
            extra_body={"provider": provider},
        )
    answer = raw.parse()
    assert raw.headers["x-paceline-offer"] == served
    assert answer.usage is not None
    price = PRICE if served == "demo" else {"input_usd_per_mtok": 30.0, "output_usd_per_mtok": 50.0}
    assert answer.usage.model_extra is not None
    assert answer.usage.model_extra["cost"] == pytest.approx(cost_usd(price, 3, 6), abs=1e-9)


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("first", ["down", "limited"])
def test_a_client_of_openrouter_falls_back_to_other_models(place: Place, first: str, stream: bool) -> None:
    with router(place) as client:
        raw = client.chat.completions.with_raw_response.create(
            model=first,
            messages=SAID,
            stream=stream,
            extra_body={"models": [first, "demo"]},
        )
        answer = raw.parse()
        if stream:
            answer = list(answer)
    assert raw.headers["x-paceline-model"] == "demo"
    assert answer


@pytest.mark.parametrize("suffix", ["nitro", "floor"])
def test_a_client_of_openrouter_asks_for_variants(place: Place, suffix: str) -> None:
    with router(place) as client:
        raw = client.chat.completions.with_raw_response.create(model=f"demo:{suffix}", messages=SAID)
    assert raw.headers["x-paceline-model"] == "demo"
    assert suffix != "floor" or raw.headers["x-paceline-offer"] == "demo"


def test_a_client_of_openrouter_reads_its_usage_in_a_stream(place: Place) -> None:
    with router(place) as client:
        stream = client.chat.completions.create(
            model="demo",
            messages=SAID,
            stream=True,
            extra_body={"usage": {"include": True}},
        )
        chunks = list(stream)
    usage = chunks[-1].usage
    assert usage is not None
    assert (usage.prompt_tokens, usage.completion_tokens) == (3, 6)
    assert usage.model_extra is not None
    assert usage.model_extra["cost"] == pytest.approx(cost_usd(PRICE, 3, 6), abs=1e-9)

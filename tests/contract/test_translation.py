"""Translations, held against the official packages and against the reference's tables."""

import json
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_type_hints

import httpx
import pytest

from paceline import _core
from paceline.protocols import PROTOCOLS, Protocol
from tests.support.fake_server import Answer, FakeServer, serving
from tests.support.sdks import Read, ours, question, replayed
from tests.test_protocols import hold_against_the_official_type

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "crates" / "paceline-wire" / "tests" / "data"
PAGE = ROOT / "docs" / "reference" / "translation.md"
CHAT: Protocol = "openai-chat"
MESSAGES: Protocol = "anthropic-messages"
OTHER: dict[Protocol, Protocol] = {CHAT: MESSAGES, MESSAGES: CHAT}

Translate = Callable[..., dict[str, str]]


@pytest.fixture(scope="module")
def translate() -> Translate:
    """One task of the example, built once."""
    cargo = shutil.which("cargo")
    if cargo is None:
        pytest.skip("there is no cargo to build the translator's example with")
    build = [cargo, "build", "--release", "-q", "-p", "paceline-translate", "--example", "translate"]
    message = [*build, "--message-format", "json"]
    done = subprocess.run(message, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    built = [json.loads(line) for line in done.stdout.splitlines()]
    program = next(one["executable"] for one in built if one.get("target", {}).get("name") == "translate")

    def run(what: str, client: Protocol, **more: Any) -> dict[str, str]:
        task = {"what": what, "client": client, "upstream": OTHER[client], **more}
        # Arguments of calls are kept as they are written.
        line = json.dumps(task, separators=(",", ":")) + "\n"
        ran = subprocess.run([program], input=line, capture_output=True, text=True, check=True)
        answer = json.loads(ran.stdout)
        assert isinstance(answer, dict)
        return answer

    return run


def asked(translate: Translate, client: Protocol, body: dict[str, Any]) -> dict[str, Any]:
    answer = translate("request", client, body=body)
    assert "text" in answer, answer
    found = json.loads(answer["text"])
    assert isinstance(found, dict)
    return found


PNG = "data:image/png;base64,iVBORw0KGgo="
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
FUNCTION = {"type": "function", "function": {"name": "f", "description": "d", "parameters": SCHEMA}}
TOOL = {"name": "f", "description": "d", "input_schema": SCHEMA}
CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"city": "Bonn"}'}}
HI = {"role": "user", "content": "Hi"}
REQUESTS: list[tuple[Protocol, dict[str, Any]]] = [
    (CHAT, {"model": "m", "messages": [HI]}),
    (
        CHAT,
        {
            "model": "m",
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "developer", "content": [{"type": "text", "text": "Be kind."}]},
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": "Look", "cache_control": {"type": "ephemeral"}},
                        {"type": "image_url", "image_url": {"url": PNG}},
                        {"type": "image_url", "image_url": {"url": "https://h.example/a.png"}},
                    ],
                },
                {"role": "assistant", "content": None, "tool_calls": [CALL]},
                {"role": "tool", "tool_call_id": "c1", "content": "7"},
                HI,
            ],
            "max_completion_tokens": 9,
            "stop": ["x"],
            "stream": True,
            "tools": [FUNCTION],
            "tool_choice": "required",
            "parallel_tool_calls": False,
            "user": "u",
            "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA}},
        },
    ),
    (CHAT, {"model": "m", "messages": [HI], "reasoning_effort": "minimal", "max_tokens": 2000}),
    (MESSAGES, {"model": "m", "max_tokens": 9, "messages": [HI]}),
    (
        MESSAGES,
        {
            "model": "m",
            "max_tokens": 9,
            "system": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
            "messages": [
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": "Look"},
                        {
                            "type": "image",
                            "source": {"type": "base64", "media_type": "image/png", "data": "AA=="},
                        },
                    ],
                },
                {
                    "role": "assistant",
                    "content": [
                        {"type": "thinking", "thinking": "Hm", "signature": "c2ln"},
                        {"type": "tool_use", "id": "t", "name": "f", "input": {"city": "Bonn"}},
                    ],
                },
                {
                    "role": "user",
                    "content": [
                        {
                            "type": "tool_result",
                            "tool_use_id": "t",
                            "content": [
                                {"type": "text", "text": "7"},
                                {
                                    "type": "image",
                                    "source": {"type": "url", "url": "https://h.example/a.png"},
                                },
                            ],
                        }
                    ],
                },
            ],
            "temperature": 0.5,
            "top_p": 0.9,
            "stop_sequences": ["x"],
            "stream": True,
            "tools": [TOOL],
            "tool_choice": {"type": "tool", "name": "f", "disable_parallel_tool_use": True},
            "metadata": {"user_id": "u"},
            "output_config": {"effort": "low", "format": {"type": "json_schema", "schema": SCHEMA}},
        },
    ),
]


@pytest.mark.parametrize(("client", "body"), REQUESTS)
def test_requests_have_the_official_form(
    translate: Translate, client: Protocol, body: dict[str, Any]
) -> None:
    found = asked(translate, client, body)
    assert found["model"] == "up"
    hold_against_the_official_type(OTHER[client], found)


FINISH = {
    "stop": {"end_turn", "stop_sequence", "pause_turn"},
    "length": {"max_tokens", "model_context_window_exceeded"},
    "tool_calls": {"tool_use"},
    "content_filter": {"refusal"},
}


def agree(client: Protocol, found: Read, expected: Read) -> None:
    """The client's package reads in the translation what the upstream's reader found in the original."""
    assert sorted("".join(found.texts)) == sorted(expected.mixed + "".join(expected.texts))
    assert found.kinds == expected.kinds & 7
    # Messages demands counts: where a server tells none they are 0.
    assert (found.prompt_tokens, found.completion_tokens) == (
        expected.prompt_tokens or 0,
        expected.completion_tokens or 0,
    )
    assert (found.cached_tokens or 0) == (expected.cached_tokens or 0)
    assert found.finish is not None
    assert expected.finish is not None
    chat, messages = (found.finish, expected.finish) if client == CHAT else (expected.finish, found.finish)
    # Forced calls end with `stop` in chat.
    assert messages in FINISH[chat] or (chat == "stop" and messages == "tool_use" and found.kinds & 4)


def events_of(name: str) -> list[str]:
    """The data of each event; without what no chat has, and with the name that no server leaves out."""
    nameless = '{"index":1,"function":{"arguments"'
    named = '{"index":1,"id":"t2","function":{"name":"g","arguments"'
    lines = (DATA / name).read_text().replace(nameless, named).splitlines()
    return [
        line.removeprefix("data: ") for line in lines if line.startswith("data: ") and '{\\"query' not in line
    ]


STREAMS = [
    "anthropic-messages.all.sse",
    "anthropic-messages.llama.sse",
    "openai-chat.all.sse",
    "openai-chat.llama.sse",
]
WHOLES = ["anthropic-messages.llama.json", "openai-chat.all.json"]


@pytest.mark.parametrize("name", STREAMS)
def test_streams_go_through_the_official_parsers(translate: Translate, name: str) -> None:
    upstream = MESSAGES if name.startswith(MESSAGES) else CHAT
    client = OTHER[upstream]
    events = events_of(name)
    answer = translate("stream", client, events=events)
    assert "text" in answer, answer
    original = "".join(f"data: {event}\n\n" for event in events).encode()
    expected, outcome = ours(upstream, True, original)
    assert outcome == "ok"
    agree(client, replayed(client, True, answer["text"].encode()), expected)


@pytest.mark.parametrize("name", WHOLES)
def test_answers_go_through_the_official_parsers(translate: Translate, name: str) -> None:
    upstream = MESSAGES if name.startswith(MESSAGES) else CHAT
    client = OTHER[upstream]
    original = (DATA / name).read_bytes()
    answer = translate("response", client, body=json.loads(original))
    assert "text" in answer, answer
    expected, _ = ours(upstream, False, original)
    agree(client, replayed(client, False, answer["text"].encode()), expected)


SHAPES: dict[str, dict[str, Any]] = {
    "plain": {"output_tokens": 6},
    "thinks": {"output_tokens": 6, "reasoning_tokens": 3},
    "calls a tool": {"output_tokens": 6, "tool_tokens": 2},
}


@pytest.fixture(scope="module", params=SHAPES)
def engine(request: pytest.FixtureRequest) -> Iterator[str]:
    sim = _core.Sim(
        json.dumps({"mode": "exact", "exact": {"ttft_us": 500, "itl_us": 200, **SHAPES[request.param]}})
    )
    try:
        yield f"http://{sim.start()}"
    finally:
        sim.stop()


@pytest.mark.parametrize("streaming", [True, False])
@pytest.mark.parametrize("client", [CHAT, MESSAGES])
def test_the_reference_engine_answers_what_was_translated(
    translate: Translate, engine: str, client: Protocol, streaming: bool
) -> None:
    upstream = OTHER[client]
    body = translate("request", client, body=question(client, streaming), model="truth")["text"]
    url = f"{engine}/v1{PROTOCOLS[upstream].path}"
    original = httpx.post(url, content=body.encode(), timeout=60, trust_env=False)
    assert original.status_code == 200, original.text
    expected, outcome = ours(upstream, streaming, original.content)
    assert outcome == "ok"
    if streaming:
        lines = original.text.splitlines()
        events = [line.removeprefix("data: ") for line in lines if line.startswith("data: ")]
        answer = translate("stream", client, events=events)
    else:
        answer = translate("response", client, body=original.json())
    assert "text" in answer, answer
    agree(client, replayed(client, streaming, answer["text"].encode()), expected)


def test_the_messages_package_gathers_a_translated_stream(translate: Translate) -> None:
    import anthropic

    stream = translate("stream", MESSAGES, events=events_of("openai-chat.all.sse"))["text"]
    answer = Answer(headers={"content-type": "text/event-stream"}, body=stream.encode())
    with (
        serving(FakeServer(on_request=lambda *_: answer)) as server,
        anthropic.Anthropic(base_url=server.url, api_key="k", max_retries=0) as client,
        client.messages.stream(
            model="m", max_tokens=9, messages=[{"role": "user", "content": "Hi"}]
        ) as events,
    ):
        message = events.get_final_message()
    kinds = [block.type for block in message.content]
    assert kinds == ["thinking", "text", "tool_use", "tool_use", "text"]
    assert [block.input for block in message.content if block.type == "tool_use"] == [{"a": 1}, {}]
    assert message.stop_reason == "tool_use"
    assert (message.usage.input_tokens, message.usage.cache_read_input_tokens) == (0, 8)
    assert (message.usage.cache_creation_input_tokens, message.usage.output_tokens) == (1, 15)


def test_the_openai_package_gathers_a_translated_stream(translate: Translate) -> None:
    import openai

    stream = translate("stream", CHAT, events=events_of("anthropic-messages.all.sse"))["text"]
    answer = Answer(headers={"content-type": "text/event-stream"}, body=stream.encode())
    with (
        serving(FakeServer(on_request=lambda *_: answer)) as server,
        openai.OpenAI(base_url=f"{server.url}/v1", api_key="k", max_retries=0) as client,
        client.chat.completions.stream(model="m", messages=[{"role": "user", "content": "Hi"}]) as events,
    ):
        completion = events.get_final_completion()
    (choice,) = completion.choices
    assert choice.message.content == 'It is "7" 😀\n'
    (call,) = choice.message.tool_calls or []
    assert (call.id, call.function.name, json.loads(call.function.arguments)) == (
        "toolu_1",
        "f",
        {"city": "Köln"},
    )
    assert choice.finish_reason == "tool_calls"
    assert completion.usage is not None
    assert (completion.usage.prompt_tokens, completion.usage.completion_tokens) == (32, 25)


ROW = re.compile(r"^\| (`.+?`) \| (.+) \|$", re.MULTILINE)
# For each field of the tables a value that asks for something; the rest of what the request then needs.
SAMPLES: dict[Protocol, dict[str, Any]] = {
    CHAT: {
        "model": "other",
        "messages": [{"role": "user", "content": "Ho"}],
        "max_completion_tokens": 7,
        "max_tokens": 7,
        "temperature": 0.5,
        "top_p": 0.5,
        "top_k": 5,
        "stop": "x",
        "stream": True,
        "stream_options": {"include_usage": True},
        "tools": [FUNCTION],
        "tool_choice": ("none", {"tools": [FUNCTION]}),
        "parallel_tool_calls": (False, {"tools": [FUNCTION]}),
        "reasoning_effort": "low",
        "reasoning": {"effort": "low"},
        "include_reasoning": (False, {"reasoning_effort": "low"}),
        "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA}},
        "user": "u",
        "safety_identifier": "u",
        "n": 2,
        "best_of": 2,
        "top_logprobs": 2,
        "prompt_logprobs": 2,
        "min_tokens": 2,
        "modalities": ["audio"],
        "functions": [{"name": "f"}],
        "plugins": [{"id": "web"}],
        "models": ["a"],
        "seed": 7,
    },
    MESSAGES: {
        "model": "other",
        "messages": [{"role": "user", "content": "Ho"}],
        "system": "Be brief.",
        "max_tokens": 7,
        "temperature": 0.5,
        "top_p": 0.5,
        "top_k": 5,
        "stop_sequences": ["x"],
        "stream": True,
        "tools": [TOOL],
        "tool_choice": ({"type": "none"}, {"tools": [TOOL]}),
        "thinking": {"type": "disabled"},
        "output_config": {"effort": "low"},
        "metadata": {"user_id": "u"},
        "mcp_servers": [{"url": "https://h.example"}],
    },
}
LEAST: dict[Protocol, dict[str, Any]] = {
    CHAT: {"messages": [HI]},
    MESSAGES: {"max_tokens": 9, "messages": [HI]},
}


def table(client: Protocol) -> dict[str, str]:
    """What the reference says becomes of each field of a request."""
    short = {CHAT: "chat", MESSAGES: "messages"}
    head = f"## A {short[client]} request for a {short[OTHER[client]]} upstream\n"
    text = PAGE.read_text().split(head, 1)[1].split("\n## ", 1)[0]
    rows = ROW.findall(text)
    assert rows
    return {field.strip("` "): becomes for fields, becomes in rows for field in fields.split(",")}


@pytest.mark.parametrize("client", [CHAT, MESSAGES])
def test_the_reference_names_every_field(client: Protocol) -> None:
    from anthropic.types import message_create_params as messages
    from openai.types.chat import completion_create_params as chat

    types: dict[Protocol, Any] = {
        CHAT: chat.CompletionCreateParamsStreaming,
        MESSAGES: messages.MessageCreateParamsStreaming,
    }
    assert set(get_type_hints(types[client])) - set(table(client)) == set()
    assert set(SAMPLES[client]) - set(table(client)) == set()


@pytest.mark.parametrize(
    ("client", "field", "becomes"),
    [(client, *row) for client in (CHAT, MESSAGES) for row in table(client).items()],
)
def test_fields_become_what_the_reference_says(
    translate: Translate, client: Protocol, field: str, becomes: str
) -> None:
    sample = SAMPLES[client].get(field, {"some": "thing"})
    value, more = sample if isinstance(sample, tuple) else (sample, {})
    least = {**LEAST[client], **more}
    if becomes.startswith("refused"):
        error = translate("request", client, body={**least, field: value})["error"]
        assert error.startswith(f"{field}: ")
        return
    before = asked(translate, client, least)
    after = asked(translate, client, {**least, field: value})
    changed = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    if becomes.startswith("dropped") or field == "model":
        assert changed == set()
        return
    assert changed
    assert changed <= set(re.findall(r"`(\w+)`", becomes))


def test_what_is_for_the_gateway_may_have_any_form(translate: Translate) -> None:
    for client in (CHAT, MESSAGES):
        least = asked(translate, client, LEAST[client])
        assert asked(translate, client, {**LEAST[client], "provider": 7, "models": {}, "speed": []}) == least


def test_a_question_of_the_packages_is_translated(translate: Translate) -> None:
    for client in (CHAT, MESSAGES):
        found = asked(translate, client, question(client, True))
        assert found["max_tokens"] == 8
        assert found["stream"] is True

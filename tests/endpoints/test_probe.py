"""The whole probe against a good server, against ones that know less, and against hostile ones."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from paceline.endpoints.bounded import Budget
from paceline.endpoints.probe import probe as probe_with
from paceline.endpoints.probe_record import Finding, Probe
from paceline.endpoints.target import Target
from paceline.errors import EndpointError
from paceline.measure.border import core_observe
from paceline.protocols import PROTOCOLS, Protocol
from tests.support.fake_server import NOT_FOUND, Answer, FakeServer, error, serving, stream
from tests.support.five_protocols import Speaker

SECRET = "sk-very-secret-42"
QUICK = Budget(timeout_s=0.3, seconds=3)


def probe(
    server: FakeServer, model: str | None = "tiny", budget: Budget | None = None, **parts: Any
) -> Probe:
    with serving(server):
        return probe_with(Target.parse(server.url, model=model, **parts), core_observe, budget=budget)


def answers(found: Probe) -> dict[str, str]:
    return {name: one.answers.answer for name, one in found.protocols.items()}


def test_a_server_that_can_everything() -> None:
    server = FakeServer(
        on_request=Speaker(ends_early=1, thinks=True),
        gets={
            "/metrics": Answer(
                body=b"# HELP vllm:num_requests_running x\n# TYPE vllm:num_requests_running gauge\n"
            ),
            "/version": Answer(body=b'{"version": "0.11.0"}'),
        },
        extra_headers={"x-ratelimit-remaining-requests": "59", "anthropic-ratelimit-tokens-limit": "100"},
    )
    found = probe(server)
    assert found.preferred == "openai-chat"
    assert answers(found) == dict.fromkeys(PROTOCOLS, "yes")
    for name, one in found.protocols.items():
        wanted = "yes" if PROTOCOLS[name].streams else "no"
        assert (one.streaming.answer, one.usage_in_stream.answer) == (wanted, wanted)
        assert (one.whole.answer, one.usage_whole.answer) == ("yes", "yes")
    features = found.features
    named = {name: getattr(features, name).answer for name in type(features).model_fields}
    assert named == dict.fromkeys(named, "yes")
    assert features.reasoning.value == ["reasoning_content"]
    assert (features.exact_output.value, found.exact_output) == ("ignore_eos", "ignore_eos")
    assert isinstance(features.cache_reporting.value, int)
    assert features.images.value == 1
    assert features.server_metrics.value == "/metrics"
    assert found.rate_limits == {
        "x-ratelimit-remaining-requests": "59",
        "anthropic-ratelimit-tokens-limit": "100",
    }
    assert features.rate_limit_headers.value == sorted(found.rate_limits)
    assert (found.server.kind, found.server.version) == ("vllm", "0.11.0")
    assert (found.models, found.server_model) == (("tiny", "large"), "tiny")
    assert found.clock_offset is not None
    assert abs(found.clock_offset.value_ms) <= found.clock_offset.uncertainty_ms + 1
    assert found.cost.requests == len(server.seen) <= Budget().requests
    assert found.cost.prompt_tokens > 0
    assert Probe.model_validate(json.loads(json.dumps(found.to_dict()))) == found


def test_a_server_that_can_little() -> None:
    speaker = Speaker(
        ("openai-chat",),
        refuses=("stream_options", "tools", "logprobs", "return_token_ids", "ignore_eos", "min_tokens"),
        ends_early=1,
        heeds=(),
        cached=False,
        images=False,
    )
    found = probe(FakeServer(on_request=speaker, models=None))
    assert answers(found) == dict.fromkeys(PROTOCOLS, "no") | {"openai-chat": "yes"}
    assert found.protocols["openai-responses"].answers.reason == "404: Not Found"
    chat = found.protocols["openai-chat"]
    assert not chat.stream_options
    assert chat.usage_in_stream == Finding(answer="no", reason="the answer carries none")
    features = found.features
    for name in ("token_ids", "log_probabilities", "cache_reporting", "exact_output", "tools", "images"):
        assert getattr(features, name).answer == "no", (name, getattr(features, name))
    assert features.exact_output.reason == "ignore_eos is refused; min_tokens is refused"
    assert features.images.reason == "400: this model has no eyes"
    assert features.cache_reporting.value == 0
    assert features.reasoning.answer == "unknown"
    assert found.exact_output is None
    assert found.models is None
    assert found.server.kind is None


@pytest.mark.parametrize(
    ("there", "preferred"),
    [
        (("anthropic-messages", "openai-completions"), "anthropic-messages"),
        (("openai-embeddings",), "openai-embeddings"),
    ],
)
def test_the_preferred_protocol(there: tuple[Protocol, ...], preferred: Protocol) -> None:
    found = probe(FakeServer(on_request=Speaker(there)))
    assert found.preferred == preferred
    generates = PROTOCOLS[preferred].streams
    assert (found.features.cache_reporting.answer == "yes") is generates
    if not generates:
        assert found.features.tools.reason == "not asked: no protocol that generates answers"


def test_the_dialect_is_that_of_the_model_and_the_protocol() -> None:
    speaker = Speaker(refuses=("stream_options", "ignore_eos"), ends_early=1)
    found = probe(FakeServer(on_request=speaker))
    dialect = found.dialect("openai-chat", "tiny")
    assert (dialect.stream_options, dialect.exact_output) == (False, "min_tokens")
    assert found.dialect("openai-responses", "tiny").exact_output is None
    assert found.dialect("openai-chat", "large").stream_options


def test_a_field_that_is_taken_without_effect_is_no_exact_output() -> None:
    found = probe(FakeServer(on_request=Speaker(ends_early=1, heeds=())))
    assert (
        found.features.exact_output.reason
        == "ignore_eos is taken without effect; min_tokens is taken without effect"
    )


def test_a_connection_is_kept_after_streams_as_well_as_after_whole_answers() -> None:
    assert probe(FakeServer(on_request=Speaker())).features.keep_alive == Finding(answer="yes")
    closing = probe(FakeServer(on_request=Speaker(), closes_after_streams=True))
    assert closing.features.keep_alive == Finding(
        answer="no", reason="it closes the connection after each streamed answer"
    )
    assert answers(closing) == dict.fromkeys(PROTOCOLS, "yes")


def test_an_answer_that_fills_its_limit_is_asked_for_a_longer_one() -> None:
    slow = probe(FakeServer(on_request=Speaker(ends_early=40)))
    assert slow.features.exact_output == Finding(
        answer="yes", reason="ignore_eos: 128 tokens in place of 40", value="ignore_eos"
    )
    full = probe(FakeServer(on_request=Speaker(ends_early=None)))
    assert full.features.exact_output == Finding(
        answer="unknown", reason="answers do not end before their limit of 24 tokens, nor those of 128"
    )


def test_secrets_are_in_nothing_that_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THE_KEY", SECRET)

    def echo(path: str, body: dict[str, Any]) -> Answer:
        if path.endswith("/responses"):
            return error(400, f"your key {SECRET} may not")
        return Speaker()(path, body | {"model": f"tiny {SECRET}"})

    headers = {"x-ratelimit-key": SECRET, f"x-ratelimit-{SECRET}": "5", "server": f"for {SECRET}"}
    models = ("tiny", SECRET, f"for {SECRET}", "team-secret")
    server = FakeServer(models=models, on_request=echo, extra_headers=headers)
    found = probe(server, headers=["x-team: team-secret"], api_key_env="THE_KEY")
    text = json.dumps(found.to_dict())
    assert SECRET not in text
    assert "team-secret" not in text
    assert found.models == ("tiny",)
    assert text.count("[redacted]") >= 4


def test_the_key_is_shown_in_each_protocols_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THE_KEY", SECRET)
    server = FakeServer(on_request=Speaker())
    probe(server, api_key_env="THE_KEY")
    for one in server.seen:
        mine = "x-api-key" if one.path.endswith("/messages") else "authorization"
        assert {"x-api-key", "authorization"} & set(one.headers) == {mine}


def test_where_nothing_answers_it_says_why_and_what_to_do() -> None:
    locked = probe(FakeServer(on_request=lambda *_: error(401, "No key")))
    assert locked.preferred is None
    assert answers(locked) == dict.fromkeys(PROTOCOLS, "unknown")
    assert any("a key is needed (401)" in note for note in locked.notes)
    assert any("--api-key-env" in note for note in locked.notes)
    nowhere = probe(FakeServer(models=None, on_request=lambda *_: NOT_FOUND))
    assert answers(nowhere) == dict.fromkeys(PROTOCOLS, "no")
    wrong = probe(FakeServer(on_request=lambda *_: error(404, "no", code="model_not_found")), model="tiiny")
    assert any("did you mean 'tiny'?" in note for note in wrong.notes)


def test_a_model_that_cannot_be_told_is_asked_for() -> None:
    with pytest.raises(EndpointError) as caught:
        probe(FakeServer(on_request=Speaker()), model=None)
    assert "the server has: tiny, large" in (caught.value.hint or "")
    assert probe(FakeServer(models=("solo",), on_request=Speaker()), model=None).model == "solo"


def test_nothing_listens() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(EndpointError, match="nothing listens"):
        probe_with(Target.parse(f"127.0.0.1:{port}", model="m"), core_observe)


NONSENSE: list[Answer] = [
    Answer(body=b"[]"),
    Answer(body=b"null"),
    Answer(body=b""),
    Answer(body=b"<html>hello"),
    Answer(body=b"\xff\xfe\x00"),
    Answer(body=b'{"choices": "no", "usage": [1], "model": {"a": 1}}'),
    Answer(body=b'{"choices": [{"message": {"content": 7}}], "usage": {"prompt_tokens": "many"}}'),
    Answer(body=("[" * 50_000 + "]" * 50_000).encode()),
    Answer(
        headers={"date": "soon", "retry-after": "\x80", "x-ratelimit-a": "x" * 5000, "server": "a" * 5000}
    ),
    Answer(302, headers={"location": "http://elsewhere.invalid/"}),
    Answer(200, headers={"content-encoding": "gzip"}, body=b"\x1f\x8b"),
    Answer(204),
    Answer(599, body=b"oh"),
    stream({"choices": [{"delta": {"content": "hi"}}]}, "{", done=False),
    stream({"error": {"message": "out of memory"}}),
]


@pytest.mark.parametrize("answer", NONSENSE, ids=range(len(NONSENSE)))
def test_nonsense_is_no_answer_and_no_crash(answer: Answer) -> None:
    class Same(FakeServer):
        def get(self, path: str) -> Answer:
            return answer

    found = probe(Same(on_request=lambda *_: answer))
    assert found.preferred is None
    assert all(one.answers.answer in ("no", "unknown") for one in found.protocols.values())
    assert all(one.answers.reason for one in found.protocols.values())
    assert all(note.isprintable() for note in found.notes)
    assert found.cost.requests <= Budget().requests
    json.dumps(found.to_dict())


def test_numbers_that_lie_are_not_counted() -> None:
    lie = {"prompt_tokens": -5, "completion_tokens": -(10**30)}
    answer = {"choices": [{"message": {"content": "x"}, "finish_reason": "stop"}], "usage": lie}
    found = probe(FakeServer(on_request=lambda *_: Answer(body=json.dumps(answer).encode())))
    assert found.cost.prompt_tokens == 0
    assert found.cost.completion_tokens == 0


def test_tokens_without_end_end_the_questions() -> None:
    usage = {"prompt_tokens": 5, "completion_tokens": 900}
    answer = {"choices": [{"message": {"content": "x"}, "finish_reason": "stop"}], "usage": usage}
    found = probe(FakeServer(on_request=lambda *_: Answer(body=json.dumps(answer).encode())))
    assert found.cost.completion_tokens == 2700
    assert found.features.tools.reason == "not asked: the limit of 2000 answer tokens was reached"


@contextmanager
def raw_server(talk: bytes, repeat: bytes = b"", pause_s: float = 0.0) -> Iterator[str]:
    """A server that says the same to everybody, and then goes on with `repeat` for as long as it is heard."""
    stop = threading.Event()

    def serve(connection: socket.socket) -> None:
        with connection:
            connection.settimeout(5)
            try:
                connection.recv(65536)
                connection.sendall(talk)
                while not stop.is_set():
                    if repeat:
                        connection.sendall(repeat)
                    stop.wait(pause_s)
            except OSError:
                return

    def accept(listener: socket.socket) -> None:
        while not stop.is_set():
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(connection,), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=accept, args=(listener,), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            stop.set()
            listener.shutdown(socket.SHUT_RDWR)
            thread.join(5)


HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n"


@pytest.mark.parametrize(
    ("talk", "repeat", "pause_s"),
    [
        pytest.param(b"", b"", 0.05, id="hangs"),
        pytest.param(HEAD, b"", 0.05, id="hangs after its head"),
        pytest.param(HEAD, b"x", 0.01, id="drips"),
        pytest.param(HEAD, b": " + b"x" * 65536 + b"\n\n", 0.0, id="never ends"),
        pytest.param(b"HTTP/1.1 200 OK\r\n", b"x-a: " + b"y" * 500 + b"\r\n", 0.0, id="heads without end"),
        pytest.param(b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 100 Continue\r\n\r\n", 0.001, id="interim"),
        pytest.param(b"SSH-2.0-x\r\n", b"", 0.05, id="no HTTP"),
        pytest.param(HEAD[:17] + b"content-length: 99999999999\r\n\r\n", b"{" * 65536, 0.0, id="a big body"),
    ],
)
def test_a_hostile_server_is_bounded(talk: bytes, repeat: bytes, pause_s: float) -> None:
    # Whether it ends at all, the test's own time limit tells.
    with raw_server(talk, repeat, pause_s) as url, suppress(EndpointError):
        found = probe_with(Target.parse(url, model="m"), core_observe, budget=QUICK)
        assert found.preferred is None
        assert all(one.answers.answer != "yes" for one in found.protocols.values())
        assert found.cost.bytes_received < 48 * 2**21

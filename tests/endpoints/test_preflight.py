"""The preflight against a server that misbehaves in each way we know of."""

import gzip
import json
import socket
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trustme

from paceline.endpoints.preflight import Facts
from paceline.endpoints.preflight import check as check_with
from paceline.endpoints.target import Target
from paceline.errors import EndpointError
from paceline.measure.border import core_observe
from tests.support.fake_server import Answer, Body, FakeServer, error, good, serving, stream

SECRET = "sk-very-secret-42"


def check(target: Target, **options: Any) -> Facts:
    return check_with(target, core_observe, **options)


def refused(server: FakeServer, url: str = "", model: str | None = "tiny", **options: Any) -> str:
    """Message and hint of the error that the preflight must raise."""
    headers = options.pop("headers", [])
    with serving(server), pytest.raises(EndpointError) as caught:
        check(Target.parse(server.url + url, model=model, headers=headers), timeout_s=10, **options)
    assert caught.value.hint
    assert SECRET not in caught.value.message + caught.value.hint
    return f"{caught.value.message} | {caught.value.hint}"


@pytest.mark.parametrize("streaming", [True, False])
@pytest.mark.parametrize("protocol", ["openai-chat", "openai-completions"])
def test_a_good_server(streaming: bool, protocol: Any) -> None:
    with serving(FakeServer()) as server:
        facts = check(Target.parse(server.url, model="tiny", protocol=protocol), streaming=streaming)
    assert (facts.model, facts.models, facts.server_model) == ("tiny", ("tiny", "large"), "tiny")
    assert (facts.stream_options, facts.max_tokens_field, facts.usage) == (True, "max_tokens", True)
    assert facts.server is not None
    assert facts.latency_ms is not None
    assert facts.latency_ms > 0
    assert (facts.protocol, facts.exact_output) == (protocol, None)
    assert facts.clock_offset_ms is not None
    assert abs(facts.clock_offset_ms) < 5000
    assert facts.notes == ()
    (body,) = server.bodies
    assert body["stream"] is streaming
    assert body["max_tokens"] == 1
    assert json.loads(json.dumps(facts.to_dict()))["models"] == ["tiny", "large"]


def test_it_asks_with_the_runs_headers_fields_and_system_prompt() -> None:
    with serving(FakeServer()) as server:
        target = Target.parse(server.url + "?v=2", model="tiny", headers=["x-team: a"])
        check(target, extra={"ignore_eos": True}, system="Be kind.")
    assert [one.path for one in server.seen] == ["/v1/models?v=2", "/v1/chat/completions?v=2"]
    for one in server.seen:
        assert one.headers["x-team"] == "a"
        assert one.headers["accept-encoding"] == "identity"
        assert one.headers["user-agent"].startswith("paceline/")
    assert server.seen[1].headers["accept"] == "text/event-stream"
    assert server.bodies[0]["ignore_eos"] is True
    assert server.bodies[0]["messages"][0] == {"role": "system", "content": "Be kind."}


def test_proxies_of_the_environment_are_left_aside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with serving(FakeServer()) as server:
        assert check(Target.parse(server.url, model="tiny")).model == "tiny"


@pytest.mark.parametrize("name", [SECRET, f"for {SECRET}", "\x1b[31mred", "m" * 100_000, ""])
def test_what_is_no_name_is_never_taken_for_the_only_model(name: str) -> None:
    server = FakeServer(models=(name,))
    said = refused(server, model=None, headers=[f"x-key: {SECRET}"])
    assert "no model is given" in said
    assert len(said) < 500
    assert server.bodies == []


def test_paths_that_are_no_paths_are_not_shown() -> None:
    ending = "/chat/completions"
    paths = [f"/{SECRET}{ending}", "/x" * 5000 + ending, f"/\x1b[2J{ending}", f"/api{ending}"]
    gets = {"/openapi.json": Answer(body=json.dumps({"paths": {path: {} for path in paths}}).encode())}
    said = refused(FakeServer(gets=gets, post_paths=()), headers=[f"x-key: {SECRET}"])
    assert f"/openapi.json, /api{ending}" in said
    assert len(said) < 500


def test_a_server_that_lists_no_models_is_fine() -> None:
    with serving(FakeServer(models=None)) as server:
        assert check(Target.parse(server.url, model="anything")).models is None


@pytest.mark.parametrize("body", [b"<html>", b'"x"', b'{"data": 3}', b"[1, 2]"])
def test_a_list_of_models_that_cannot_be_read_is_no_error(body: bytes) -> None:
    with serving(FakeServer(gets={"/v1/models": Answer(body=body)})) as server:
        assert not check(Target.parse(server.url, model="anything")).models


def test_the_only_model_is_taken_and_several_are_listed() -> None:
    with serving(FakeServer(models=("solo",))) as server:
        assert check(Target.parse(server.url)).model == "solo"
    assert "the server has: tiny, large" in refused(FakeServer(), model=None)
    assert "--model" in refused(FakeServer(models=()), model=None)


def test_without_a_model_it_is_the_list_that_must_answer() -> None:
    server = FakeServer()
    said = refused(server, "/api", model=None)
    assert "no model is given, and there is no /api/models (404)" in said
    assert f"give --model, or the right base URL: perhaps {server.url}/v1;" in said
    assert "the server answers at: /v1/models" in said
    assert "no model is given" in refused(FakeServer(models=None), model=None)
    locked = FakeServer(gets={"/v1/models": error(401, "No key")})
    assert "a key is needed (401)" in refused(locked, model=None)


def test_a_model_that_is_not_listed_and_answers_is_noted() -> None:
    def other(body: Body) -> Answer:
        return good(body | {"model": "tiny"})

    with serving(FakeServer(on_post=other)) as server:
        facts = check(Target.parse(server.url, model="mine"))
    assert facts.notes == ("the server does not list 'mine', yet answers as 'tiny'",)


@pytest.mark.parametrize(
    "answer",
    [
        error(404, "The model `large-v1` does not exist.", type="NotFoundError", code=404),
        error(404, "No access", code="model_not_found"),
        error(400, "model 'large-v1' not found"),
        error(422, "Invalid value", param="model"),
    ],
)
def test_a_wrong_model_brings_the_servers_list_closest_first(answer: Answer) -> None:
    said = refused(FakeServer(on_post=lambda _: answer), model="large-v1")
    assert "there is no model 'large-v1'" in said
    assert "did you mean 'large'?" in said
    assert "the server has: large, tiny" in said
    listed = FakeServer(
        models=("large-v1",), on_post=lambda _: error(404, "No access", code="model_not_found")
    )
    assert "the server lists it" in refused(listed, model="large-v1")
    assert "lists no models" in refused(FakeServer(models=None, on_post=lambda _: answer), model="large-v1")


def test_many_models_are_cut_short() -> None:
    models = tuple(f"m{i}" for i in range(50))
    said = refused(
        FakeServer(models=models, on_post=lambda _: error(404, "no", code="model_not_found")), model="zzz"
    )
    assert "and 30 more" in said
    assert "did you mean" not in said


def test_a_wrong_path_brings_the_paths_that_exist() -> None:
    server = FakeServer()
    said = refused(server, "/api/v2")
    assert "there is no /api/v2/chat/completions (404)" in said
    assert f"use {server.url}/v1; the server answers at: /v1/models" in said


def test_paths_come_from_the_servers_own_description() -> None:
    described = Answer(body=json.dumps({"paths": {"/serve/chat/completions": {}, "/health": {}}}).encode())
    server = FakeServer(models=None, gets={"/openapi.json": described})
    said = refused(server, "/v2")
    assert f"use {server.url}/serve/chat/completions;" in said
    assert "/health" not in said


def test_a_server_with_none_of_the_paths() -> None:
    server = FakeServer(models=None, post_paths=())
    assert "often ends with /v1" in refused(server)


@pytest.mark.parametrize("status", [401, 403])
def test_a_bad_or_missing_key(status: int) -> None:
    def echo(_: Body) -> Answer:
        return error(status, f"Incorrect API key provided: {SECRET}")

    said = refused(FakeServer(on_post=echo), headers=[f"authorization: Bearer {SECRET}"])
    assert f"the key is refused ({status})" in said
    assert "[redacted]" in said
    said = refused(FakeServer(on_post=lambda _: error(status, "No key")))
    assert "--api-key-env" in said


def test_a_rate_limit_says_how_long() -> None:
    limited = error(429, "Slow down")
    limited.headers = limited.headers | {"retry-after": "17"}
    said = refused(FakeServer(on_post=lambda _: limited))
    assert "rate-limited (429): Slow down" in said
    assert "wait 17 s" in said


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (error(500, "boom"), "the server failed (500): boom"),
        (error(503, "Loading model"), "loading the model: wait"),
        (Answer(502, {"content-type": "text/html"}, b"<html>bad gateway</html>"), "<html>bad gateway</html>"),
        (error(400, "temperature is out of range"), "refused the request (400): temperature is out of range"),
        (Answer(400, body=b'{"detail": [{"msg": "field required"}]}'), "field required"),
        (Answer(308, {"location": "https://h/v1"}), "redirects (308) to https://h/v1"),
    ],
)
def test_other_refusals(answer: Answer, said: str) -> None:
    assert said in refused(FakeServer(on_post=lambda _: answer))


HTML = Answer(headers={"content-type": "text/html"}, body=b"<!doctype html><title>Welcome</title>")
WHOLE = Answer(body=json.dumps({"choices": [{"message": {"content": "Hi"}}]}).encode())


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (HTML, "not an event stream (content-type: text/html): it begins with <!doctype html>"),
        (HTML, "this is a web page"),
        (WHOLE, "did not stream, it sent one JSON document | this server does not stream here"),
        (Answer(body=b'{"error": {"message": "out of memory"}}'), "answered with an error: out of memory"),
        (Answer(body=b""), "the answer is empty"),
        (stream({"error": {"message": "out of memory"}}), "answered with an error: out of memory"),
        (stream('{"choices": ['), "event 1 is not JSON"),
        (stream(), "no generated token, no finish reason and no usage"),
        (stream({"hello": 1}), "does the server speak openai-chat at /v1?"),
        (stream({"hello": 1}, 3), "event 2 is not a JSON object: 3"),
        (stream(*["[1,", "2]"]), "not a JSON object: [1,"),
        (stream({"choices": [{"delta": {"content": "Hi"}}]}, done=False), "would end as truncated"),
        (Answer(headers={"content-type": "text/event-stream"}, body=b"data: {}\n\n", cut=True), "broken"),
    ],
)
def test_answers_that_are_no_stream(answer: Answer, said: str) -> None:
    assert said in refused(FakeServer(on_post=lambda _: answer))


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (HTML, "the answer is not a JSON object: <!doctype html>"),
        (HTML, "this is a web page"),
        (Answer(body=b'{"error": "out of memory"}'), "answered with an error: out of memory"),
        (Answer(body=b"[]"), "the answer is not a JSON object: []"),
        (stream({"choices": [{"delta": {"content": "Hi"}}]}), "this server always streams here"),
    ],
)
def test_answers_that_are_not_whole_json(answer: Answer, said: str) -> None:
    assert said in refused(FakeServer(on_post=lambda _: answer), streaming=False)


@pytest.mark.parametrize("kind", ["text/plain", "application/octet-stream"])
def test_a_stream_with_a_wrong_label_is_a_stream(kind: str) -> None:
    event = {"choices": [{"delta": {"content": "Hi"}}]}
    with serving(FakeServer(on_post=lambda _: stream(event, kind=kind))) as server:
        assert check(Target.parse(server.url, model="tiny")).model == "tiny"


def test_data_in_several_lines_is_one_event() -> None:
    body = (
        b'event: x\r\ndata: {"choices":\r\ndata: [{"delta": {"content": "Hi"}}]}\r\n\r\ndata:[DONE]\r\n\r\n'
    )
    answer = Answer(headers={"content-type": "text/event-stream"}, body=body)
    with serving(FakeServer(on_post=lambda _: answer)) as server:
        facts = check(Target.parse(server.url, model="tiny"), stream_usage=False)
    assert facts.notes == ()


def facts_of(on_post: Callable[[Body], Answer], **options: Any) -> tuple[Facts, list[Body]]:
    with serving(FakeServer(on_post=on_post)) as server:
        return check(Target.parse(server.url, model="tiny"), **options), server.bodies


def test_a_server_without_stream_options() -> None:
    def old(body: Body) -> Answer:
        return error(400, "Unrecognized argument: stream_options") if "stream_options" in body else good(body)

    facts, bodies = facts_of(old)
    assert facts.stream_options is False
    assert facts.usage is False
    assert "stream_options" in facts.notes[0]
    assert len(bodies) == 2
    facts, bodies = facts_of(old, stream_usage=False)
    assert facts.stream_options is True
    assert facts.notes == ()
    assert len(bodies) == 1


def test_a_server_that_wants_max_completion_tokens_and_has_a_floor() -> None:
    def new(body: Body) -> Answer:
        if "max_tokens" in body:
            return error(400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.")
        if body["max_completion_tokens"] < 16:
            return error(400, "Invalid 'max_completion_tokens': integer below minimum value. Expected >= 16.")
        return good(body)

    facts, bodies = facts_of(new)
    assert facts.max_tokens_field == "max_completion_tokens"
    assert bodies[-1]["max_completion_tokens"] == 16
    assert len(bodies) == 3


def test_a_server_that_always_blames_a_field_ends_the_questions() -> None:
    server = FakeServer(on_post=lambda _: error(400, "stream_options max_completion_tokens minimum"))
    assert "refused the request (400)" in refused(server)
    assert len(server.bodies) <= 4


def test_an_answer_without_usage_or_text_is_noted() -> None:
    facts, _ = facts_of(lambda _: stream({"choices": [{"delta": {}, "finish_reason": "length"}]}))
    assert [note for note in facts.notes if "no usage" in note]
    assert [note for note in facts.notes if "no text" in note]


def test_nothing_listens() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(EndpointError, match=f"refused: nothing listens at 127.0.0.1 port {port}") as caught:
        check(Target.parse(f"127.0.0.1:{port}", model="m"))
    assert "host and port" in (caught.value.hint or "")


def test_a_name_that_does_not_exist() -> None:
    with pytest.raises(EndpointError, match="cannot be resolved"):
        check(Target.parse("http://no-such-host.invalid", model="m"))


def test_a_server_that_says_nothing_is_a_timeout() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        with pytest.raises(EndpointError, match=r"no complete answer within 0\.2 s"):
            check(Target.parse(f"127.0.0.1:{port}", model="m"), timeout_s=0.2)


def test_tls_trust(tmp_path: Path) -> None:
    ca, pem = trustme.CA(), tmp_path / "ca.pem"
    ca.cert_pem.write_to_path(pem)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ca.issue_cert("127.0.0.1").configure_cert(context)
    with serving(FakeServer(), context) as server:
        assert check(Target.parse(server.url, model="tiny", ca_file=pem)).model == "tiny"
        with pytest.raises(EndpointError, match="certificate is not trusted") as caught:
            check(Target.parse(server.url, model="tiny"))
        assert "--ca-file" in (caught.value.hint or "")


def test_tls_to_a_plain_port() -> None:
    with serving(FakeServer()) as server:
        with pytest.raises(EndpointError, match="TLS handshake failed") as caught:
            check(Target.parse(server.url.replace("http", "https"), model="tiny"))
        assert "http://" in (caught.value.hint or "")


DEEP = "[" * 100_000 + "]" * 100_000


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (f'{{"error": {DEEP}}}', "answered with an error: [[["),
        ('{"choices": [{"delta": {"content": "\\ud800"}}]}', "event 2 is not JSON"),
        ({"choices": [{"delta": {}, "finish_reason": {"type": "stop"}}]}, "not what the protocol says"),
        ({"choices": [{"finish_reason": "abort"}]}, "answered with an error: "),
    ],
)
def test_what_the_load_generator_cannot_read_is_refused(event: Any, said: str) -> None:
    answer = stream({"choices": [{"delta": {"content": "hi"}}]}, event)
    assert said in refused(FakeServer(on_post=lambda _: answer))


def test_deep_answers_of_other_kinds_are_no_crash() -> None:
    deep = Answer(400, body=DEEP.encode())
    assert "refused the request (400)" in refused(FakeServer(on_post=lambda _: deep))
    lists = FakeServer(gets={"/v1/models": Answer(body=DEEP.encode())})
    with serving(lists):
        assert check(Target.parse(lists.url, model="tiny")).models is None
    named = FakeServer(gets={"/openapi.json": Answer(body=b'{"paths": 3}')})
    assert "there is no /api/chat/completions" in refused(named, "/api")


@pytest.mark.parametrize("status", [200, 429])
def test_a_compressed_answer_is_refused(status: int) -> None:
    packed = Answer(status, headers={"content-encoding": "gzip"}, body=gzip.compress(b"data: {}\n\n"))
    said = refused(FakeServer(on_post=lambda _: packed))
    assert "the answer comes in content-encoding gzip" in said
    assert "turn compression off" in said


STEERING = "\x1b[2J\x1b]0;owned\x07 boo\x00\x9b"


@pytest.mark.parametrize(
    "answer",
    [
        error(400, STEERING),
        error(429, STEERING),
        error(500, STEERING),
        Answer(302, headers={"location": "http://x/\x1b[2J\x07"}),
        Answer(200, headers={"content-type": "\x1b[2J"}, body=b"plain \x1b[2J"),
        stream({"choices": [], "error": {"message": STEERING}}),
        stream("{" + STEERING),
    ],
)
def test_no_server_steers_the_terminal(answer: Answer) -> None:
    assert refused(FakeServer(on_post=lambda _: answer)).isprintable()


def test_names_that_would_steer_the_terminal_are_none() -> None:
    assert "the server lists none" in refused(FakeServer(models=(STEERING,)), model=None)
    named = stream({"model": STEERING, "choices": [{"delta": {"content": "hi"}}]})
    with serving(FakeServer(on_post=lambda _: named, models=())) as server:
        facts = check(Target.parse(server.url, model="tiny"))
    assert facts.server_model is not None
    assert facts.server_model.isprintable()

"""The client reads within bounds, and tells failures apart."""

import pytest

from paceline.endpoints.client import MAX_BODY_BYTES, Client
from paceline.endpoints.target import Target
from paceline.errors import EndpointError
from tests.support.fake_server import Answer, FakeServer, serving


def test_an_answer_without_end_is_cut_at_the_bound() -> None:
    endless = Answer(body=b"x" * (4 * MAX_BODY_BYTES))
    with (
        serving(FakeServer(gets={"/big": endless})) as server,
        Client(Target.parse(server.url), 10) as client,
    ):
        assert MAX_BODY_BYTES < len(client.get("/big").body) < 2 * MAX_BODY_BYTES


def test_a_stream_ends_at_its_marker_though_the_connection_stays_open() -> None:
    # `cut` announces one byte more than is sent, as a server that does not close its stream looks.
    held = Answer(
        headers={"content-type": "text/event-stream"}, body=b"data: {}\n\ndata: [DONE]\n\n", cut=True
    )
    with (
        serving(FakeServer(on_post=lambda _: held)) as server,
        Client(Target.parse(server.url), 10) as client,
    ):
        reply = client.post(client.target, {"stream": True}, streaming=True)
    assert reply.body.endswith("[DONE]\n\n")
    assert reply.elapsed_ms > 0
    assert (reply.streamed, reply.ended, reply.cut) == (True, False, False)


def test_a_stream_is_read_to_its_end_so_that_its_connection_is_used_again() -> None:
    with serving(FakeServer()) as server, Client(Target.parse(server.url), 10) as client:
        replies = [
            client.post(
                client.target.with_protocol("openai-chat"),
                {"stream": True, "model": "m", "messages": []},
                True,
            )
            for _ in range(2)
        ]
    assert [(reply.ended, reply.reused) for reply in replies] == [(True, False), (True, True)]


def test_headers_of_the_user_go_before_its_own() -> None:
    with serving(FakeServer()) as server:
        target = Target.parse(server.url, headers=["User-Agent: mine/1", "x-a: 1"])
        with Client(target, 10) as client:
            assert client.get("/v1/models").status == 200
    assert server.seen[0].headers["user-agent"] == "mine/1"
    assert server.seen[0].headers["x-a"] == "1"


def test_a_proxy_in_the_environment_is_mentioned_where_a_host_cannot_be_reached(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")
    with serving(FakeServer()) as server:
        gone = Target.parse(server.url)
    with Client(gone, 10) as client, pytest.raises(EndpointError) as caught:
        client.get("/v1/models")
    assert "never through a proxy" in (caught.value.hint or "")

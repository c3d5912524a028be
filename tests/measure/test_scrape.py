import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from paceline.endpoints.target import Target
from paceline.errors import ConfigError, EndpointError
from paceline.measure import scrape
from paceline.measure.sampler import LookError
from paceline.measure.scrape import MetricsSource, Scraper, ServerWatch, find_metrics
from paceline.measure.server_table import built_in_table
from tests.support.fake_server import Answer, FakeServer, serving

PAGE = "vllm:num_requests_running 3\nvllm:generation_tokens_total 70\n"
TEXT = {"content-type": "text/plain; version=0.0.4"}


def answer(text: str, status: int = 200) -> Answer:
    return Answer(status, dict(TEXT), text.encode())


def source(url: str, path: str = "/metrics") -> MetricsSource:
    return MetricsSource(Target.parse(url), path, "vllm", built_in_table().engines["vllm"])


def look(url: str) -> dict[str, float]:
    scraper = Scraper(source(url))
    try:
        return {one.name: one.value for one in scraper.look()}
    finally:
        scraper.close()


def test_a_reading_lies_in_the_middle_of_its_request() -> None:
    with serving(FakeServer(gets={"/metrics": answer(PAGE)})) as server:
        scraper = Scraper(source(server.url))
        before = time.monotonic_ns()
        readings = scraper.look()
        after = time.monotonic_ns()
        scraper.close()
    assert {one.name: (one.value, one.kind) for one in readings} == {
        "running_requests": (3.0, "gauge"),
        "generation_tokens_total": (70.0, "counter"),
    }
    for one in readings:
        assert one.source == "vllm"
        assert before <= one.t_ns - one.span_ns // 2
        assert one.t_ns + one.span_ns // 2 <= after
        assert one.span_ns > 0


def test_metrics_are_found_where_each_engine_has_them() -> None:
    running = answer("trtllm_num_requests_running 1\n")
    for gets, path, engine in (
        ({"/metrics": answer(PAGE)}, "/metrics", "vllm"),
        ({"/metrics": answer("[]"), "/prometheus/metrics": running}, "/prometheus/metrics", "tensorrt-llm"),
        ({"/team/metrics": answer(PAGE)}, "/team/metrics", "vllm"),
    ):
        with serving(FakeServer(gets=gets)) as server:
            found = find_metrics(Target.parse(f"{server.url}/team/v1"), ServerWatch())
            assert found is not None
            assert (found.path, found.engine) == (path, engine)
            assert found.url == server.url + path


@pytest.mark.parametrize(
    "there",
    [
        answer("no", 404),
        answer("<html>hello</html>"),
        answer("go_threads 4\n"),
        answer("", 204),
        answer(PAGE, 401),
    ],
)
def test_where_there_are_none_nothing_is_said(there: Answer) -> None:
    with serving(FakeServer(gets={"/metrics": there})) as server:
        assert find_metrics(Target.parse(server.url), ServerWatch()) is None
        with pytest.raises(EndpointError, match="--server-metrics http"):
            find_metrics(Target.parse(server.url), ServerWatch(f"{server.url}/metrics"))


def test_nothing_is_asked_where_nothing_is_wanted() -> None:
    with serving(FakeServer(gets={"/metrics": answer(PAGE)})) as server:
        assert find_metrics(Target.parse(server.url), ServerWatch("off")) is None
        assert server.seen == []


def test_the_key_goes_to_its_own_origin_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "secret-value")
    own = FakeServer(gets={"/metrics": answer(PAGE)})
    other = FakeServer(gets={"/metrics": answer(PAGE)})
    with serving(own), serving(other):
        target = Target.parse(own.url, api_key_env="MY_KEY", headers=("x-team: red-team",))
        for watch in (ServerWatch(), ServerWatch(f"{own.url}/metrics"), ServerWatch(f"{other.url}/metrics")):
            found = find_metrics(target, watch)
            assert found is not None
            assert "secret-value" not in repr(found)
            Scraper(found).look()
    assert {one.headers.get("authorization") for one in own.seen} == {"Bearer secret-value"}
    assert {one.headers.get("authorization") for one in other.seen} == {None}
    assert {one.headers.get("x-team") for one in other.seen} == {None}


def test_an_origin_alone_is_looked_through_and_a_redirect_is_not_followed() -> None:
    away = Answer(302, {"location": "http://127.0.0.1:1/metrics"}, b"")
    with serving(FakeServer(gets={"/metrics": away})) as server:
        with pytest.raises(EndpointError, match="302"):
            find_metrics(Target.parse(server.url), ServerWatch(server.url))
        server.gets["/prometheus/metrics"] = answer("trtllm_num_requests_running 1\n")
        found = find_metrics(Target.parse(server.url), ServerWatch(server.url))
        assert found is not None
        assert found.path == "/prometheus/metrics"


def test_a_page_that_changes_its_kind_is_a_failure_and_no_more() -> None:
    with serving(FakeServer(gets={"/metrics": answer(PAGE)})) as server:
        assert look(server.url) == {"running_requests": 3.0, "generation_tokens_total": 70.0}
        server.gets["/metrics"] = answer("<html>vllm:num_requests_running 3</html>")
        with pytest.raises(LookError, match="no metrics of vLLM"):
            look(server.url)
        server.gets["/metrics"] = answer(PAGE, 503)
        with pytest.raises(LookError, match="status 503"):
            look(server.url)


@contextmanager
def raw(reply: Callable[[socket.socket], None]) -> Iterator[str]:
    """A server that does with each connection what it is told, until the block ends."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                connection.recv(65_536)
                try:
                    reply(connection)
                except OSError:
                    continue

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        # Closing alone does not wake up who waits for a connection.
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(10)


HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n"


def hangs(connection: socket.socket) -> None:
    connection.recv(1)


def drips(connection: socket.socket) -> None:
    connection.sendall(HEAD + b"content-length: 100000\r\n\r\n")
    while True:
        connection.sendall(b"#")
        time.sleep(0.01)


def interim(connection: socket.socket) -> None:
    while True:
        connection.sendall(b"HTTP/1.1 103 Early Hints\r\n\r\n" * 100)


def garbage(connection: socket.socket) -> None:
    connection.sendall(b"\x00\xff" * 1000)


def lies(connection: socket.socket) -> None:
    connection.sendall(HEAD + b"content-length: 100000\r\n\r\n" + PAGE.encode())


@pytest.mark.parametrize("reply", [hangs, drips, interim, garbage, lies])
def test_what_a_server_does_within_a_look_is_bounded(
    reply: Callable[[socket.socket], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scrape, "LOOK_S", 0.3)
    with raw(reply) as url, pytest.raises(LookError):
        look(url)


def test_a_server_that_does_not_answer_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scrape, "LOOK_S", 0.3)
    asked: list[socket.socket] = []

    def counts(connection: socket.socket) -> None:
        asked.append(connection)
        connection.recv(1)

    with raw(counts) as url:
        assert find_metrics(Target.parse(f"{url}/team/v1"), ServerWatch()) is None
    assert len(asked) == 1


def test_a_page_without_an_end_is_a_failed_look_since_its_sums_would_be_too_low() -> None:
    sent = [0]

    def floods(connection: socket.socket) -> None:
        connection.sendall(HEAD + b"content-length: 1000000000\r\n\r\n" + PAGE.encode())
        filler = b'other_bucket{le="1"} 5\n' * 4_000
        while True:
            sent[0] += connection.send(filler)

    with raw(floods) as url, pytest.raises(LookError, match="longer than 4 MiB"):
        look(url)
    # What lies in the buffers of the two sockets comes on top.
    assert sent[0] < 4 * scrape.MOST_BYTES


def test_a_page_of_too_many_lines_is_a_failed_look() -> None:
    with serving(FakeServer(gets={"/metrics": answer("\n" * 300_000 + PAGE)})) as server:
        with pytest.raises(LookError, match="200,000 lines"):
            look(server.url)
        assert find_metrics(Target.parse(server.url), ServerWatch()) is None


def test_how_often_has_a_limit_and_a_run_knows_what_was_asked() -> None:
    with pytest.raises(ConfigError, match="100 ms"):
        ServerWatch(every_ns=99_000_000)
    watch = ServerWatch("http://127.0.0.1:8002/metrics", 250_000_000, Path("/tmp/table.toml"), gpu=True)
    assert ServerWatch.from_dict(watch.to_dict()) == watch
    assert ServerWatch.from_dict({}) == ServerWatch()

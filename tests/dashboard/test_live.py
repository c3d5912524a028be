import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any

import httpx
import pytest

from paceline.control.listening import forget_listening, read_listening, write_listening
from paceline.control.lock import GatewayLock, is_held
from paceline.dashboard.gateway import admin_url, find_gateway
from paceline.dashboard.ledger_tail import last_requests
from paceline.dashboard.live import spark
from paceline.dashboard.live_feed import MOST_WATCHING
from paceline.dashboard.live_reading import Reading, rates_between, read_gateway
from paceline.errors import ConfigError
from paceline.store.paths import ledger_folder
from tests.dashboard.conftest import NASTY, client_of
from tests.dashboard.served import serving_dashboard, state_of
from tests.report.test_html import Page
from tests.support.ledger import NOON, attempt, entry, line, usage

METRICS = """
# TYPE paceline_gateway_requests_total counter
paceline_gateway_requests_total{model="demo",outcome="ok",code=""} 90
paceline_gateway_requests_total{model="demo",outcome="upstream_error",code="timeout"} 8
paceline_gateway_requests_total{model="b",outcome="ok",code=""} 2
paceline_gateway_tokens_total{offer="a",kind="prompt"} 5000
paceline_gateway_tokens_total{offer="a",kind="completion"} 700
paceline_gateway_cost_usd_total{offer="a"} 1.5
paceline_gateway_requests_in_flight 4
paceline_gateway_connections 9
paceline_gateway_draining 0
paceline_gateway_ledger_failing 1
"""


def offer(**fields: Any) -> dict[str, Any]:
    quantiles = {"p50": {"value": 210.0, "lo": 200.0, "hi": 220.0, "at_least": False},
                 "p95": {"value": 500.0, "lo": None, "hi": None, "at_least": True}}  # fmt: skip
    return {
        "offer": "local-a", "model": "demo", "provider": "local", "tier": "fast", "breaker": "open",
        "resting_ms": 4200, "cold": False, "ttft_ms": {**quantiles, "n": 44}, "success": None,
        "output_tok_s": {"p50": {"value": 81.0, "lo": 80, "hi": 82, "at_least": False}, "n": 44},
        "in_flight": 3, "places": 8, "waiting": 2, "downgrades": 0, **fields,
    }  # fmt: skip


def endpoints(*offers: dict[str, Any]) -> str:
    return json.dumps({"schema": "paceline.endpoints/1", "window_s": 1800.0, "offers": list(offers)})


@contextmanager
def drip() -> Iterator[str]:
    """A server that says a letter now and then, without end."""
    over = Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            with suppress(OSError):
                while not over.wait(0.02):
                    self.wfile.write(b"x")

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_address[1]}"
    finally:
        over.set()
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def admin(pages: dict[str, str], moved: str | None = None) -> Iterator[str]:
    """A gateway's operators' address, as far as the dashboard asks it; `moved`: it leads there."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            page = pages.get(self.path)
            self.send_response(307 if moved else 404 if page is None else 200)
            if moved:
                self.send_header("location", moved + self.path)
            self.end_headers()
            self.wfile.write((page or "").encode())

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def gateway(home: Path, address: str | None) -> Iterator[None]:
    """What a running gateway leaves in its home."""
    lock = GatewayLock(home)
    write_listening(home, {"listen": "127.0.0.1:1", "admin": address})
    try:
        yield
    finally:
        forget_listening(home)
        lock.release()


def write_ledger(home: Path, *entries: dict[str, Any]) -> None:
    folder = ledger_folder(home)
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "00000001.jsonl").open("ab") as file:
        for one in entries:
            file.write(line(one))


def test_a_gateway_says_in_its_home_where_it_listens(home: Path) -> None:
    assert read_listening(home) is None
    assert not is_held(home)
    with gateway(home, "127.0.0.1:8081"):
        assert is_held(home)
        found = read_listening(home)
        assert found is not None
        assert (found.listen, found.admin) == ("127.0.0.1:1", "127.0.0.1:8081")
        assert find_gateway(state_of(home)).url == "http://127.0.0.1:8081"
    assert not is_held(home)
    assert read_listening(home) is None
    assert find_gateway(state_of(home)).url is None


@pytest.mark.parametrize(
    "text", ["", "[]", '{"schema": "other"}', '{"schema": "paceline.listening/1", "listen": 1}']
)
def test_what_makes_no_sense_there_is_passed_over(home: Path, text: str) -> None:
    (home / "gateway").mkdir(parents=True)
    (home / "gateway" / "listening.json").write_text(text)
    assert read_listening(home) is None


def test_addresses_of_everywhere_and_of_nowhere(home: Path) -> None:
    with gateway(home, "0.0.0.0:8081"):
        assert find_gateway(state_of(home)).url == "http://127.0.0.1:8081"
    with gateway(home, None):
        found = find_gateway(state_of(home))
        assert found.url is None
        assert "admin_listen" in found.hint


def test_a_gateway_that_the_user_names() -> None:
    assert admin_url("127.0.0.1:8081") == "http://127.0.0.1:8081"
    assert admin_url("https://gw.example:8081/") == "https://gw.example:8081"
    for text in ("", "http://", "ftp://h", "http://user:secret@h", "http://h?x=1", "http://h:x"):
        with pytest.raises(ConfigError, match="--gateway") as raised:
            admin_url(text)
        assert "secret" not in str(raised.value.message)


def test_a_reading_is_of_both_pages() -> None:
    found = read_gateway(METRICS, endpoints(offer()), 7.0)
    assert (found.requests, found.failed, found.tokens, found.cost_usd) == (100.0, 8.0, 700.0, 1.5)
    assert (found.in_flight, found.connections) == (4, 9)
    assert (found.draining, found.ledger_failing) == (False, True)
    assert found.offers[0]["offer"] == "local-a"
    for text in ("[]", "{}", "x", '{"schema": "paceline.endpoints/9"}'):
        with pytest.raises(ValueError, match=r"."):
            read_gateway(METRICS, text, 0.0)


def test_rates_are_of_the_time_between() -> None:
    def reading(at_s: float, requests: float) -> Reading:
        return Reading(
            at_s, requests, requests / 10, requests * 50, requests / 100, 0, 0, 0, False, False, ()
        )

    rates = rates_between(reading(10.0, 100.0), reading(12.0, 110.0))
    assert rates is not None
    assert (rates.requests_s, rates.failed_s, rates.output_tok_s) == (5.0, 0.5, 250.0)
    assert rates.usd_h == pytest.approx(0.1 / 2 * 3600)
    assert rates_between(reading(10.0, 100.0), reading(10.0, 100.0)) is None
    assert rates_between(reading(10.0, 100.0), reading(11.0, 3.0)) is None, "it began anew"


def test_a_line_ends_now_and_fits() -> None:
    assert spark([1.0]) == ""
    points = [tuple(map(float, one.split(","))) for one in spark([0.0, 5.0, 10.0]).split()]
    assert points[-1] == (240.0, 3.0)
    assert points[0][1] == 43.0
    assert len(spark([1.0] * 120).split()) == 120
    assert spark([1.0] * 120).startswith("0.0,")


def test_the_last_requests_are_the_newest_first(home: Path) -> None:
    assert last_requests(home) == []
    tried = [attempt("a", served=False), attempt("b", used=usage(completion=9))]
    write_ledger(
        home,
        *(entry(n, at=NOON + timedelta(seconds=n)) for n in range(30)),
        entry(30, at=NOON + timedelta(seconds=30), attempts=tried, app_title="mine"),
    )
    with (ledger_folder(home) / "00000001.jsonl").open("ab") as file:
        file.write(b'no json\n{"half": ')
    found = last_requests(home)
    assert len(found) == 20
    assert [one.at.second for one in found] == list(range(30, 10, -1))
    assert (found[0].offer, found[0].tried, found[0].tokens, found[0].app) == ("b", ("a", "b"), 13, "mine")
    assert found[0].ttft_ms == 102.0
    (ledger_folder(home) / "00000002.jsonl").write_bytes(line(entry(31, at=NOON + timedelta(seconds=31))))
    assert [one.at.second for one in last_requests(home, most=2)] == [31, 30]


def test_without_a_gateway_the_page_says_how_to_start_one(home: Path) -> None:
    found = Page(client_of(state_of(home)).get("/live").text)
    assert "No gateway works in this home" in found.text
    assert "paceline gateway init" in found.text


def test_the_page_shows_traffic_offers_and_breakers(home: Path) -> None:
    write_ledger(home, entry(1, asked_model=NASTY, outcome="upstream_error", code=NASTY))
    pages = {"/metrics": METRICS, "/endpoints": endpoints(offer(), offer(offer=NASTY, model=NASTY))}
    with admin(pages) as address, gateway(home, address):
        answer = client_of(state_of(home)).get("/live")
    found = Page(answer.text)
    figures = ("210", ">= 500", "81.0", "3 of 8, 2 wait", "100 since its start", "over 30 min")
    for text in ("local-a", "open", "rests 4.2", "its ledger cannot be written", *figures):
        assert text in found.text, text
    assert "<script>alert" not in answer.text
    assert NASTY in found.text


@pytest.mark.parametrize(
    ("pages", "words"),
    [
        ({}, "it answers with 404"),
        ({"/metrics": "", "/endpoints": "[]"}, "no gateway of Paceline"),
        ({"/metrics": "", "/endpoints": "x" * 9_000_000}, "more than 8 MiB"),
        ({"/metrics": "", "/endpoints": "[" * 100_000}, "The gateway does not tell"),
        (
            {"/metrics": "", "/endpoints": endpoints(offer(resting_ms=10**400))},
            "a number that no gateway has",
        ),
    ],
)
def test_what_is_no_gateway_is_named(home: Path, pages: dict[str, str], words: str) -> None:
    with admin(pages) as address, gateway(home, address):
        assert words in Page(client_of(state_of(home)).get("/live").text).text


def test_a_gateway_that_does_not_answer(home: Path) -> None:
    with gateway(home, "127.0.0.1:9"):
        found = Page(client_of(state_of(home)).get("/live").text)
    assert "does not answer" in found.text
    assert "Traceback" not in found.text


def test_a_gateway_whose_answer_has_no_end_does_not_hold_the_page(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("paceline.dashboard.live_feed._TIMEOUT_S", 0.1)
    with drip() as address, gateway(home, address):
        found = Page(client_of(state_of(home)).get("/live").text)
    assert "does not answer (TimeoutError)" in found.text


def test_a_gateway_that_leads_elsewhere_is_not_followed(home: Path) -> None:
    with (
        admin({"/metrics": METRICS, "/endpoints": endpoints()}) as elsewhere,
        admin({}, moved=f"http://{elsewhere}") as address,
        gateway(home, address),
    ):
        assert "it answers with 307" in Page(client_of(state_of(home)).get("/live").text).text


@pytest.mark.parametrize(
    "odd", [None, -1, float("inf"), float("nan"), "<b>x", [], {}, {"value": float("inf")}, {"value": "x"}]
)
def test_whatever_a_gateway_says_of_an_offer_is_a_page(home: Path, odd: object) -> None:
    names = offer()
    quantiles = {"p50": odd, "p95": odd, "n": odd}
    offers = [*({**names, name: odd} for name in names), offer(ttft_ms=quantiles, success=odd)]
    with admin({"/metrics": METRICS, "/endpoints": endpoints(*offers)}) as address, gateway(home, address):
        answer = client_of(state_of(home)).get("/live")
    assert answer.status_code == 200
    assert "<b>x" not in answer.text


def test_the_stream_tells_about_once_a_second_and_ends_with_the_dashboard(home: Path) -> None:
    pages = {"/metrics": METRICS, "/endpoints": endpoints(offer())}
    with admin(pages) as address, gateway(home, address), serving_dashboard(home) as served:
        url = f"{served.url}live/events"
        with httpx.stream("GET", url, timeout=60.0) as answer:
            assert answer.headers["content-type"].startswith("text/event-stream")
            lines = answer.iter_lines()
            events = []
            for text in lines:
                if text.startswith("data: "):
                    events.append(json.loads(text.removeprefix("data: "))["html"])
                if len(events) == 2:
                    break
            assert all("local-a" in html for html in events)
            # The second has a rate, as there is something to compare with.
            assert "polyline" not in events[0]
            assert "0 <small>/s</small>" in events[1]


def test_only_so_many_may_watch(home: Path) -> None:
    with serving_dashboard(home) as served, httpx.Client(timeout=60.0) as client:
        url = f"{served.url}live/events"
        streams = [client.build_request("GET", url) for _ in range(MOST_WATCHING)]
        client_limits = httpx.Client(timeout=60.0, limits=httpx.Limits(max_connections=MOST_WATCHING + 1))
        open_ones = [client_limits.send(one, stream=True) for one in streams]
        assert {one.status_code for one in open_ones} == {200}
        refused = client_limits.get(url)
        assert refused.status_code == 503
        assert refused.headers["retry-after"]
        for one in open_ones:
            one.close()
        client_limits.close()


def test_a_cost_that_is_not_known_is_no_zero(home: Path) -> None:
    write_ledger(home, entry(1, attempts=[attempt(cost_usd=None)]))
    metrics = METRICS.replace('cost_usd_total{offer="a"} 1.5', 'unpriced_total{offer="a"} 3')
    pages = {"/metrics": metrics, "/endpoints": endpoints()}
    with admin(pages) as address, gateway(home, address):
        found = Page(client_of(state_of(home)).get("/live").text)
    assert "Cost - USD/h price unknown" in found.text
    assert found.text.count("price unknown") == 2
    assert "It has no offers" in found.text

"""The page of races, and who may start one."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from paceline.dashboard.app import create_app
from paceline.dashboard.race_routes import MOST_AT_ONCE, Room, TooManyError
from paceline.errors import UsageError
from paceline.measure.sim import SimProcess
from tests.dashboard.served import TOKEN, state_of

URLS = ("http://127.0.0.1:9/v1 tiny", "http://127.0.0.1:9/v1 other")
WITH_TOKEN = {"x-paceline-token": TOKEN}
ORDER = {"lanes": ["url:0", "url:1"], "prompt": "Hello", "max_tokens": 8, "max_seconds": 30}


def client(home: Path, *urls: str) -> TestClient:
    return TestClient(create_app(state_of(home), race_urls=urls), base_url="http://127.0.0.1:8090")


def events(text: str) -> list[tuple[str, dict[str, Any]]]:
    found = []
    for block in text.strip().split("\n\n"):
        name, data = block.split("\n")
        found.append((name.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    return found


def test_the_page_offers_who_can_be_raced(tmp_path: Path) -> None:
    page = client(tmp_path, *URLS).get("/race")
    assert page.status_code == 200
    assert '<option value="url:0" selected>tiny @ 127.0.0.1:9</option>' in page.text
    assert 'maxlength="20000"' in page.text


def test_without_anybody_the_page_says_what_to_do(tmp_path: Path) -> None:
    page = client(tmp_path).get("/race")
    assert "paceline measure" in page.text
    assert "<form id=" not in page.text


def test_names_are_text_and_never_markup(tmp_path: Path) -> None:
    page = client(tmp_path, "http://127.0.0.1:9/v1 <script>alert(1)</script>").get("/race")
    assert "<script>alert" not in page.text
    assert "&lt;script&gt;" in page.text


def test_a_race_as_events(tmp_path: Path) -> None:
    with SimProcess(["--model", "tiny"]) as sim:
        answer = client(tmp_path, f"{sim.url} tiny", URLS[1]).post(
            "/race/start", json=ORDER, headers=WITH_TOKEN
        )
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    found = events(answer.text)
    assert (found[0][0], found[-1][0]) == ("start", "end")
    outcomes = {
        given["lane"]: given["result"]["outcome"]
        for name, data in found
        if name == "tick"
        for given in data["lanes"]
        if "result" in given
    }
    assert outcomes == {0: "ok", 1: "connect_error"}


@pytest.mark.parametrize("headers", [{}, {"x-paceline-token": "x" * 32}])
def test_a_race_needs_the_token(tmp_path: Path, headers: dict[str, str]) -> None:
    answer = client(tmp_path, *URLS).post("/race/start", json=ORDER, headers=headers)
    assert answer.status_code == 401


@pytest.mark.parametrize("body", [b"", b"[" * 200_000, b"{", b"[]", b"\xff", b"1" * 5000, b'{"lanes": NaN}'])
def test_a_body_that_is_no_order_is_refused(tmp_path: Path, body: bytes) -> None:
    answer = client(tmp_path, *URLS).post("/race/start", content=body, headers=WITH_TOKEN)
    assert answer.status_code == 400
    assert answer.json()["error"]


def test_a_race_cannot_be_started_by_a_link(tmp_path: Path) -> None:
    assert client(tmp_path, *URLS).get("/race/start", headers=WITH_TOKEN).status_code == 405


@pytest.mark.parametrize(
    ("order", "part"),
    [
        ({**ORDER, "lanes": ["url:0"]}, "lanes"),
        ({**ORDER, "lanes": ["url:0", "http://127.0.0.1:22/"]}, "no such endpoint"),
        ({**ORDER, "prompt": ""}, "prompt"),
        ({**ORDER, "max_tokens": 10**9}, "max_tokens"),
        ({**ORDER, "headers": {"host": "x"}}, "unknown key"),
        ([1], "no JSON object"),
    ],
)
def test_an_order_that_makes_no_sense_is_refused_in_words(tmp_path: Path, order: Any, part: str) -> None:
    answer = client(tmp_path, *URLS).post("/race/start", json=order, headers=WITH_TOKEN)
    assert answer.status_code == 400
    assert part in answer.json()["error"]


def test_what_is_no_json_is_refused(tmp_path: Path) -> None:
    answer = client(tmp_path, *URLS).post("/race/start", content=b"{", headers=WITH_TOKEN)
    assert (answer.status_code, answer.json()["error"]) == (400, "the body is no JSON")


def test_a_refused_race_takes_no_place(tmp_path: Path) -> None:
    asked = client(tmp_path, *URLS)
    for _ in range(MOST_AT_ONCE + 1):
        bad = asked.post("/race/start", json={**ORDER, "lanes": ["url:0", "gone"]}, headers=WITH_TOKEN)
        assert bad.status_code == 400
    assert asked.post("/race/start", json=ORDER, headers=WITH_TOKEN).status_code == 200
    assert asked.post("/race/start", json=ORDER, headers=WITH_TOKEN).status_code == 200


def test_a_wrong_url_of_the_operators_is_told_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        client(tmp_path, "ftp://127.0.0.1 tiny")


def test_places() -> None:
    async def taken() -> None:
        room = Room(most=2, patience_s=0.0)
        leave = await room.enter("a")
        with pytest.raises(TooManyError, match="yours"):
            await room.enter("a")
        await room.enter("b")
        with pytest.raises(TooManyError, match="2 races"):
            await room.enter("c")
        leave()
        leave()
        await room.enter("c")
        with pytest.raises(TooManyError):
            await room.enter("a")

    asyncio.run(taken())


def test_who_has_just_stopped_a_race_waits_a_moment_for_its_place() -> None:
    async def taken() -> None:
        room = Room(patience_s=60.0)
        leave = await room.enter("a")
        next_one = asyncio.create_task(room.enter("a"))
        await asyncio.sleep(0)
        assert not next_one.done()
        leave()
        (await next_one)()

    asyncio.run(taken())


def test_one_race_at_a_time_and_its_place_is_free_when_its_browser_has_gone(tmp_path: Path) -> None:
    """By the application itself: the test client waits for the whole of an answer."""
    shape = ["--model", "tiny", "--itl", "50ms", "--output-tokens", "2000"]

    async def statuses(app: Any) -> list[int]:
        first = _Browser(app)
        await first.heard(b'"streaming"')
        second = _Browser(app)
        await second.ended()
        first.leave()
        await first.ended()
        third = _Browser(app)
        await third.heard(b"event: tick")
        third.leave()
        await third.ended()
        return [first.status, second.status, third.status]

    with SimProcess(shape) as sim:
        app = create_app(state_of(tmp_path), race_urls=[f"{sim.url} tiny"] * 2)
        found = asyncio.run(asyncio.wait_for(statuses(app), 100))
    assert found == [200, 429, 200]


class _Browser:
    """One request to start a race, which can be left."""

    def __init__(self, app: Any) -> None:
        body = json.dumps({**ORDER, "max_tokens": 2000, "max_seconds": 100}).encode()
        self._asked = [{"type": "http.request", "body": body, "more_body": False}]
        self._gone, self._news = asyncio.Event(), asyncio.Event()
        self._text = b""
        self.status = 0
        headers = {"host": "127.0.0.1:8090", "content-length": str(len(body)), **WITH_TOKEN}
        scope = {
            "type": "http",
            "method": "POST",
            "path": "/race/start",
            "raw_path": b"/race/start",
            "root_path": "",
            "scheme": "http",
            "query_string": b"",
            "http_version": "1.1",
            "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
            "client": ("127.0.0.1", 40000),
            "server": ("127.0.0.1", 8090),
        }
        self._task = asyncio.create_task(app(scope, self._receive, self._send))

    async def _receive(self) -> Any:
        if self._asked:
            return self._asked.pop()
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Any) -> None:
        self.status = message.get("status", self.status)
        self._text += message.get("body", b"")
        self._news.set()

    async def heard(self, part: bytes) -> None:
        while part not in self._text:
            await self._news.wait()
            self._news.clear()

    def leave(self) -> None:
        self._gone.set()

    async def ended(self) -> None:
        await self._task

from pathlib import Path

import pytest
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from paceline.dashboard.guard import MOST_BODY_BYTES, POLICY, TOKEN_HEADER, cookie_name
from paceline.dashboard.place import Place
from paceline.dashboard.secret import Token
from paceline.dashboard.state import State
from tests.dashboard.conftest import client_of
from tests.dashboard.served import TOKEN

PAGES = ("/", "/runs", "/studies", "/compare", "/usage", "/live", "/advise", "/instant", "/race", "/nowhere")


def state_at(home: Path, host: str, *names: str) -> State:
    place = Place(host, 8090, frozenset(names))
    return State(home, place, Token(TOKEN), home / "paceline.toml", tuple)


@pytest.mark.parametrize("path", [*PAGES, "/api/runs", "/static/x/app.js", "/healthz"])
def test_every_answer_has_the_policy(empty: TestClient, path: str) -> None:
    headers = empty.get(path).headers
    assert headers["content-security-policy"] == POLICY
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cache-control"] == "no-store"


def test_the_policy_lets_nothing_stand_in_a_page() -> None:
    rules = dict(part.split(" ", 1) for part in POLICY.split("; "))
    assert rules["default-src"] == "'none'"
    assert rules["script-src"] == "'self'"
    assert rules["style-src"] == "'self'"
    assert rules["frame-ancestors"] == "'none'"
    assert rules["base-uri"] == "'none'"
    assert "unsafe" not in POLICY


@pytest.mark.parametrize(
    ("host", "good"),
    [
        ("127.0.0.1:8090", True),
        ("localhost:9999", True),
        ("[::1]:8090", True),
        ("mine.example:80", True),
        ("MINE.example", True),
        ("evil.example", False),
        ("evil.example:8090", False),
        ("127.0.0.1.evil.example", False),
        ("10.0.0.5:8090", False),
        ("user@127.0.0.1", False),
        ("127.0.0.1:8090/x", False),
        ("127.0.0.1:x", False),
        ("[::1", False),
        ("LOCALHOST:8090", True),
        ("localhost.", False),
        ("localhost?x=evil", False),
        ("localhost#evil", False),
        ("localhost\\@evil", False),
        ("0.0.0.0:8090", False),
        ("", False),
    ],
)
def test_a_name_that_was_pointed_here_is_refused(home: Path, host: str, good: bool) -> None:
    """DNS rebinding: the page of a stranger, whose name now means this machine."""
    client = client_of(state_at(home, "127.0.0.1", "mine.example"))
    answer = client.get("/healthz", headers={"host": host})
    assert answer.status_code == (200 if good else 421)


@pytest.mark.parametrize("path", ["/race/start", "/enter"])
@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "https://127.0.0.1:8090"},
        {"origin": "http://127.0.0.1:9999"},
        {"origin": "http://127.0.0.1:8090.evil.example"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"sec-fetch-site": "none"},
        {"origin": "http://127.0.0.1:8090", "sec-fetch-site": "cross-site"},
        {"origin": "http://[::1"},
        {"origin": ""},
    ],
)
def test_another_site_changes_nothing_even_with_the_token(
    empty: TestClient, path: str, headers: dict[str, str]
) -> None:
    answer = empty.post(path, json={}, headers={TOKEN_HEADER: TOKEN, **headers})
    assert answer.status_code == 403


@pytest.mark.parametrize("token", [None, "", "wrong", TOKEN[:-1], TOKEN + "x", "\u00e9".encode()])
def test_without_the_token_nothing_changes(empty: TestClient, token: str | bytes | None) -> None:
    headers = {} if token is None else {TOKEN_HEADER: token}
    answer = empty.post("/race/start", json={}, headers=headers)  # type: ignore[arg-type]
    assert answer.status_code == 401
    assert empty.post("/enter", headers=headers).status_code == 401  # type: ignore[arg-type]


FRAME = {"sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe"}
PICTURE = {"sec-fetch-mode": "no-cors", "sec-fetch-dest": "image"}
STREAM = {"sec-fetch-mode": "cors", "sec-fetch-dest": "empty"}
LINK = {"sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}


@pytest.mark.parametrize("site", ["cross-site", "same-site", "odd"])
def test_another_site_leads_here_and_has_no_part_of_it_worked_out(empty: TestClient, site: str) -> None:
    headers = {"sec-fetch-site": site}
    for part in (FRAME, PICTURE, STREAM, {}):
        for path in ("/", "/live/events", "/api/board"):
            assert empty.get(path, headers={**headers, **part}).status_code == 403
    assert empty.get("/runs", headers={**headers, **LINK}).status_code == 200


@pytest.mark.parametrize("site", ["none", "same-origin"])
def test_its_own_pages_and_who_types_its_address_get_all(empty: TestClient, site: str) -> None:
    for part in (FRAME, PICTURE, STREAM, LINK):
        assert empty.get("/runs", headers={"sec-fetch-site": site, **part}).status_code == 200


def test_behind_a_proxy_with_tls_the_browser_vouches_for_the_page(home: Path) -> None:
    client = client_of(state_at(home, "127.0.0.1", "mine.example"))
    headers = {TOKEN_HEADER: TOKEN, "host": "mine.example", "origin": "https://mine.example"}
    own = {**headers, "sec-fetch-site": "same-origin"}
    assert client.post("/enter", headers=own).status_code == 204
    assert client.post("/enter", headers=headers).status_code == 403
    assert client.post("/enter", headers={**own, "origin": "https://evil.example"}).status_code == 403


def test_a_cookie_does_not_let_change(home: Path) -> None:
    state = state_at(home, "127.0.0.1")
    client = client_of(state)
    client.cookies.set(cookie_name(state), state.token.reading)
    assert client.post("/race/start", json={}).status_code == 401
    assert client.post("/race/start", json={}, headers={TOKEN_HEADER: state.token.reading}).status_code == 401


def test_with_the_token_it_goes_on(empty: TestClient) -> None:
    own = {"origin": "http://127.0.0.1:8090", "sec-fetch-site": "same-origin", TOKEN_HEADER: TOKEN}
    assert empty.post("/race/start", json={}, headers=own).status_code == 400
    assert empty.post("/race/start", json={}, headers={"authorization": f"Bearer {TOKEN}"}).status_code == 400


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "POST"])
def test_other_methods_need_the_token_too(empty: TestClient, method: str) -> None:
    assert empty.request(method, "/runs").status_code == 401
    assert empty.request(method, "/runs", headers={TOKEN_HEADER: TOKEN}).status_code == 405


def test_a_body_is_bounded_said_or_unsaid(empty: TestClient) -> None:
    headers = {TOKEN_HEADER: TOKEN}
    large = b"x" * (MOST_BODY_BYTES + 1)
    assert empty.post("/race/start", content=large, headers=headers).status_code == 413
    unsaid = iter([large[:100_000], large[100_000:]])
    assert empty.post("/race/start", content=unsaid, headers=headers).status_code == 413
    odd = {**headers, "content-length": "-1"}
    assert empty.post("/race/start", content=b"", headers=odd).status_code == 413


def test_where_others_reach_it_reading_needs_the_token(home: Path) -> None:
    state = state_at(home, "0.0.0.0")
    client = client_of(state)
    for path in (*PAGES, "/api/runs", "/live/events", "/healthz"):
        answer = client.get(path)
        assert answer.status_code == 401
        assert "paceline" in answer.text.lower() or "token" in answer.text.lower()
        assert TOKEN not in answer.text
    page = client.get("/", headers={"accept": "text/html"})
    assert page.status_code == 401
    assert "The token, please" in page.text
    assert client.get("/api/runs", headers={"authorization": f"Bearer {TOKEN}"}).status_code == 200
    assert client.post("/enter", headers={TOKEN_HEADER: "wrong"}).status_code == 401
    entered = client.post("/enter", headers={TOKEN_HEADER: TOKEN})
    assert entered.status_code == 204
    cookie = entered.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert TOKEN not in entered.headers["set-cookie"]
    assert client.get("/runs").status_code == 200


def test_where_others_reach_it_addresses_are_good_names(home: Path) -> None:
    client = client_of(state_at(home, "0.0.0.0"))
    ask = {"authorization": f"Bearer {TOKEN}"}
    assert client.get("/healthz", headers={**ask, "host": "192.168.1.7:8090"}).status_code == 200
    assert client.get("/healthz", headers={**ask, "host": "evil.example"}).status_code == 421


def test_web_sockets_are_refused(empty: TestClient) -> None:
    with pytest.raises(WebSocketDisconnect), empty.websocket_connect("/live/events"):
        pass

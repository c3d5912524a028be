"""The browser of the tests sees what goes wrong on a page, and does what a person does."""

import struct
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.support.browser import WAIT_S, Browser, Page, PageError, find_browser

PAGES = {
    "/": "<p id=word>ready</p><input id=name><button id=go>Go</button><script>"
    "document.querySelector('#go').addEventListener('click', () => {"
    " document.querySelector('#word').textContent = 'hello ' + document.querySelector('#name').value })"
    "</script>",
    "/throws": "<script>throw new Error('broken on purpose')</script>",
    "/says": "<script>console.error('said', 7)</script>",
    "/foreign": "<img src='http://elsewhere.example/a.png'>",
    "/missing": "<img src='/not-there.png'>",
    "/policy": "<script>document.title = 'ran'</script>",
    "/wide": "<div style='width: 700px'>wide</div>",
    "/covered": "<button id=under>Under</button>"
    "<div style='position: fixed; inset: 0; background: white'>over</div>",
}
HEAD = "<!doctype html><meta name=viewport content='width=device-width'><link rel=icon href='data:,'>"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = PAGES.get(self.path)
        self.send_response(404 if body is None else 200)
        self.send_header("content-type", "text/html")
        if self.path == "/policy":
            self.send_header("content-security-policy", "script-src 'none'")
        self.end_headers()
        self.wfile.write((HEAD + (body or "")).encode())

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=httpd.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{httpd.server_address[1]}"
    httpd.shutdown()
    thread.join()
    httpd.server_close()


def test_a_person_at_the_keyboard_and_with_the_mouse(page: Page, server: str) -> None:
    page.goto(f"{server}/")
    page.press("Tab")
    assert page.focused() == "name"
    page.write("w\N{LATIN SMALL LETTER O WITH DIAERESIS}")
    page.press("r")
    page.press("Tab")
    page.press("Enter")
    page.wait_for("document.querySelector('#word').textContent.startsWith('hello')")
    assert page.text("#word") == "hello w\N{LATIN SMALL LETTER O WITH DIAERESIS}r"
    page.press("Shift+Tab")
    page.press("Backspace", times=3)
    page.click("#go")
    page.wait_for("document.querySelector('#word').textContent === 'hello '")
    assert page.problems() == []


@pytest.mark.parametrize(
    ("path", "part"),
    [
        ("/throws", "broken on purpose"),
        ("/says", "said 7"),
        ("/foreign", "foreign request: http://elsewhere.example/a.png"),
        ("/missing", "404: "),
        ("/policy", "Content Security Policy"),
    ],
)
def test_what_goes_wrong_is_seen(page: Page, server: str, path: str, part: str) -> None:
    page.goto(server + path)
    assert any(part in problem for problem in page.problems())


def test_window_and_preferences(page: Page, server: str, tmp_path: Path) -> None:
    page.viewport(390, 500)
    page.media(scheme="dark", reduced_motion=True)
    page.goto(f"{server}/")
    assert page.evaluate("innerWidth") == 390
    assert page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
    assert page.evaluate("matchMedia('(prefers-reduced-motion: reduce)').matches")
    assert page.sideways_px() == 0
    head = page.screenshot(tmp_path / "shot.png", whole=False).read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", head[16:24]) == (390, 500)
    page.media(scheme="light")
    assert page.evaluate("matchMedia('(prefers-color-scheme: light)').matches")
    assert not page.evaluate("matchMedia('(prefers-reduced-motion: reduce)').matches")
    page.goto(f"{server}/wide")
    assert page.sideways_px() > 0


def test_what_cannot_be_done_is_an_error(page: Page, server: str) -> None:
    page.goto(f"{server}/covered")
    with pytest.raises(PageError, match="covers"):
        page.click("#under")
    with pytest.raises(PageError, match="there is none"):
        page.click("#nowhere")
    with pytest.raises(PageError, match="not in time: false"):
        page.wait_for("false", wait_s=0)
    with pytest.raises(PageError, match="net::ERR_"):
        page.goto("http://elsewhere.example/")


def of_session(session: int) -> list[str]:
    """Processes that live in a session; what has ended and was not yet collected has no command line."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            # After the command's name, which may hold anything: state, parent, group, session.
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            if int(fields[3]) == session and fields[0] != "Z":
                found.append((folder / "cmdline").read_text())
    return found


def test_nothing_of_it_is_left() -> None:
    found = find_browser()
    if isinstance(found, str):
        pytest.skip(found)
    with Browser(found) as started:
        pid, profile = started._pid, started._profile
        started.page()
        assert profile.is_dir()
        assert len(of_session(pid)) > 1
    deadline = time.monotonic() + WAIT_S
    while of_session(pid) and time.monotonic() < deadline:
        time.sleep(0.03)
    assert of_session(pid) == []
    assert not profile.exists()

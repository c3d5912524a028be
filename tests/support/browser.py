"""A headless browser for tests of pages, by the Chrome DevTools Protocol over its own pipe.

The pipe needs no port and no library, and the browser ends when the test's process does, however that goes.
The browser resolves no host name: what a page asks for beyond its own server fails, and is reported.

    def test_page(page: Page) -> None:
        page.viewport(390)
        page.media(scheme="dark", reduced_motion=True)
        page.goto(url)
        page.wait_for("document.querySelector('#state').textContent === 'done'")
        page.click("button")
        page.press("Shift+Tab")
        page.screenshot(folder / "page.png")
        assert page.problems() == []
"""

import base64
import fcntl
import json
import os
import select
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self
from urllib.parse import urlsplit

import pytest

WAIT_S = 90.0
"""How long a test waits for what must come: long, since a busy machine is no fault of the page's."""

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_LOOK_EVERY_S = 0.03
_OPTIONS = (
    *("--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--no-first-run", "--disable-gpu"),
    *("--disable-dev-shm-usage", "--disable-extensions", "--disable-sync", "--disable-breakpad"),
    *("--disable-background-networking", "--disable-component-update", "--disable-default-apps"),
    *("--disable-background-timer-throttling", "--disable-renderer-backgrounding"),
    *("--disable-backgrounding-occluded-windows", "--metrics-recording-only", "--no-default-browser-check"),
    *("--password-store=basic", "--use-mock-keychain", "--hide-scrollbars", "--force-color-profile=srgb"),
    *("--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--no-proxy-server"),
)
# The name of a key -> `code`, virtual key code, and the text that it writes.
_KEYS: dict[str, tuple[str, int, str]] = {
    "Tab": ("Tab", 9, ""),
    "Enter": ("Enter", 13, "\r"),
    "Escape": ("Escape", 27, ""),
    "Space": ("Space", 32, " "),
    "Backspace": ("Backspace", 8, ""),
    "Delete": ("Delete", 46, ""),
    "Home": ("Home", 36, ""),
    "End": ("End", 35, ""),
    "PageUp": ("PageUp", 33, ""),
    "PageDown": ("PageDown", 34, ""),
    "ArrowLeft": ("ArrowLeft", 37, ""),
    "ArrowUp": ("ArrowUp", 38, ""),
    "ArrowRight": ("ArrowRight", 39, ""),
    "ArrowDown": ("ArrowDown", 40, ""),
}
_MODIFIERS = {"Alt": 1, "Control": 2, "Meta": 4, "Shift": 8}
_NAVIGATING = ("context was destroyed", "Cannot find context", "navigated or closed")


class PageError(AssertionError):
    """The browser, or the page in it, did not do what was asked."""


def find_browser() -> Path | str:
    """The browser, or the reason to skip."""
    named = os.environ.get("PACELINE_TEST_BROWSER")
    if named:
        return Path(named)
    found = next((path for name in _NAMES if (path := shutil.which(name))), None)
    return Path(found) if found else "no Chromium on the PATH; set PACELINE_TEST_BROWSER"


class Browser:
    """One browser process with a profile of its own, which ends with the block, children included."""

    def __init__(self, binary: Path) -> None:
        self._binary = binary
        self._pid = 0
        self._in = self._out = -1
        self._buffer = b""
        self._number = 0
        self._listeners: dict[str, Callable[[str, dict[str, Any]], None]] = {}
        self._profile = Path()

    def __enter__(self) -> Self:
        self._profile = Path(tempfile.mkdtemp(prefix="paceline-browser-"))
        (theirs_in, self._out), (self._in, theirs_out) = _pipe(), _pipe()
        options = [*_OPTIONS, f"--user-data-dir={self._profile}", f"--disk-cache-dir={self._profile}/cache"]
        log = str(self._profile / "log")
        self._pid = os.posix_spawn(
            self._binary,
            [str(self._binary), *options, "about:blank"],
            {**os.environ, "HOME": str(self._profile)},
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 1, log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600),
                (os.POSIX_SPAWN_DUP2, 1, 2),
                (os.POSIX_SPAWN_DUP2, theirs_in, 3),
                (os.POSIX_SPAWN_DUP2, theirs_out, 4),
            ],
            setsid=True,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        try:
            self.call("Browser.getVersion")
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def page(self) -> "Page":
        """A new page that shares nothing (cookies, cache, storage) with the others."""
        return Page(self)

    def call(
        self, method: str, session: str | None = None, *, wait_s: float = WAIT_S, **parameters: Any
    ) -> dict[str, Any]:
        """One command of the protocol and its answer; what happens meanwhile goes to the pages."""
        self._number += 1
        number = self._number
        message: dict[str, Any] = {"id": number, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        self._write(json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + wait_s
        while True:
            answer = self._next(deadline, method)
            if answer.get("id") != number:
                continue
            if "error" in answer:
                raise PageError(f"{method}: {answer['error'].get('message')}")
            result: dict[str, Any] = answer["result"]
            return result

    def listen(self, session: str, listener: Callable[[str, dict[str, Any]], None]) -> None:
        """Events of a session go to `listener(method, parameters)`."""
        self._listeners[session] = listener

    def pump(self, seconds: float) -> None:
        """Take in what happens within a short time."""
        deadline = time.monotonic() + seconds
        with suppress(TimeoutError):
            while True:
                self._next(deadline, None)

    def _next(self, deadline: float, awaited: str | None) -> dict[str, Any]:
        """The next message; an event has been told its page. Raises PageError, or TimeoutError for None."""
        while b"\0" not in self._buffer:
            left_s = deadline - time.monotonic()
            if left_s <= 0 or not select.select([self._in], [], [], left_s)[0]:
                if awaited is None:
                    raise TimeoutError
                raise PageError(f"the browser has not answered {awaited} in time: {self._said()}")
            piece = os.read(self._in, 1 << 16)
            if not piece:
                raise PageError(f"the browser has ended: {self._said()}")
            self._buffer += piece
        line, self._buffer = self._buffer.split(b"\0", 1)
        message: dict[str, Any] = json.loads(line)
        listener = self._listeners.get(message.get("sessionId", ""))
        if "method" in message and listener is not None:
            listener(message["method"], message["params"])
        return message

    def _write(self, data: bytes) -> None:
        try:
            while data:
                data = data[os.write(self._out, data) :]
        except BrokenPipeError:
            raise PageError(f"the browser has ended: {self._said()}") from None

    def _said(self) -> str:
        log = self._profile / "log"
        return log.read_text(errors="replace")[-500:] if log.exists() else "it said nothing"

    def _end(self) -> None:
        with suppress(PageError):
            self.call("Browser.close", wait_s=10)
        for descriptor in (self._in, self._out):
            os.close(descriptor)
        deadline = time.monotonic() + 10
        while os.waitpid(self._pid, os.WNOHANG) == (0, 0):
            if time.monotonic() > deadline:
                os.kill(self._pid, signal.SIGKILL)
                os.waitpid(self._pid, 0)
                break
            time.sleep(_LOOK_EVERY_S)
        # Its children are in the session that it was started in, and nothing else is.
        with suppress(ProcessLookupError):
            os.killpg(self._pid, signal.SIGKILL)
        shutil.rmtree(self._profile, ignore_errors=True)


class Page:
    """One page. `console`, `failed` and `foreign` are what has gone wrong on it; see `problems`."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        context = browser.call("Target.createBrowserContext")["browserContextId"]
        self._context: str = context
        made = browser.call("Target.createTarget", url="about:blank", browserContextId=context)
        self._target: str = made["targetId"]
        session = browser.call("Target.attachToTarget", targetId=self._target, flatten=True)
        self._session: str = session["sessionId"]
        self.console: list[str] = []
        self.failed: list[str] = []
        self.foreign: list[str] = []
        self._own: tuple[str, str] | None = None
        self._urls: dict[str, str] = {}
        self._loaded: set[str] = set()
        browser.listen(self._session, self._event)
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        self.call("Page.setLifecycleEventsEnabled", enabled=True)
        self.call("Emulation.setFocusEmulationEnabled", enabled=True)
        self.viewport(1440)

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """A command of the protocol to this page."""
        return self._browser.call(method, self._session, **parameters)

    def close(self) -> None:
        """Close it; its server sees it go."""
        self._browser.call("Target.disposeBrowserContext", browserContextId=self._context)

    def problems(self) -> list[str]:
        """Errors of the console and of scripts, requests that failed, and requests to other servers."""
        self._browser.pump(_LOOK_EVERY_S)
        self.evaluate("0")
        return [*self.console, *self.failed, *self.foreign]

    def viewport(self, width: int, height: int = 900) -> None:
        """The size of the window, CSS pixels; under 600 wide as a phone has it."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )

    def media(self, *, scheme: Literal["light", "dark"] | None = None, reduced_motion: bool = False) -> None:
        """What the user prefers."""
        features = [{"name": "prefers-reduced-motion", "value": "reduce" if reduced_motion else ""}]
        features.append({"name": "prefers-color-scheme", "value": scheme or ""})
        self.call("Emulation.setEmulatedMedia", features=features)

    def before_load(self, script: str) -> None:
        """Run a script in each page that is loaded from now on, before its own."""
        self.call("Page.addScriptToEvaluateOnNewDocument", source=script)

    def goto(self, url: str) -> None:
        """Load an address, to its load event. The first one's server is the page's own."""
        parts = urlsplit(url)
        self._own = self._own or (parts.scheme, parts.netloc)
        found = self.call("Page.navigate", url=url)
        if found.get("errorText"):
            raise PageError(f"{url}: {found['errorText']}")
        loader = found.get("loaderId")
        deadline = time.monotonic() + WAIT_S
        while loader is not None and loader not in self._loaded:
            if time.monotonic() > deadline:
                raise PageError(f"{url} was not loaded in time")
            self._browser.pump(_LOOK_EVERY_S)

    def evaluate(self, expression: str) -> Any:
        """The value of an expression, as JSON has it; a promise is waited for."""
        found = self.call(
            "Runtime.evaluate",
            expression=expression,
            returnByValue=True,
            awaitPromise=True,
            userGesture=True,
        )
        if "exceptionDetails" in found:
            raise PageError(f"{expression}: {_thrown(found['exceptionDetails'])}")
        return found["result"].get("value")

    def wait_for(self, condition: str, *, wait_s: float = WAIT_S) -> None:
        """Wait until an expression is true."""
        deadline = time.monotonic() + wait_s
        while True:
            try:
                if self.evaluate(f"Boolean({condition})"):
                    return
            except PageError as error:
                # Between two documents there is nothing to ask.
                if not any(part in str(error) for part in _NAVIGATING):
                    raise
            if time.monotonic() > deadline:
                shown = str(self.evaluate("document.body.innerText"))[:600]
                raise PageError(f"not in time: {condition}; {self.problems()}; the page says:\n{shown}")
            self._browser.pump(_LOOK_EVERY_S)

    def text(self, selector: str = "body") -> str:
        """The text of an element as it is seen."""
        found: str = self.evaluate(f"document.querySelector({json.dumps(selector)}).innerText")
        return found

    def click(self, selector: str) -> None:
        """Click the middle of an element with the mouse. Raises PageError where something covers it."""
        found = self.evaluate(
            f"(() => {{ const one = document.querySelector({json.dumps(selector)}); if (!one) return null;"
            " one.scrollIntoView({block: 'center', inline: 'center', behavior: 'instant'});"
            " const box = one.getBoundingClientRect();"
            " const x = box.x + box.width / 2, y = box.y + box.height / 2;"
            " const top = document.elementFromPoint(x, y);"
            " return {x, y, free: one.contains(top)}; })()"
        )
        if found is None or not found["free"]:
            raise PageError(f"{selector}: {'there is none' if found is None else 'something covers it'}")
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.call(
                "Input.dispatchMouseEvent",
                type=kind,
                x=found["x"],
                y=found["y"],
                button="none" if kind == "mouseMoved" else "left",
                clickCount=0 if kind == "mouseMoved" else 1,
            )

    def press(self, key: str, times: int = 1) -> None:
        """Press a key, `Tab`, `Enter`, `a`; with modifiers, `Shift+Tab`."""
        *modifiers, name = key.split("+") if key != "+" else [key]
        held = sum(_MODIFIERS[one] for one in modifiers)
        code, number, text = _KEYS.get(name) or (f"Key{name.upper()}", ord(name.upper()), name)
        shown = " " if name == "Space" else name
        common = {"key": shown, "code": code, "windowsVirtualKeyCode": number, "modifiers": held}
        for _ in range(times):
            kind = "keyDown" if text and not held & ~_MODIFIERS["Shift"] else "rawKeyDown"
            written = {"text": text} if kind == "keyDown" else {}
            self.call("Input.dispatchKeyEvent", type=kind, **common, **written)
            self.call("Input.dispatchKeyEvent", type="keyUp", **common)

    def write(self, text: str) -> None:
        """Text into the field that has the focus, as a keyboard or an input method would put it in."""
        self.call("Input.insertText", text=text)

    def focused(self) -> str:
        """What has the focus: its id, else its tag and the start of its text."""
        found: str = self.evaluate(
            "(one => one.id || `${one.tagName.toLowerCase()} ${one.textContent.trim().slice(0, 40)}`)"
            "(document.activeElement)"
        )
        return found

    def sideways_px(self) -> int:
        """How much wider the content is than the window; 0 where nothing has to be scrolled sideways."""
        found: int = self.evaluate(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
        return found

    def screenshot(self, path: Path, *, whole: bool = True) -> Path:
        """Write a PNG of the whole page, or of what the window shows, once it is drawn."""
        if whole:
            # What sticks to the window would lie over the middle of the page.
            self.evaluate("scrollTo({left: 0, top: 0, behavior: 'instant'})")
        self.evaluate(
            "document.fonts.ready.then(() => new Promise("
            "done => requestAnimationFrame(() => requestAnimationFrame(() => done(0)))))"
        )
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(shot["data"]))
        return path

    def _event(self, method: str, given: dict[str, Any]) -> None:
        match method:
            case "Page.lifecycleEvent" if given["name"] == "load":
                self._loaded.add(given["loaderId"])
            case "Runtime.exceptionThrown":
                self.console.append(f"uncaught: {_thrown(given['exceptionDetails'])}")
            case "Runtime.consoleAPICalled" if given["type"] in ("error", "assert", "warning"):
                said = " ".join(str(one.get("value", one.get("description"))) for one in given["args"])
                self.console.append(f"console.{given['type']}: {said}")
            case "Log.entryAdded" if given["entry"]["level"] == "error":
                entry = given["entry"]
                # Requests that fail are told with more of what is needed below.
                if entry["source"] != "network":
                    self.console.append(f"{entry['source']}: {entry['text']}")
            case "Network.requestWillBeSent":
                self._asked(given["requestId"], given["request"]["url"])
            case "Network.webSocketCreated":
                self._asked(given["requestId"], given["url"])
            case "Network.responseReceived" if given["response"]["status"] >= 400:
                self.failed.append(f"{given['response']['status']}: {given['response']['url']}")
            case "Network.loadingFailed" if not given.get("canceled"):
                url = self._urls.get(given["requestId"], "?")
                self.failed.append(f"{given.get('blockedReason') or given['errorText']}: {url}")

    def _asked(self, request: str, url: str) -> None:
        self._urls[request] = url
        parts = urlsplit(url)
        if parts.scheme not in ("data", "blob", "about") and (parts.scheme, parts.netloc) != self._own:
            self.foreign.append(f"foreign request: {url}")


def _pipe() -> tuple[int, int]:
    """A pipe whose ends lie above the descriptors that the browser gets them as, for it alone."""
    ends = os.pipe()
    high = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 20) for end in ends]
    for end in ends:
        os.close(end)
    return high[0], high[1]


def _thrown(details: dict[str, Any]) -> str:
    thrown = details.get("exception", {})
    return str(thrown.get("description") or thrown.get("value") or details["text"])


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The browser of the test session; skips, and says why, where there is none."""
    found = find_browser()
    if isinstance(found, str):
        pytest.skip(found)
    with Browser(found) as started:
        yield started


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page of its own for each test."""
    opened = browser.page()
    yield opened
    opened.close()

"""What stands before every page: who may call, what may change, how much may come, what browsers are told."""

from collections.abc import Iterable

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection, Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from paceline.dashboard.state import State
from paceline.dashboard.unexpected import tell_unexpected

TOKEN_HEADER = "x-paceline-token"
ENTER = "/enter"
MOST_BODY_BYTES = 256 * 1024
_READING = frozenset({"GET", "HEAD"})
# What a browser must have before it has shown the token.
_OPEN = ("/static/", ENTER)
POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data: blob:",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    ]
)
_HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}


class TooLargeError(Exception):
    """A request's body is larger than any that is needed."""


class Guard:
    """Answers what may not pass, and puts the headers on all that is answered."""

    def __init__(self, app: ASGIApp, state: State) -> None:
        self.app = app
        self._state = state

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        told = _with_headers(send)
        refusal = self._refusal(scope)
        if refusal is not None:
            await refusal(scope, receive, told)
            return
        try:
            await self.app(scope, _bounded(receive), told)
        except Exception as error:
            # The page has said it, where one could still be sent; otherwise the server hangs up.
            tell_unexpected(self._state, scope["path"], error)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        if len(headers.getlist("host")) != 1 or not self._state.place.is_called(headers.get("host")):
            return PlainTextResponse(
                "This dashboard is not called so. Use the address that it has printed, or start it with "
                "--allow-host NAME.\n",
                421,
            )
        if scope["method"] in _READING:
            if _is_for_another_page(headers):
                return PlainTextResponse("Another page may lead here, and hold nothing of this.\n", 403)
            return None if self._may_read(scope, headers) else _token_needed(scope)
        if not _is_from_here(headers, scope["scheme"]):
            return PlainTextResponse("A page of another site may not ask for this.\n", 403)
        if _length(headers) > MOST_BODY_BYTES:
            return PlainTextResponse(f"A body has {MOST_BODY_BYTES:,} bytes at most.\n", 413)
        if scope["path"] == ENTER or self._state.token.is_(shown_token(headers)):
            return None
        return PlainTextResponse(
            "This needs the token that `paceline dashboard` has printed at its start.\n", 401
        )

    def _may_read(self, scope: Scope, headers: Headers) -> bool:
        if self._state.is_private or scope["path"].startswith(_OPEN):
            return True
        cookie = HTTPConnection(scope).cookies.get(cookie_name(self._state), "")
        return self._state.token.reads(cookie) or self._state.token.is_(shown_token(headers))


def shown_token(headers: Headers) -> str:
    """The token that a request shows; "" where it shows none."""
    named = headers.get(TOKEN_HEADER)
    if named is not None:
        return named
    scheme, _, text = headers.get("authorization", "").partition(" ")
    return text.strip() if scheme.lower() == "bearer" else ""


def cookie_name(state: State) -> str:
    """Cookies are the host's, whatever the port: each dashboard has its own."""
    return f"paceline-dashboard-{state.place.port}"


async def enter(request: Request) -> Response:
    """`POST /enter` with the token in its header: a cookie that lets read."""
    state: State = request.app.state.paceline
    if not state.token.is_(shown_token(request.headers)):
        return PlainTextResponse("That is not the token.\n", 401)
    response = Response(status_code=204)
    response.set_cookie(
        cookie_name(state), state.token.reading, httponly=True, samesite="strict", secure=False, path="/"
    )
    return response


def _token_needed(scope: Scope) -> Response:
    from paceline.dashboard.render import render

    accepts = Headers(scope=scope).get("accept", "")
    if "text/html" not in accepts:
        return PlainTextResponse("This needs the token, as `Authorization: Bearer TOKEN`.\n", 401)
    return render("dashboard/enter.html", {"title": "The token, please", "here": ""}, status=401)


def _is_from_here(headers: Headers, scheme: str) -> bool:
    """Whether a page of this dashboard asks, or no browser at all: programs send neither header."""
    site, origin, host = (headers.get(name) for name in ("sec-fetch-site", "origin", "host"))
    if site not in (None, "same-origin"):
        return False
    if origin is None or origin == f"{scheme}://{host}":
        return True
    # A proxy in front speaks TLS, and the browser, whom no page can make say it, calls its page our own.
    return site is not None and origin == f"https://{host}"


def _is_for_another_page(headers: Headers) -> bool:
    """Whether a page of another site wants this as a part of itself: a picture, a frame, a stream.

    It could not read it, but it could make this machine work, take places of those who watch, and tell from
    the time that it takes what is stored here. To follow a link is no such thing.
    """
    if headers.get("sec-fetch-site", "none") in ("none", "same-origin"):
        return False
    return headers.get("sec-fetch-mode") != "navigate" or headers.get("sec-fetch-dest") != "document"


def _length(headers: Headers) -> int:
    text = headers.get("content-length", "0")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else MOST_BODY_BYTES + 1


def _bounded(receive: Receive) -> Receive:
    """A body whose length nobody has told is bounded while it comes."""
    seen = 0

    async def next_message() -> Message:
        nonlocal seen
        message = await receive()
        if message["type"] == "http.request":
            seen += len(message.get("body", b""))
            if seen > MOST_BODY_BYTES:
                raise TooLargeError
        return message

    return next_message


def _with_headers(send: Send) -> Send:
    async def told(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            _put(headers, _HEADERS.items())
            if "cache-control" not in headers:
                headers["cache-control"] = "no-store"
        await send(message)

    return told


def _put(headers: MutableHeaders, more: Iterable[tuple[str, str]]) -> None:
    for name, value in more:
        headers[name] = value

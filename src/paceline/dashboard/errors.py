"""What a page says when something is wrong: no traceback, and what to do."""

from collections.abc import Awaitable, Callable

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from paceline.dashboard.guard import MOST_BODY_BYTES, TooLargeError
from paceline.dashboard.render import render
from paceline.dashboard.state import State
from paceline.dashboard.work import BusyError, StillAtWorkError
from paceline.errors import ConfigError, PacelineError, StoreError

Handler = Callable[[Request, Exception], Awaitable[Response]]
SCHEMA = "paceline.error/1"
_BUSY_S, _AGAIN_S = 5, 2
_NOT_FOUND = ("no run has", "no study has", "there are no ")


async def _known(request: Request, error: Exception) -> Response:
    assert isinstance(error, PacelineError)
    return _said(request, _status(error), error.message, error.hint)


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 404:
        return _said(request, 404, f"there is no page {request.scope['path']}", "the pages are above")
    answer = _said(request, error.status_code, error.detail, None)
    answer.headers.update(error.headers or {})
    return answer


async def _busy(request: Request, _: Exception) -> Response:
    answer = _said(request, 503, "much is being worked out just now", "load the page again in a moment")
    answer.headers["retry-after"] = str(_BUSY_S)
    return answer


async def _still_at_work(request: Request, _: Exception) -> Response:
    state: State = request.app.state.paceline
    context = {"title": "Still at work", "reading": state.reading}
    answer = render("dashboard/wait.html", context, 202)
    answer.headers["retry-after"] = str(_AGAIN_S)
    return answer


async def _too_large(_: Request, __: Exception) -> Response:
    return PlainTextResponse(f"A body has {MOST_BODY_BYTES:,} bytes at most.\n", 413)


async def unexpected(request: Request, error: Exception) -> Response:
    """What nobody has thought of: the page names its kind alone; the guard tells of it in the terminal."""
    hint = "the terminal that the dashboard runs in says where its traceback is; please report it"
    return _said(request, 500, f"unexpected: {type(error).__name__}", hint)


HANDLERS: dict[type[Exception], Handler] = {
    PacelineError: _known,
    HTTPException: _http,
    BusyError: _busy,
    StillAtWorkError: _still_at_work,
    TooLargeError: _too_large,
}


def _status(error: PacelineError) -> int:
    if isinstance(error, StoreError):
        return 404 if error.message.startswith(_NOT_FOUND) else 500
    if isinstance(error, ConfigError):
        return 400
    return 400 if error.exit_code == 2 else 500


def _said(request: Request, status: int, message: str, hint: str | None) -> Response:
    if request.scope["path"].startswith("/api/"):
        return JSONResponse({"schema": SCHEMA, "error": message, "hint": hint}, status)
    title = {404: "Not found", 400: "That cannot be asked", 503: "Busy"}.get(status, "Something is wrong")
    first = request.scope["path"].lstrip("/").split("/")[0]
    back = f"/{first}" if first in ("runs", "studies") else "/"
    name = {"/runs": "all runs", "/studies": "all studies"}.get(back, "the board")
    context = {"title": title, "message": _sentence(message), "hint": hint, "back": back, "back_name": name}
    return render("dashboard/error.html", context, status)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]

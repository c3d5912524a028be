"""`/`: every offer that was measured, side by side."""

from datetime import UTC, datetime
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from paceline.advisor.board import Board, BoardQuery, build_board
from paceline.advisor.figures import FIGURES
from paceline.advisor.trend import trends
from paceline.cli.moments import parse_moment
from paceline.dashboard.query import address, asked
from paceline.dashboard.render import fill
from paceline.dashboard.stamp import store_stamp
from paceline.dashboard.state import State
from paceline.errors import ConfigError, PacelineError
from paceline.report.board_dict import board_json
from paceline.report.board_html import page_of
from paceline.store.scores import PROBE

ASKED = ("workload", "load", "since", "at", "benchmark", "sort", "jobs_per_day")
_EVER = "all"
_SORT = "ttft_p50_ms"


def board_routes() -> list[Route]:
    """The page of the board, and its JSON."""
    return [Route("/", _page), Route("/api/board", _json)]


async def _page(request: Request) -> Response:
    state: State = request.app.state.paceline
    given = asked(request, ASKED)
    key = ("board", *sorted(given.items()))
    status, text = await state.work.page(key, lambda: stamp(state), lambda: _made(state, given))
    return HTMLResponse(text, status)


async def _json(request: Request) -> Response:
    state: State = request.app.state.paceline
    given = asked(request, ASKED)
    key = ("board.json", *sorted(given.items()))
    text = await state.work.get(key, lambda: stamp(state), lambda: board_json(board_of(state, given)))
    return Response(text, media_type="application/json")


def stamp(state: State) -> Any:
    """Of all that a board is made from."""
    more = [state.config, state.home / "prices.toml", *([state.price_file] if state.price_file else [])]
    return store_stamp(state.home, *more)


def board_of(state: State, given: dict[str, str]) -> Board:
    """The board that an address asks for. Raises PacelineError."""
    now = datetime.now(UTC)
    since, at = given.get("since", _EVER), given.get("at")
    sort = given.get("sort", _SORT)
    jobs = given.get("jobs_per_day")
    known = state.known()
    query = BoardQuery(
        workload=given.get("workload"),
        load=given.get("load"),
        since=None if since == _EVER else parse_moment(since, "since", now),
        at=None if at is None else parse_moment(at, "at", now),
        benchmark=given.get("benchmark", PROBE),
        sort=sort,
        jobs_per_day=None if jobs is None else _number(jobs),
        known=known,
    )
    return build_board(query, state.prices(known), at=state.home, watch=state.watch)


def _number(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not 0.0 <= found < 1e12:
        raise ConfigError(f"jobs a day: {text!r} is no number of jobs", "write how many jobs a day, as 5000")
    return found


def _made(state: State, given: dict[str, str]) -> tuple[int, str]:
    frame: dict[str, Any] = {
        "title": "Board",
        "here": "/",
        "error": None,
        "board_form": None,
        "home": str(state.home),
        "runs_at": "/runs/",
        "board_at": _board_at,
    }
    try:
        board = board_of(state, given)
    except PacelineError as error:
        view = {"board_view": None, "error": error, "board_form": _form(given, None)}
        return 400, fill("dashboard/board.html", {**frame, **view})
    page = page_of(board, trends=trends([row.evidence for row in board.rows]))
    more: dict[str, Any] = {**frame, "ends": [(address("/api/board", given), "The board as JSON")]}
    if board.rows or board.choices or board.problems:
        more["board_form"] = _form(given, board)
        more["links"] = [(address("/instant", _same(board)), "How each of these feels")]
    return 200, fill("dashboard/board.html", {**page.filling(), **more})


def _board_at(one: dict[str, str]) -> str:
    """Where another board is."""
    return address("/", {name: one[name] for name in ("workload", "load")})


def _same(board: Board) -> dict[str, str]:
    """The workload and load of a board, for other pages."""
    found = {"workload": board.workload_key, "load": board.load}
    return {name: text for name, text in found.items() if text}


def _form(given: dict[str, str], board: Board | None) -> dict[str, Any]:
    """What the form shows: the choices that there are, and those that were made."""
    choices = board.choices if board is not None else ()
    workloads = dict.fromkeys((one.workload_key, one.workload) for one in choices)
    loads = dict.fromkeys(one.load for one in choices if board and one.workload_key == board.workload_key)
    return {
        "given": {**dict.fromkeys(ASKED, ""), **given},
        "workloads": list(workloads),
        "workload": board.workload_key if board is not None else given.get("workload", ""),
        "loads": list(loads),
        "load": board.load if board is not None else given.get("load", ""),
        "sorts": [(name, info.label) for name, info in FIGURES.items()],
        "sort": given.get("sort", _SORT),
        "more": any(given.get(name) for name in ("since", "at", "benchmark", "jobs_per_day")),
    }

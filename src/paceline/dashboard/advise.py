"""`/advise`: what is asked of an offer, and which one to take, on one page whose address has the answer."""

import shlex
from datetime import UTC, datetime
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from paceline.advisor.advise import Advice
from paceline.advisor.board import Board
from paceline.advisor.explain import FORMULAS, origins
from paceline.cli.advising import Asked
from paceline.cli.commands.advise import AskedFlags, EvidenceFlags
from paceline.dashboard.board import board_of, stamp
from paceline.dashboard.query import address, asked
from paceline.dashboard.render import fill
from paceline.dashboard.state import State
from paceline.errors import ConfigError, PacelineError
from paceline.report.advice_dict import advice_json
from paceline.report.advice_html import page_of

_EVIDENCE = ("workload", "load", "since", "at", "jobs_per_day")
_LIMITS = ("slo", "slo_share", "capability", "budget", "success", "worth", "error")
ASKED = (*_EVIDENCE, *_LIMITS)
_MORE = ("since", "at", "slo_share", "error")
_LISTS = ("capability", "budget")


def advise_routes() -> list[Route]:
    """The page of advice, and its JSON."""
    return [Route("/advise", _page), Route("/api/advise", _json)]


async def _page(request: Request) -> Response:
    state: State = request.app.state.paceline
    given = asked(request, ASKED)
    key = ("advise", *sorted(given.items()))
    status, text = await state.work.page(key, lambda: stamp(state), lambda: _made(state, given))
    return HTMLResponse(text, status)


async def _json(request: Request) -> Response:
    state: State = request.app.state.paceline
    given = asked(request, ASKED)

    def made() -> str:
        advice = advice_of(state, given)
        return advice_json(advice, origins(advice), FORMULAS)

    text = await state.work.get(("advise.json", *sorted(given.items())), lambda: stamp(state), made)
    return Response(text, media_type="application/json")


def advice_of(state: State, given: dict[str, str]) -> Advice:
    """The advice that an address asks for, as `paceline advise` has it. Raises PacelineError."""
    if given.get("workload", "").endswith(".toml"):
        # Whoever can make a browser load an address must not have files of this machine read.
        raise ConfigError(
            "workload: a file can only be named on the command line",
            f"write the workload's name, or ask there: {command(given)}",
        )
    evidence = EvidenceFlags(
        workload=given.get("workload"),
        load=given.get("load"),
        since=given.get("since", "all"),
        at=given.get("at"),
        prices=state.price_file,
        jobs_per_day=_number(given, "jobs_per_day"),
    )
    wanted = AskedFlags(
        slo=given.get("slo"),
        slo_share=given.get("slo_share", AskedFlags.slo_share),
        capability=_list(given, "capability"),
        budget=_list(given, "budget"),
        success=given.get("success"),
        worth=_number(given, "worth"),
        error=given.get("error", AskedFlags.error),
    )
    return Asked.of(evidence, wanted, looks=1, now=datetime.now(UTC)).answer()


def command(given: dict[str, str]) -> str:
    """The same question for a terminal."""
    words = ["paceline", "advise"]
    for name, text in given.items():
        for one in _list(given, name) or () if name in _LISTS else (text,):
            words += [f"--{name.replace('_', '-')}", one]
    return shlex.join(words)


def _list(given: dict[str, str], name: str) -> list[str] | None:
    """Several are written with commas between them."""
    found = [text.strip() for text in given.get(name, "").split(",") if text.strip()]
    return found or None


def _number(given: dict[str, str], name: str) -> float | None:
    text = given.get(name)
    if text is None:
        return None
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not 0.0 <= found < 1e15:
        raise ConfigError(f"{name.replace('_', ' ')}: {text!r} is no such number", "write it as 2000 or 25.5")
    return found


def _made(state: State, given: dict[str, str]) -> tuple[int, str]:
    frame: dict[str, Any] = {"title": "Advise", "here": "/advise", "error": None, "command": command(given)}
    try:
        advice = advice_of(state, given)
    except PacelineError as error:
        more = {"error": error, "form": _form(given, _any_board(state)), "advice_view": None}
        return 400, fill("dashboard/advise.html", {**frame, **more})
    frame["form"] = _form(given, advice.board)
    frame["ends"] = [(address("/api/advise", given), "The advice as JSON")]
    page = page_of(advice, origins(advice), FORMULAS)
    return 200, fill("dashboard/advise.html", {**page.filling(), **frame})


def _any_board(state: State) -> Board | None:
    """For the choices of the form, where what was asked cannot be answered."""
    try:
        return board_of(state, {})
    except PacelineError:
        return None


def _form(given: dict[str, str], board: Board | None) -> dict[str, Any]:
    choices = board.choices if board is not None else ()
    mine = given.get("workload") or (board.workload_key if board else None)
    return {
        "given": {**dict.fromkeys(ASKED, ""), **given},
        "workloads": list(dict.fromkeys((one.workload_key, one.workload) for one in choices)),
        "workload": board.workload_key if board is not None else given.get("workload", ""),
        "loads": list(dict.fromkeys(one.load for one in choices if mine in (one.workload_key, one.workload))),
        "load": given.get("load") or (board.load if board is not None else ""),
        "more": any(given.get(name) for name in _MORE),
    }

"""`/usage`: who used what through the gateway."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from paceline.cli.moments import parse_moment
from paceline.control.keys import KeyStore
from paceline.dashboard.query import address, asked
from paceline.dashboard.render import fill
from paceline.dashboard.stamp import traffic_stamp
from paceline.dashboard.state import State
from paceline.errors import ConfigError, PacelineError, StoreError
from paceline.report.usage import usage_json, usage_notes, usage_tables
from paceline.store.usage import BY, SORTS, Usage, UsageQuery
from paceline.store.usage import usage as ask

ASKED = ("by", "then", "sort", "since", "until", "model", "provider", "app", "key")
_FILTERS = ("until", "model", "provider", "app", "key")
_SINCE = "7d"
_EVER = "all"
_MOST_GROUPS = 500
_ORDERS = {
    "tokens": "most tokens",
    "requests": "most requests",
    "cost": "most USD",
    "ok": "highest share ok",
    "ttft": "shortest TTFT",
    "tok_s": "highest tok/s",
    "group": "by name or time",
}


def usage_routes() -> list[Route]:
    """The page of usage, and its JSON."""
    return [Route("/usage", _page), Route("/api/usage", _json)]


async def _page(request: Request) -> Response:
    state: State = request.app.state.paceline
    given = asked(request, ASKED)
    key = ("usage", *sorted(given.items()))
    status, text = await state.work.page(
        key, lambda: traffic_stamp(state.home), lambda: _made(state.home, given)
    )
    return HTMLResponse(text, status)


def _made(home: Path, given: dict[str, str]) -> tuple[int, str]:
    found: Usage | None = None
    problem: PacelineError | None = None
    try:
        found = _usage(home, given)
    except PacelineError as error:
        problem = error
    context = {
        "title": "Usage",
        "here": "/usage",
        "given": {**dict.fromkeys(ASKED, ""), "by": "model", "since": _SINCE, **given},
        "by": [(name, name) for name in BY],
        "sorts": [(name, _ORDERS[name]) for name in SORTS],
        "error": problem,
        "more": any(given.get(name) for name in _FILTERS),
        "usage": found,
        "is_empty": found is not None and not found.total.requests and not found.total.attempts,
        "tables": usage_tables(found) if found is not None else [],
        "notes": usage_notes(found) if found is not None else [],
        "ends": [(address("/api/usage", given), "These figures as JSON")] if found is not None else [],
    }
    return 200 if problem is None else 400, fill("dashboard/usage.html", context)


def _usage(home: Path, given: dict[str, str]) -> Usage:
    """What the address asks for. Raises PacelineError."""
    now = datetime.now(UTC)
    by = tuple(dict.fromkeys(name for name in (given.get("by", "model"), given.get("then")) if name))
    for name in by:
        if name not in BY:
            raise ConfigError(f"by: there is no group {name!r}", f"groups are: {', '.join(BY)}")
    sort = given.get("sort")
    if sort is not None and sort not in SORTS:
        raise ConfigError(f"sort: {sort!r} is none of the orders", f"orders are: {', '.join(SORTS)}")
    since, until = given.get("since", _SINCE), given.get("until")
    try:
        names = {one.id: one.name for one in KeyStore(home).all()}
    except StoreError:
        # Of a home that only can be read: keys go by their ids.
        names = {}
    query = UsageQuery(
        since=None if since == _EVER else parse_moment(since, "since", now),
        until=None if until is None else parse_moment(until, "until", now, end_of_day=True),
        by=by,
        model=given.get("model"),
        key=next((key_id for key_id, name in names.items() if name == given.get("key")), given.get("key")),
        app=given.get("app"),
        provider=given.get("provider"),
        sort=sort,
        limit=_MOST_GROUPS,
    )
    return replace(ask(query, at=home), key_names=names)


async def _json(request: Request) -> Response:
    state: State = request.app.state.paceline
    given = asked(request, ASKED)
    text = await state.work.get(
        ("usage.json", *sorted(given.items())),
        lambda: traffic_stamp(state.home),
        lambda: usage_json(_usage(state.home, given)),
    )
    return Response(text, media_type="application/json")

"""`/runs` and `/runs/ID`: what was measured, and the report of each."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from paceline.dashboard.query import address, asked, paged
from paceline.dashboard.render import fill, fill_report
from paceline.dashboard.stamp import store_stamp
from paceline.dashboard.state import State
from paceline.dashboard.stored import report_of
from paceline.report.html import page_of
from paceline.store.digests import kept_heads
from paceline.store.runs import RunEntry, find_id, list_runs

_ASKED = ("q", "page")


@dataclass(frozen=True)
class _Line:
    """A run as the list has it."""

    id: str
    name: str
    started: str
    model: str
    endpoint: str
    state: str
    verdict: str
    requests: str


def run_routes() -> list[Route]:
    """The pages of runs, and their JSON."""
    return [
        Route("/runs", _list),
        Route("/runs/{ref}", _one),
        Route("/api/runs", _list_json),
        Route("/api/runs/{ref}", _one_json),
    ]


async def _list(request: Request) -> Response:
    state: State = request.app.state.paceline
    given = asked(request, _ASKED)
    key = ("runs", *sorted(given.items()))
    text = await state.work.page(key, lambda: store_stamp(state.home), lambda: _list_page(state.home, given))
    return HTMLResponse(text)


def _list_page(home: Path, given: dict[str, str]) -> str:
    everything = list_runs(at=home)
    wanted = given.get("q", "").lower()
    found = [entry for entry in everything if wanted in _searched(entry)] if wanted else everything
    shown, number, pages = paged(found, given.get("page"))
    heads = kept_heads([entry.id for entry in shown], home)
    return fill(
        "dashboard/runs.html",
        {
            "title": "Runs",
            "here": "/runs",
            "lines": [_line(entry, heads.get(entry.id, {})) for entry in shown],
            "q": given.get("q", ""),
            "total": len(everything),
            "found": len(found),
            "page": number,
            "pages": pages,
            "address": lambda page: address("/runs", {**given, "page": page}),
            "home": str(home),
        },
    )


def _searched(entry: RunEntry) -> str:
    return " ".join((entry.id, entry.name or "", entry.model, entry.endpoint, entry.state)).lower()


def _line(entry: RunEntry, head: dict[str, Any]) -> _Line:
    attempted, ok = head.get("attempted"), head.get("ok")
    counted = isinstance(attempted, int) and isinstance(ok, int)
    return _Line(
        id=entry.id,
        name=entry.name or "",
        started=f"{entry.started_at:%Y-%m-%d %H:%M}" if entry.started_at else "",
        model=entry.model,
        endpoint=entry.endpoint,
        state=entry.state,
        # What is known of one that goes on is of a moment ago, which may be before its first answer.
        verdict="" if entry.state == "running" else str(head.get("verdict") or ""),
        requests=f"{ok:,} of {attempted:,}" if counted else "",
    )


async def _list_json(request: Request) -> Response:
    state: State = request.app.state.paceline
    runs = await state.work.run(lambda: [entry.to_dict() for entry in list_runs(at=state.home)])
    return JSONResponse({"schema": "paceline.runs/1", "runs": runs})


async def _one(request: Request) -> Response:
    state: State = request.app.state.paceline
    ref = request.path_params["ref"]
    run_id = await state.work.run(lambda: find_id(ref, state.home))
    if run_id != ref:
        return RedirectResponse(f"/runs/{run_id}", 307)
    text = await state.work.page(
        ("run", run_id), lambda: store_stamp(state.home), lambda: _one_page(run_id, state.home)
    )
    return HTMLResponse(text)


def _one_page(run_id: str, home: Path) -> str:
    links = [
        ("/runs", "All runs"),
        (address("/compare", {"a": run_id}), "Compare with another run"),
        (address("/instant", {"run": run_id}), "How it feels"),
    ]
    ends = [(f"/api/runs/{run_id}", "The report as JSON")]
    return fill_report(page_of(report_of(run_id, home)), here="/runs", links=links, ends=ends)


async def _one_json(request: Request) -> Response:
    state: State = request.app.state.paceline
    ref = request.path_params["ref"]
    text = await state.work.get(
        ("run.json", ref), lambda: store_stamp(state.home), lambda: report_of(ref, state.home).to_json()
    )
    return Response(text, media_type="application/json")

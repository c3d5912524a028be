"""`/studies` and `/studies/ID`: several runs that answer one question."""

from pathlib import Path

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from paceline.dashboard.query import address, asked, paged
from paceline.dashboard.render import fill, fill_report
from paceline.dashboard.stamp import store_stamp
from paceline.dashboard.state import State
from paceline.report.study import build_study_report
from paceline.report.study_html import page_of
from paceline.store.studies import find_study, list_studies, open_study


def study_routes() -> list[Route]:
    """The pages of studies, and their JSON."""
    return [
        Route("/studies", _list),
        Route("/studies/{ref}", _one),
        Route("/api/studies", _list_json),
        Route("/api/studies/{ref}", _one_json),
    ]


async def _list(request: Request) -> Response:
    state: State = request.app.state.paceline
    given = asked(request, ("page",))
    key = ("studies", *sorted(given.items()))
    text = await state.work.page(key, lambda: store_stamp(state.home), lambda: _list_page(state.home, given))
    return HTMLResponse(text)


def _list_page(home: Path, given: dict[str, str]) -> str:
    found = list_studies(at=home)
    shown, number, pages = paged(found, given.get("page"))
    return fill(
        "dashboard/studies.html",
        {
            "title": "Studies",
            "here": "/studies",
            "lines": shown,
            "total": len(found),
            "page": number,
            "pages": pages,
            "address": lambda page: address("/studies", {"page": page}),
        },
    )


async def _one(request: Request) -> Response:
    state: State = request.app.state.paceline
    ref = request.path_params["ref"]
    study_id = await state.work.run(lambda: find_study(ref, at=state.home))
    if study_id != ref:
        return RedirectResponse(f"/studies/{study_id}", 307)
    text = await state.work.page(
        ("study", study_id), lambda: store_stamp(state.home), lambda: _one_page(study_id, state.home)
    )
    return HTMLResponse(text)


def _one_page(study_id: str, home: Path) -> str:
    study = open_study(study_id, at=home)
    links = [("/studies", "All studies")]
    ends = [(f"/api/studies/{study_id}", "The study as JSON")]
    runs = [(f"/runs/{step.run_id}", _at(step.at)) for step in study.manifest.steps if step.run_id]
    return fill_report(
        page_of(build_study_report(study)), here="/studies", links=links, ends=ends, parts=runs
    )


def _at(at: dict[str, object]) -> str:
    return ", ".join(f"{name} {value}" for name, value in at.items()) or "its run"


async def _list_json(request: Request) -> Response:
    state: State = request.app.state.paceline
    found = await state.work.run(lambda: [entry.to_dict() for entry in list_studies(at=state.home)])
    return JSONResponse({"schema": "paceline.studies/1", "studies": found})


async def _one_json(request: Request) -> Response:
    state: State = request.app.state.paceline
    ref = request.path_params["ref"]
    text = await state.work.get(
        ("study.json", ref),
        lambda: store_stamp(state.home),
        lambda: build_study_report(open_study(ref, at=state.home)).to_json(),
    )
    return Response(text, media_type="application/json")

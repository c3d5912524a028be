"""`/compare?a=&b=`: is B faster than A?"""

from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from paceline.dashboard.query import address, asked
from paceline.dashboard.render import fill, fill_report
from paceline.dashboard.stamp import store_stamp
from paceline.dashboard.state import State
from paceline.dashboard.stored import report_of
from paceline.errors import PacelineError, UsageError
from paceline.report.comparison import ComparisonReport, compare_reports
from paceline.report.comparison_html import page_of
from paceline.store.runs import list_runs
from paceline.units import parse_percentage

ASKED = ("a", "b", "smallest_difference")
_SMALLEST = "5%"
_MOST_OFFERED = 200


def compare_routes() -> list[Route]:
    """The page of comparisons, and its JSON."""
    return [Route("/compare", _page), Route("/api/compare", _json)]


async def _page(request: Request) -> Response:
    state: State = request.app.state.paceline
    given = asked(request, ASKED)
    key = ("compare", *sorted(given.items()))
    status, text = await state.work.page(
        key, lambda: store_stamp(state.home), lambda: _made(state.home, given)
    )
    return HTMLResponse(text, status)


def _made(home: Path, given: dict[str, str]) -> tuple[int, str]:
    form: dict[str, Any] = {
        "a": given.get("a", ""),
        "b": given.get("b", ""),
        "smallest_difference": given.get("smallest_difference", ""),
        "runs": [
            (entry.id, f"{entry.name or entry.model}, {entry.started_at:%Y-%m-%d %H:%M}")
            for entry in list_runs(at=home)[:_MOST_OFFERED]
            if entry.started_at is not None
        ],
    }
    problem: PacelineError | None = None
    if "a" in given and "b" in given:
        try:
            page = page_of(comparison_of(home, given))
            ends = [(address("/api/compare", given), "The comparison as JSON")]
            return 200, fill_report(page, here="/compare", compare_form=form, ends=ends)
        except PacelineError as error:
            problem = error
    context = {"title": "Compare", "here": "/compare", "form": form, "error": problem}
    return 200 if problem is None else 400, fill("dashboard/compare.html", context)


def comparison_of(home: Path, given: dict[str, str]) -> ComparisonReport:
    """What the address asks for. Raises UsageError."""
    missing = [name for name in ("a", "b") if name not in given]
    if missing:
        raise UsageError(f"the address names no run {missing[0]}", "add ?a=RUN&b=RUN")
    smallest = parse_percentage(given.get("smallest_difference", _SMALLEST), "smallest difference")
    return compare_reports(
        report_of(given["a"], home), report_of(given["b"], home), smallest_difference=smallest
    )


async def _json(request: Request) -> Response:
    state: State = request.app.state.paceline
    given = asked(request, ASKED)
    text = await state.work.get(
        ("compare.json", *sorted(given.items())),
        lambda: store_stamp(state.home),
        lambda: comparison_of(state.home, given).to_json(),
    )
    return Response(text, media_type="application/json")

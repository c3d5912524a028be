"""`/instant`: does it feel instant? To read, to listen to, to type along with, to wait for."""

from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from paceline.advisor.digests import all_digests, keep
from paceline.advisor.evidence import OfferEvidence, pooled
from paceline.advisor.instant import MODES, InstantVerdict, instant
from paceline.catalogue.thresholds import thresholds
from paceline.dashboard.board import stamp
from paceline.dashboard.query import address, asked
from paceline.dashboard.render import fill
from paceline.dashboard.state import State
from paceline.dashboard.stored import report_of
from paceline.errors import ConfigError, PacelineError
from paceline.report.instant_text import instant_json, seconds, verdict_words
from paceline.report.words import printable

ASKED = ("run", "workload", "load")
_TITLES = {
    "read": "To read along",
    "listen": "To listen to",
    "type": "To type along with",
    "wait": "To wait for the whole",
}
_KINDS = {"instant": "good", "fluent": "good", "noticeable": "warn", "slow": "bad", "too slow": "bad"}
Felt = list[tuple[OfferEvidence, list[InstantVerdict]]]


def feeling_routes() -> list[Route]:
    """The page of how offers feel, and its JSON."""
    return [Route("/instant", _page), Route("/api/instant", _json)]


async def _page(request: Request) -> Response:
    state: State = request.app.state.paceline
    given = asked(request, ASKED)
    key = ("instant", *sorted(given.items()))
    status, text = await state.work.page(key, lambda: stamp(state), lambda: _made(state, given))
    return HTMLResponse(text, status)


async def _json(request: Request) -> Response:
    state: State = request.app.state.paceline
    given = asked(request, ASKED)
    key = ("instant.json", *sorted(given.items()))
    text = await state.work.get(key, lambda: stamp(state), lambda: instant_json(felt(state, given)[0]))
    return Response(text, media_type="application/json")


def felt(state: State, given: dict[str, str]) -> tuple[Felt, list[str]]:
    """Offers with their verdicts, and runs that are not judged, in words. Raises PacelineError."""
    known = state.known()
    run = given.get("run")
    digests = (
        (keep(report_of(run, state.home), at=state.home),)
        if run
        else all_digests(at=state.home, watch=state.watch).digests
    )
    workload, load = given.get("workload"), given.get("load")
    mine = [
        one
        for one in pooled(digests, known)
        if workload in (None, one.workload, one.workload_key) and load in (None, one.load)
    ]
    mine.sort(key=lambda one: (one.key, one.workload, one.load))
    unjudged = [
        f"{one.run_id} is invalid, and is not judged: {one.reasons[0] if one.reasons else 'see its page'}"
        for one in digests
        if one.verdict == "invalid" and (run or not (workload or load))
    ]
    if not mine and not unjudged and (run or workload or load):
        raise ConfigError("nothing was measured with that workload and load", "choose another")
    return [(one, instant(one)) for one in mine], unjudged


def _made(state: State, given: dict[str, str]) -> tuple[int, str]:
    found: Felt = []
    unjudged: list[str] = []
    problem: PacelineError | None = None
    try:
        found, unjudged = felt(state, given)
    except PacelineError as error:
        problem = error
    context = {
        "title": "Does it feel instant?",
        "here": "/",
        "error": problem,
        "is_empty": problem is None and not found and not unjudged,
        "offers": [_offer(evidence, verdicts) for evidence, verdicts in found],
        "unjudged": unjudged,
        "limits": _limits() if found else [],
        "links": [("/", "The board"), ("/feel", "Feel it: play texts at these speeds")],
        "ends": [(address("/api/instant", given), "These verdicts as JSON")] if found else [],
    }
    return 200 if problem is None else 400, fill("dashboard/instant.html", context)


def _offer(evidence: OfferEvidence, verdicts: list[InstantVerdict]) -> dict[str, Any]:
    n = len(evidence.columns["outcome"])
    return {
        "name": printable(str(evidence.key)),
        "how": printable(f"{evidence.workload}, {evidence.load}: {n:,} requests"),
        "runs": [one.run_id for one in evidence.digests][-3:],
        "verdicts": [
            {
                "mode": _TITLES[one.mode.name],
                "about": one.mode.about,
                "grade": one.grade,
                "kind": _KINDS.get(one.grade, ""),
                "text": verdict_words(one),
            }
            for one in verdicts
        ],
    }


def _limits() -> list[tuple[str, str]]:
    """Every limit of the modes, and where it is from."""
    names = dict.fromkeys(
        name
        for mode in MODES.values()
        for name in (*(limit for _, limit in mode.limits), mode.pace)
        if name is not None
    )
    return [
        (
            seconds(one.value) if one.unit == "ms" else f"{one.value:g} {one.unit}",
            f"{one.text} ({one.source})",
        )
        for one in (thresholds()[name] for name in names)
    ]

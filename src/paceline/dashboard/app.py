"""The dashboard as an application: its pages, behind their guard."""

from collections.abc import Sequence

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from paceline.dashboard.advise import advise_routes
from paceline.dashboard.assets import serve_asset
from paceline.dashboard.board import board_routes
from paceline.dashboard.compare import compare_routes
from paceline.dashboard.errors import HANDLERS, unexpected
from paceline.dashboard.feel import feel_routes
from paceline.dashboard.feeling import feeling_routes
from paceline.dashboard.guard import ENTER, Guard, enter
from paceline.dashboard.live import live_routes
from paceline.dashboard.race_routes import race_routes
from paceline.dashboard.runs import run_routes
from paceline.dashboard.state import State
from paceline.dashboard.studies import study_routes
from paceline.dashboard.usage import usage_routes


def create_app(state: State, *, race_urls: Sequence[str] = (), gateway_key_env: str | None = None) -> Guard:
    """All pages over one store (docs/reference/dashboard.md).

    race_urls, gateway_key_env: as of `race_routes`, which raises UsageError for a wrong one.
    """
    app = Starlette(
        routes=[
            *board_routes(),
            *advise_routes(),
            *feeling_routes(),
            *run_routes(),
            *compare_routes(),
            *study_routes(),
            *usage_routes(),
            *live_routes(state),
            *race_routes(state, urls=race_urls, gateway_key_env=gateway_key_env),
            *feel_routes(state),
            Route("/static/{build}/{name}", serve_asset),
            Route(ENTER, enter, methods=["POST"]),
            Route("/healthz", _healthz),
        ],
        exception_handlers={**HANDLERS, Exception: unexpected},
    )
    app.state.paceline = state
    return Guard(app, state)


async def _healthz(_: Request) -> Response:
    return PlainTextResponse("ok\n")

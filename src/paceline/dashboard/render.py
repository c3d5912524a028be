"""From a template and what fills it to an answer."""

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from markupsafe import Markup
from starlette.responses import HTMLResponse, Response

from paceline import __version__
from paceline.dashboard.assets import CHARTS, static_url
from paceline.report.page import Page

if TYPE_CHECKING:
    from jinja2 import Environment

NAVIGATION = (
    ("/", "Board"),
    ("/advise", "Advise"),
    ("/race", "Race"),
    ("/runs", "Runs"),
    ("/compare", "Compare"),
    ("/studies", "Studies"),
    ("/usage", "Usage"),
    ("/live", "Live"),
)
"""Address and name of each page, in the order that keys 1 to 9 open them."""

_NONE = Markup("{}")
_OWN, _FRAME = "dashboard/", "page.html"


def fill(template: str, context: dict[str, Any]) -> str:
    """The text of a page. `here`: the address in NAVIGATION that it is under."""
    shared = {
        "navigation": NAVIGATION,
        "version": __version__,
        "charts": _NONE,
        "document": _NONE,
        "extras": (),
    }
    text: str = environment().get_template(template).render(**{"here": "", **shared, **context})
    return text


def render(template: str, context: dict[str, Any], status: int = 200) -> Response:
    """A page as an answer."""
    return HTMLResponse(fill(template, context), status)


def fill_report(page: Page, *, here: str, **more: Any) -> str:
    """A page of `paceline.report` inside of the dashboard. `more`: what its frame needs."""
    return fill(page.template, {**page.filling(), "here": here, **more})


@cache
def environment() -> "Environment":
    """Templates of reports, with the dashboard's own `page.html` about them; `dashboard/NAME` is its own."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    made = Environment(
        loader=FunctionLoader(_template),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals.update(static=static_url, chart_library=CHARTS)
    return made


def _template(name: str) -> str:
    own = files("paceline.dashboard") / "templates" / name.removeprefix(_OWN)
    of_reports = files("paceline.report") / "assets" / name
    if name == _FRAME or not of_reports.is_file():
        return own.read_text(encoding="utf-8")
    return of_reports.read_text(encoding="utf-8")

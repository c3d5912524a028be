"""A page with charts: as one HTML file that needs no network, or inside of the dashboard.

Templates of `assets/` extend `page.html`, which the dashboard has its own one of.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from markupsafe import Markup, escape

_BACKTICKS = re.compile(r"`([^`]+)`")


@dataclass(frozen=True)
class Page:
    """What fills a template of `assets/`.

    `charts`: Vega-Lite by the name that the template draws it under. `document`: the figures as JSON.
    `extras`: assets, styles and ES modules, that it needs beyond those of every page.
    """

    template: str
    context: dict[str, Any]
    charts: dict[str, Any]
    document: str
    extras: tuple[str, ...] = ()

    def as_file(self) -> str:
        """One HTML file: template, style, scripts, charts and figures, all inside it."""
        return _as_file(self)

    def filling(self) -> dict[str, Any]:
        """All that its template needs but what `page.html` itself has."""
        return {
            **self.context,
            "charts": json_in_script(json.dumps(self.charts, allow_nan=False, separators=(",", ":"))),
            "document": json_in_script(self.document),
            "extras": self.extras,
        }


def render_page(template: str, context: dict[str, Any], charts: dict[str, Any], document: str) -> str:
    """One HTML file that needs no network: a `Page` as a file."""
    return _as_file(Page(template, context, charts, document))


def _as_file(made: Page) -> str:
    styles = ("report.css", *(name for name in made.extras if name.endswith(".css")))
    modules = [name for name in made.extras if name.endswith(".js")]
    page: str = (
        _environment()
        .get_template(made.template)
        .render(
            **made.filling(),
            css=Markup("\n".join(asset(name) for name in styles)),
            modules=[Markup(asset(name)) for name in modules],
            dark=Markup(asset("dark.css")),
            script=Markup(asset("report.js")),
            bundle=Markup(chart_library().replace("</script", "<\\/script")),
        )
    )
    return page


def json_in_script(text: str) -> Markup:
    """JSON that is safe inside a script element, whatever strings it holds."""
    return Markup(text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"))


def coded(texts: Sequence[str]) -> list[Markup]:
    """Texts whose `commands` stand between backticks, as a page shows them."""
    return [Markup(_BACKTICKS.sub(r"<code>\1</code>", str(escape(text)))) for text in texts]


def asset(name: str) -> str:
    """A template, style or script of reports."""
    return (files("paceline.report") / "assets" / name).read_text(encoding="utf-8")


@cache
def _environment() -> Any:
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    return Environment(
        loader=FunctionLoader(asset),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@cache
def chart_library() -> str:
    """Vega, Vega-Lite and vega-embed as one script, of the version that Altair writes for."""
    import altair
    import vl_convert

    version = ".".join(altair.SCHEMA_VERSION.removeprefix("v").split(".")[:2])
    # The stubs of the library demand a snippet; it needs none.
    make: Any = vl_convert.javascript_bundle
    bundle: str = make(vl_version=version)
    return bundle

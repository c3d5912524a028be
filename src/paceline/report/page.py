"""One HTML file that needs no network: template, style, scripts, charts and figures, all inside it."""

import json
from functools import cache
from importlib.resources import files
from typing import Any

from markupsafe import Markup


def render_page(template: str, context: dict[str, Any], charts: dict[str, Any], document: str) -> str:
    """Fill a template of `assets/`.

    `charts`: Vega-Lite by the name that the template draws it under. `document`: the figures as JSON.
    """
    page: str = (
        _environment()
        .get_template(template)
        .render(
            **context,
            css=Markup(_asset("report.css")),
            script=Markup(_asset("report.js")),
            bundle=Markup(_chart_library()),
            charts=_json(json.dumps(charts, allow_nan=False, separators=(",", ":"))),
            document=_json(document),
        )
    )
    return page


def _json(text: str) -> Markup:
    """JSON that is safe inside a script element, whatever strings it holds."""
    return Markup(text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"))


def _asset(name: str) -> str:
    return (files("paceline.report") / "assets" / name).read_text(encoding="utf-8")


@cache
def _environment() -> Any:
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    return Environment(
        loader=FunctionLoader(_asset),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@cache
def _chart_library() -> str:
    """Vega, Vega-Lite and vega-embed as one script, of the version that Altair writes for."""
    import altair
    import vl_convert

    version = ".".join(altair.SCHEMA_VERSION.removeprefix("v").split(".")[:2])
    # The stubs of the library demand a snippet; it needs none.
    make: Any = vl_convert.javascript_bundle
    bundle: str = make(vl_version=version)
    return bundle.replace("</script", "<\\/script")

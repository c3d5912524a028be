"""What pages load: scripts, styles and the chart library, under a path that changes when any of them does."""

import gzip
import hashlib
from collections.abc import Callable
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from paceline.dashboard.state import State
from paceline.report.page import chart_library

CHARTS = "vega.js"
_KINDS = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml"}
_CHART_PACKAGES = ("altair", "vl-convert-python")
_FOR_EVER = "public, max-age=31536000, immutable"


@cache
def own_assets() -> dict[str, bytes]:
    """By name: what lies in `static/`, and what reports have."""
    folders = (files("paceline.report") / "assets", files("paceline.dashboard") / "static")
    return {
        path.name: path.read_bytes()
        for folder in folders
        for path in folder.iterdir()
        if path.name.rsplit(".", 1)[-1] in _KINDS
    }


@cache
def build() -> str:
    """A name for all assets together, of their contents and of the chart library's version."""
    digest = hashlib.sha256()
    for name, data in sorted(own_assets().items()):
        digest.update(f"{name} {len(data)}\0".encode() + data)
    for package in _CHART_PACKAGES:
        try:
            digest.update(version(package).encode())
        except PackageNotFoundError:
            digest.update(b"?")
    return digest.hexdigest()[:12]


def static_url(name: str) -> str:
    """Where a page finds an asset."""
    return f"/static/{build()}/{name}"


async def serve_asset(request: Request) -> Response:
    """`/static/BUILD/NAME`; a browser that has it asks never again."""
    name = request.path_params["name"]
    if request.path_params["build"] != build() or (name != CHARTS and name not in own_assets()):
        return PlainTextResponse("not found: load the page anew", 404, headers={"cache-control": "no-store"})
    state: State = request.app.state.paceline
    packed = "gzip" in request.headers.get("accept-encoding", "")
    # The chart library takes seconds to put together, once.
    data = await state.work.get((name, packed), build, _made(name, packed))
    headers = {"cache-control": _FOR_EVER, "vary": "accept-encoding"}
    if packed:
        headers["content-encoding"] = "gzip"
    return Response(data, media_type=_KINDS[name.rsplit(".", 1)[-1]], headers=headers)


def _made(name: str, packed: bool) -> Callable[[], bytes]:
    def make() -> bytes:
        data = chart_library().encode() if name == CHARTS else own_assets()[name]
        return gzip.compress(data, mtime=0) if packed else data

    return make

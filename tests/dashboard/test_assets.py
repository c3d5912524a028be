import gzip
import re
from importlib.resources import files

from starlette.testclient import TestClient

from paceline.dashboard.assets import build, own_assets, static_url


def test_what_a_page_names_is_served_for_ever(empty: TestClient) -> None:
    page = empty.get("/").text
    named = set(re.findall(r'(?:src|href)="(/static/[^"]+)"', page))
    assert static_url("app.js") in named
    assert static_url("dashboard.css") in named
    for address in sorted(named):
        answer = empty.get(address)
        assert answer.status_code == 200, address
        assert "immutable" in answer.headers["cache-control"]
        assert answer.headers["x-content-type-options"] == "nosniff"


def test_the_chart_library_comes_packed_or_plain(empty: TestClient) -> None:
    plain = empty.get(static_url("vega.js"), headers={"accept-encoding": "identity"})
    packed = empty.get(static_url("vega.js"), headers={"accept-encoding": "gzip"})
    assert "content-encoding" not in plain.headers
    assert packed.headers["content-encoding"] == "gzip"
    assert packed.content == plain.content
    assert len(gzip.compress(plain.content)) < len(plain.content) / 2
    assert "vegaEmbed" in plain.text


def test_nothing_else_is_served(empty: TestClient) -> None:
    for path in (
        *("/static/old/app.js", f"/static/{build()}/page.html", f"/static/{build()}/app.py"),
        *(f"/static/{build()}/..%2Fapp.py", f"/static/{build()}/%2Fetc%2Fpasswd", "/static/app.js"),
        f"/static/{build()}/../../../../etc/passwd",
    ):
        assert empty.get(path).status_code == 404, path


def test_modules_import_what_lies_beside_them() -> None:
    for name, data in own_assets().items():
        if name.endswith(".js"):
            for imported in re.findall(r'^import .* from "([^"]+)"', data.decode(), re.MULTILINE):
                assert imported.startswith("./"), name
                assert imported[2:] in own_assets(), f"{name} imports {imported}"


def test_nothing_in_scripts_needs_code_from_text_or_another_server() -> None:
    for path in (files("paceline.dashboard") / "static").iterdir():
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"\beval\(|new Function|document\.write", text), path.name
        assert not re.search(r"https?://(?!www\.w3\.org)", text), path.name


def test_templates_hold_no_style_and_no_handlers() -> None:
    for path in (files("paceline.dashboard") / "templates").iterdir():
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"\s(style|on[a-z]+)=", text), path.name
        assert "<style" not in text, path.name
        for script in re.findall(r"<script[^>]*>", text):
            assert "src=" in script or 'type="application/json"' in script, path.name

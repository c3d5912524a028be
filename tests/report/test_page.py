import json
import re
from importlib.resources import files
from typing import Any

from paceline.report.page import Page, asset, chart_library, json_in_script, render_page

_EMPTY: dict[str, Any] = {
    **dict.fromkeys(("title", "version", "heading", "endpoint", "verdict_kind", "file_name"), "x"),
    **dict.fromkeys(("verdict", "verdict_lines", "knees", "charts_shown", "head", "tables", "notes"), ()),
    "facts_rows": (),
    "trust": {"verdict": "trusted", "title": "x", "reasons": ()},
}


def test_json_cannot_leave_its_script() -> None:
    text = json.dumps({"text": "</script><script>alert(1)</script> <!-- & \u2028"})
    safe = json_in_script(text)
    assert "<" not in safe
    assert ">" not in safe
    assert json.loads(safe) == json.loads(text)


def test_the_chart_library_is_one_script() -> None:
    library = chart_library()
    assert "window.vegaEmbed=" in library
    assert not re.search(r"^\s*import\s.*from\s", library, re.MULTILINE)


def test_the_library_cannot_leave_its_script() -> None:
    page = render_page("study.html", _EMPTY, {}, "{}")
    scripts = re.findall(r"<script[^>]*>", page)
    assert page.lower().count("</script") == len(scripts)


def test_no_style_stands_at_an_element() -> None:
    """A content security policy may then forbid it, as the dashboard's does."""
    folder = files("paceline.report") / "assets"
    for path in folder.iterdir():
        if path.name.endswith(".html"):
            assert not re.search(r"\s(style|on\w+)=", path.read_text(encoding="utf-8")), path.name


def test_the_page_needs_no_code_from_text() -> None:
    assert "unsafe-eval" not in render_page("study.html", _EMPTY, {}, "{}")


def test_a_page_brings_its_own_styles_and_modules() -> None:
    plain = Page("study.html", _EMPTY, {}, "{}").as_file()
    made = Page("study.html", _EMPTY, {}, "{}", ("board.css", "board.js"))
    assert made.filling()["extras"] == ("board.css", "board.js")
    assert asset("board.css") in made.as_file()
    assert f'<script type="module">{asset("board.js")}</script>' in made.as_file()
    assert asset("board.css") not in plain
    assert '<script type="module">' not in plain

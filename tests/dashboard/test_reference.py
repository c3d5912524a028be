"""docs/reference/dashboard.md names every address and its query, and none that there is not."""

import re
from pathlib import Path

from paceline.dashboard import advise, board, compare, feeling, usage
from paceline.dashboard.app import create_app
from paceline.dashboard.live_feed import MOST_WATCHING
from paceline.dashboard.render import NAVIGATION
from tests.dashboard.served import state_of

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "reference" / "dashboard.md").read_text()
ROWS = dict(re.findall(r"^\| `(/[^`]*)` \|([^|]*)\|", PAGE, re.MULTILINE))


def test_addresses(tmp_path: Path) -> None:
    routes = {route.path for route in create_app(state_of(tmp_path)).app.routes}  # type: ignore[attr-defined]
    assert set(ROWS) == routes


def test_queries() -> None:
    asked = {
        "/": board.ASKED,
        "/advise": advise.ASKED,
        "/instant": feeling.ASKED,
        "/compare": compare.ASKED,
        "/usage": usage.ASKED,
    }
    for address, names in asked.items():
        assert re.findall(r"`(\w+)`", ROWS[address]) == list(names), address


def test_the_guide_has_every_page_of_the_navigation() -> None:
    guide = (DOCS / "guides" / "dashboard.md").read_text()
    pages = guide.split("## Pages")[1].split("\n## ")[0]
    assert re.findall(r"^\| (\w+) \|", pages, re.MULTILINE)[1:] == [name for _, name in NAVIGATION]


def test_bounds() -> None:
    assert f"{MOST_WATCHING} may watch" in PAGE

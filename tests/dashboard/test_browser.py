"""Pages in a browser: nothing breaks the policy, keys work, and nothing is wider than the window."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.dashboard.served import TOKEN, Served, serving_dashboard
from tests.support.browser import Page

PAGES = ("", "advise", "runs", "compare?a=slow&b=quick", "runs/slow", "studies", "usage", "live", "instant")
DRAWN = "[...document.querySelectorAll('[data-chart]')].every(one => one.querySelector('svg'))"
DARK = "getComputedStyle(document.documentElement).colorScheme === 'dark'"


@pytest.fixture
def served(full_home: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    monkeypatch.setenv("PACELINE_HOME", str(full_home))
    with serving_dashboard(full_home) as found:
        yield found


def problems(page: Page) -> list[str]:
    """What has gone wrong, without what charts say of layers that hold nothing."""
    return [one for one in page.problems() if "Infinite extent" not in one]


def test_pages_break_no_rule_and_fit(page: Page, served: Served) -> None:
    for path in PAGES:
        page.viewport(1440)
        page.goto(served.url + path)
        page.wait_for(DRAWN)
        assert page.sideways_px() == 0, path
        # A phone that is turned: charts are drawn again.
        page.viewport(390)
        page.wait_for(f"document.documentElement.scrollWidth <= 390 && {DRAWN}")
        assert problems(page) == [], path


def test_the_theme_is_the_systems_or_the_chosen_one_which_is_kept(page: Page, served: Served) -> None:
    page.media(scheme="dark")
    page.goto(served.url + "runs/slow")
    page.wait_for(DRAWN)
    assert page.evaluate(DARK)
    assert page.text("#theme") == "Theme: auto"
    page.click("#theme")
    assert page.text("#theme") == "Theme: light"
    assert not page.evaluate(DARK)
    page.goto(served.url + "runs")
    assert not page.evaluate(DARK)
    page.media(scheme="light")
    page.press("t")
    assert page.text("#theme") == "Theme: dark"
    assert page.evaluate(DARK)
    assert problems(page) == []


def test_keys(page: Page, served: Served) -> None:
    page.goto(served.url)
    page.press("Tab")
    assert page.focused().startswith("a Skip")
    page.press("Enter")
    assert page.focused() == "main"
    page.press("4")
    page.wait_for("location.pathname === '/runs' && document.readyState === 'complete'")
    page.press("/")
    assert page.evaluate("document.activeElement.name") == "q"
    page.write("quick")
    page.press("t")
    assert page.text("#theme") == "Theme: auto", "who types is not disturbed"
    page.press("Enter")
    page.wait_for("location.search.startsWith('?q=quick') && document.readyState === 'complete'")
    page.press("?")
    page.wait_for("document.getElementById('help').open")
    page.click("#keys-on")
    page.press("Escape")
    page.wait_for("!document.getElementById('help').open")
    page.press("t")
    assert page.text("#theme") == "Theme: auto", "keys were turned off"
    assert problems(page) == []


def test_a_choice_changes_the_board_and_its_address(page: Page, served: Served) -> None:
    page.goto(served.url)
    page.evaluate(
        "(one => { one.value = 'output_tok_s'; one.dispatchEvent(new Event('change', {bubbles: true})); })"
        "(document.querySelector('main form [name=sort]'))"
    )
    page.wait_for("location.search.includes('sort=output_tok_s')")
    page.wait_for("document.readyState === 'complete'")
    assert "since" not in page.evaluate("location.search")
    assert "sort=output_tok_s" in page.evaluate("location.search")


def test_an_address_that_is_none_of_ours_takes_no_token_away(page: Page, served: Served) -> None:
    page.goto(served.entry("runs"))
    page.goto("about:blank")
    page.goto(f"{served.url}runs#token=%E0%A4%A")
    assert page.evaluate("localStorage.getItem('paceline-token')") == TOKEN
    assert page.evaluate("location.hash") == ""
    # What comes after it in the page's script still works.
    assert page.text("#theme").startswith("Theme:")
    assert problems(page) == []


def test_the_token_of_the_address_is_kept_and_goes_out_of_it(page: Page, served: Served) -> None:
    page.goto(served.entry("runs"))
    page.wait_for("location.hash === ''")
    assert page.evaluate("localStorage.getItem('paceline-token')") == TOKEN
    assert TOKEN not in page.evaluate("location.href")
    assert page.evaluate("document.cookie") == ""


def test_live_goes_on_by_itself(page: Page, served: Served) -> None:
    page.goto(served.url + "live")
    page.evaluate("document.getElementById('live').firstElementChild.id = 'first'")
    page.wait_for("!document.getElementById('first')")
    assert "No gateway works in this home" in page.text("#live")
    assert problems(page) == []

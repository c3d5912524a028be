"""Races in a real browser: by keyboard, at phone width, and what a screen reader gets."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from paceline.measure.sim import SimProcess
from tests.dashboard.served import Served, serving_dashboard
from tests.support.browser import Page

DONE = "!document.querySelector('#results').hidden"
STREAMING = "document.querySelectorAll('.words.writing').length === 2"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    home = tmp_path_factory.mktemp("home")
    quick = ["--model", "quick", "--ttft", "30ms", "--itl", "2ms", "--output-tokens", "40", "--token-ids"]
    steady = ["--model", "steady", "--ttft", "80ms", "--itl", "8ms", "--output-tokens", "40"]
    endless = ["--model", "endless", "--itl", "30ms", "--output-tokens", "4000"]
    with SimProcess(quick) as a, SimProcess(steady) as b, SimProcess(endless) as c:
        urls = (
            f"{a.url} quick",
            f"{b.url}/messages steady",
            f"{c.url} endless",
            "http://127.0.0.1:9/v1 gone",
        )
        with serving_dashboard(home, race_urls=urls) as dashboard:
            yield dashboard


def choose(page: Page, *names: str) -> None:
    """Put models into the lanes, as a change of the selects."""
    for place, name in enumerate(names):
        page.evaluate(
            f"(one => {{ one.value = [...one.options].find(o => o.text.startsWith('{name}')).value }})"
            f"(document.querySelectorAll('select[name=lane]')[{place}])"
        )


def test_a_race_by_keyboard_to_its_end(page: Page, served: Served) -> None:
    page.goto(served.entry("race"))
    # From the top: every control is reached by Tab alone, in the order in which it is seen.
    page.evaluate("document.querySelector('#theme').focus()")
    page.press("Tab", times=2)
    reached = [
        page.evaluate("document.activeElement.getAttribute('aria-label') ?? document.activeElement.name")
    ]
    for _ in range(8):
        page.press("Tab")
        reached.append(
            page.evaluate(
                "document.activeElement.getAttribute('aria-label') ?? "
                "(document.activeElement.name || document.activeElement.id)"
            )
        )
    assert reached[:8] == [
        "Lane A",
        "Lane B",
        "Lane C",
        "Lane D",
        "prompt",
        "max_tokens",
        "max_seconds",
        "start",
    ]
    page.evaluate("document.querySelector('#start').focus()")
    page.press("Enter")
    page.wait_for(DONE)
    assert page.text("#said").startswith("Done, in this order:")
    rows = page.evaluate("[...document.querySelectorAll('#rows tr')].map(one => one.innerText)")
    assert len(rows) == 2
    assert all("40" in row for row in rows)
    texts = page.evaluate("[...document.querySelectorAll('.words')].map(one => one.textContent)")
    assert [len(text.split()) for text in texts] == [40, 40]
    # What is not known is not a number.
    assert "unknown" in rows[0]
    assert "one sample" in page.text("#notes")
    assert page.evaluate("document.querySelector('#start').disabled") is False
    assert page.problems() == []


def test_a_screen_reader_hears_milestones_and_no_tokens(page: Page, served: Served) -> None:
    # Each text by itself: two that are said at the same moment are told to the observer together.
    page.before_load(
        "addEventListener('DOMContentLoaded', () => { window.heard = [];"
        " new MutationObserver(seen => heard.push(...seen.flatMap(one => [...one.addedNodes])"
        ".map(node => node.data)))"
        ".observe(document.querySelector('#said'), {childList: true, characterData: true, subtree: true}) })"
    )
    page.goto(served.entry("race"))
    page.click("#start")
    page.wait_for("heard.at(-1)?.startsWith('Done, in this order:')")
    heard = page.evaluate("heard")
    assert heard[0] == "Starting"
    assert sum("first token after" in text for text in heard) == 2
    # A start, two first tokens, two ends, a result; not one for each of eighty tokens.
    assert len(heard) <= 8
    live = page.evaluate(
        "[...document.querySelectorAll('[aria-live], [role=status], [role=log]')].map(o => o.id)"
    )
    assert live == ["said"]


def test_keys_start_and_stop(page: Page, served: Served) -> None:
    page.goto(served.entry("race"))
    choose(page, "endless", "endless")
    page.evaluate("document.querySelector('[name=max_tokens]').value = 4000")
    page.evaluate("document.querySelector('textarea').focus()")
    page.press("Control+Enter")
    page.wait_for(STREAMING)
    page.press("Escape")
    page.wait_for("document.querySelector('#said').textContent.startsWith('Stopped')")
    assert page.evaluate("document.querySelectorAll('.words.writing').length") == 0
    # Its place is free again.
    page.press("Control+Enter")
    page.wait_for(STREAMING)
    page.click("#stop")
    page.wait_for("document.querySelector('#said').textContent.startsWith('Stopped')")
    assert page.problems() == []


def test_a_side_that_fails_says_so_on_its_lane(page: Page, served: Served) -> None:
    page.goto(served.entry("race"))
    choose(page, "quick", "gone")
    page.click("#start")
    page.wait_for(DONE)
    ends = page.evaluate("[...document.querySelectorAll('.lane .end')].map(one => one.textContent)")
    assert ends[0].startswith("done after")
    assert "connection refused" in ends[1]
    assert page.text("#said") == "Only A came to its end."
    assert page.problems() == []


def test_without_the_token_the_page_says_where_it_is(page: Page, served: Served) -> None:
    page.goto(f"{served.url}race")
    page.click("#start")
    page.wait_for("document.querySelector('#said').classList.contains('wrong')")
    assert "token" in page.text("#said")
    assert page.evaluate("document.querySelector('#start').disabled") is False


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
def test_it_fits_and_can_be_read(page: Page, served: Served, width: int, scheme: str, tmp_path: Path) -> None:
    page.viewport(width)
    page.media(scheme="dark" if scheme == "dark" else "light", reduced_motion=True)
    page.goto(served.entry("race"))
    choose(page, "quick", "steady", "quick", "gone")
    page.click("#start")
    page.wait_for(DONE)
    assert page.sideways_px() == 0
    lefts = page.evaluate(
        "[...document.querySelectorAll('.lane')].map(one => Math.round(one.getBoundingClientRect().x))"
    )
    assert len(set(lefts)) == (1 if width == 390 else 4)
    # Text against what is behind it: WCAG 2.2 asks 4.5 to 1.
    assert page.evaluate(CONTRAST) >= 4.5
    running = page.evaluate("document.getAnimations().length")
    assert running == 0
    assert page.screenshot(tmp_path / "race.png").stat().st_size > 10_000
    assert page.problems() == []


CONTRAST = """(() => {
  const channel = v => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
  const rgb = text => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const behind = node => {
    for (; node; node = node.parentElement) {
      const found = rgb(getComputedStyle(node).backgroundColor);
      if (found.length === 3 || found[3] === 1) return found;
    }
    return [255, 255, 255];
  };
  let least = 21;
  const selectors = '.lane h2, .lane .where, .lane .end, .meters dt, .meters dd, .words, .letter, #notes li'
    + ', #rows td, .axis span';
  for (const node of document.querySelectorAll(selectors)) {
    const [a, b] = [light(rgb(getComputedStyle(node).color)), light(behind(node))];
    least = Math.min(least, (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05));
  }
  return least;
})()"""

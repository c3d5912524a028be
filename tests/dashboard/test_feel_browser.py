"""The player in a real browser, by a clock that the test moves."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.dashboard.served import Served, serving_dashboard
from tests.report.samples import store
from tests.support.browser import Page
from tests.support.rows import make_row

# The page's own clock and frames, in the test's hand: `step(ms)` moves the one and draws the other.
CLOCK = """
window.realFrame = window.requestAnimationFrame.bind(window);
let now = 0, waiting = [];
performance.now = () => now;
window.requestAnimationFrame = (draw) => waiting.push(draw);
window.step = (ms) => { now = ms; const mine = waiting; waiting = []; mine.forEach((draw) => draw(now)); };
"""
TOKENS = "[...document.querySelectorAll('.lane')].map(one => one.querySelectorAll('dd')[1].innerText)"
PLAYING = "document.querySelector('#said').textContent === 'Playing'"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    home = tmp_path_factory.mktemp("home")
    rows = [
        make_row(
            sent_ms=1000.0 * i,
            event_ms=[1000.0 * i + ms for ms in (80.0, 100.0, 400.0, 410.0)],
            text="One two three four",
            event_bytes=[3, 4, 6, 5],
        )
        for i in range(9)
    ]
    store(home, rows, endpoint="http://127.0.0.1:9100/v1", model="tiny")
    with serving_dashboard(home) as dashboard:
        yield dashboard


def opened(page: Page, served: Served, **fields: str) -> Page:
    page.before_load(CLOCK)
    page.goto(f"{served.url}feel")
    for name, value in fields.items():
        page.evaluate(f"document.querySelector('[name={name}]').value = '{value}'")
    return page


@pytest.mark.parametrize(
    ("ms", "tokens"),
    [
        # By hand: nothing before 200 ms; then token j at 200 ms + j / rate, both ends within.
        (199.9, ["0", "0", "0", "0", "0"]),
        (200.0, ["1", "1", "1", "1", "1"]),
        (249.0, ["1", "3", "8", "15", "50"]),
        (700.0, ["11", "26", "76", "151", "501"]),
        (1200.0, ["21", "51", "151", "301", "600"]),
        # One long frame, and all is there that should be.
        (60_000.0, ["600", "600", "600", "600", "600"]),
    ],
)
def test_so_many_tokens_have_come_by_then(page: Page, served: Served, ms: float, tokens: list[str]) -> None:
    opened(page, served, ttft_ms="200")
    page.press("Control+Enter")
    page.wait_for(PLAYING)
    page.evaluate(f"step({ms})")
    assert page.evaluate(TOKENS) == tokens
    assert page.text("#said") == ("Done" if ms > 31_000 else "Playing")
    assert page.problems() == []


def test_what_is_drawn_is_the_text_and_the_reader_is_marked(page: Page, served: Served) -> None:
    opened(page, served, ttft_ms="0", view="reader")
    page.press("Control+Enter")
    page.wait_for(PLAYING)
    page.evaluate("step(10_000)")
    lane = "document.querySelectorAll('.lane')[1]"
    drawn = page.evaluate(f"{lane}.querySelector('.words').textContent")
    given = page.evaluate(
        "JSON.parse(document.querySelector('#given').textContent).tokens.slice(0, 501).join('')"
    )
    assert drawn == given
    # 238 words a minute: 39.7 in ten seconds.
    read = page.evaluate(f"{lane}.querySelector('.read').textContent")
    assert len(read.split()) in (39, 40)
    assert drawn.startswith(read)


def test_one_after_another(page: Page, served: Served) -> None:
    opened(page, served, ttft_ms="0", length="200", order="one")
    page.evaluate(
        "for (const one of document.querySelectorAll('[name=speed]')) one.checked = one.value >= 300"
    )
    page.press("Control+Enter")
    page.wait_for(PLAYING)
    # 200 tokens at 300 tok/s end at 663 ms; the next begins 700 ms later.
    page.evaluate("step(1_300)")
    assert page.evaluate(TOKENS) == ["200", "0"]
    page.evaluate("step(1_400)")
    assert page.evaluate(TOKENS) == ["200", "37"]
    page.press("Escape")
    assert page.text("#said") == "Stopped"
    page.evaluate("step(9_000)")
    assert page.evaluate(TOKENS) == ["200", "37"]


def test_a_stored_answer_as_it_came(page: Page, served: Served) -> None:
    opened(page, served)
    page.evaluate("for (const one of document.querySelectorAll('[name=speed]')) one.checked = false")
    assert "TTFT 80 ms" in page.text(".speeds:has([name=offer])")
    page.click("[name=offer]")
    page.click("#start")
    page.wait_for(PLAYING)
    for ms, text in (
        (79, ""),
        (80, "One"),
        (399, "One two"),
        (400, "One two three"),
        (500, "One two three four"),
    ):
        page.evaluate(f"step({ms})")
        assert page.text(".words") == text
    assert page.text("#said") == "Done"
    assert page.problems() == []


def test_a_reader_who_is_kept_waiting_reads_on_from_there(page: Page, served: Served) -> None:
    opened(page, served)
    page.evaluate(
        "import(document.querySelector('script[src*=feel]').src.replace('feel.js', 'player.js'))"
        ".then((found) => { window.Stream = found.Stream })"
    )
    # Ten tokens at once, nothing for ten seconds, ten more; a reader of 2 tokens a second.
    page.evaluate("window.stream = new Stream([[0, 10, 'a '.repeat(10)], [10_000, 10, 'b '.repeat(10)]], 2)")
    moments = {1_000: 2, 5_000: 10, 9_000: 10, 10_000: 10, 12_000: 14, 60_000: 20}
    for ms, tokens in moments.items():
        assert page.evaluate(f"stream.state({ms}).readTokens") == tokens


def test_nothing_chosen_is_said(page: Page, served: Served) -> None:
    opened(page, served)
    page.evaluate("for (const one of document.querySelectorAll('[name=speed]')) one.checked = false")
    page.click("#start")
    page.wait_for("document.querySelector('#said').textContent.startsWith('Choose')")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
def test_it_fits(page: Page, served: Served, width: int, scheme: str, tmp_path: Path) -> None:
    page.viewport(width)
    page.media(scheme="dark" if scheme == "dark" else "light", reduced_motion=True)
    opened(page, served, ttft_ms="0")
    page.click("#start")
    page.wait_for(PLAYING)
    page.evaluate("step(1_000)")
    assert page.sideways_px() == 0
    page.evaluate("window.requestAnimationFrame = window.realFrame")
    assert page.screenshot(tmp_path / "feel.png").stat().st_size > 10_000
    assert page.problems() == []

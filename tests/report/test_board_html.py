import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from paceline.advisor.board import PublishedRow
from paceline.advisor.digests import Problem
from paceline.advisor.figures import FIGURES, Figure
from paceline.advisor.identity import OfferKey
from paceline.catalogue.price import PriceUnknown
from paceline.report.board_charts import board_charts
from paceline.report.board_html import page_of, render_board_html, wides
from tests.report.board_samples import PUBLISHED, TRUTHS, board, empty_board, loads, row
from tests.support.browser import Page

EVIL = "</script><script>alert(1)</script><b onmouseover=x>"
CHARTED = (
    "document.querySelectorAll('.chart svg.marks').length === document.querySelectorAll('.chart').length"
)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A full board as a file."""
    path = tmp_path_factory.mktemp("board") / "board.html"
    limits = {"output_tok_s": 150.0, "usd_per_job": 0.003}
    path.write_text(render_board_html(board(loads=tuple(loads())), limits=limits))
    return path


def body(text: str) -> str:
    """The page without its scripts and styles."""
    return re.sub(r"<(script|style)\b.*?</\1>", "", text, flags=re.DOTALL)


def test_the_page_needs_no_network(file: Path) -> None:
    text = file.read_text()
    assert not re.findall(r'(?:src|href)="(?:https?:)?//', text)
    assert "@import" not in text
    assert "default-src 'none'" in text
    assert not re.findall(r"\sstyle=", body(text))


def test_every_row_claim_problem_and_price_is_on_the_page(file: Path) -> None:
    text = body(file.read_text())
    of = board()
    assert text.count('<th scope="row" class="offer">') == len(TRUTHS)
    assert text.count("data-value=") == len(TRUTHS) * len(FIGURES)
    for problem in of.problems:
        assert problem.run_id in text
    for one in of.elsewhere:
        assert str(one.key) in text
    published = text[text.index("What others publish") :]
    assert "Published claim, not measured" in published
    for claim in PUBLISHED:
        assert claim.source in published
        assert claim.as_of in published
    # Claims are not among what was measured.
    assert "glm-5.2" not in text[: text.index("What others publish")]
    assert "no price of gpt-oss-20b at local is known" in text
    assert "genai-prices 0.0.57, 2026-11-20" in text


def test_every_chart_of_the_page_has_its_place_and_its_figures_as_a_table(file: Path) -> None:
    text = file.read_text()
    charts = page_of(board(loads=tuple(loads()))).charts
    assert set(re.findall(r'data-chart="(\w+)"', text)) == set(charts)
    assert text.count("The figures as a table") == len(charts)


def test_the_document_is_the_board(file: Path) -> None:
    found = re.search(
        r'<script type="application/json" id="report">(.*?)</script>', file.read_text(), re.DOTALL
    )
    assert found is not None
    assert json.loads(found.group(1))["schema"] == "paceline.board/1"


def test_what_a_server_or_a_file_says_stays_text() -> None:
    evil = OfferKey(EVIL, EVIL, EVIL)
    bad = replace(
        row(TRUTHS[0], figures={"capability": Figure(None, note=EVIL)}, feel=EVIL, marks=(EVIL,)),
        key=evil,
        price=PriceUnknown(EVIL, EVIL),
    )
    of = board(
        rows=[bad, row(TRUTHS[1])],
        workload=EVIL,
        problems=(Problem(EVIL, EVIL),),
        published=(PublishedRow(EVIL, EVIL, 1.0, EVIL, EVIL, EVIL),),
    )
    text = render_board_html(of)
    assert "<script>alert" not in text
    assert "<b onmouseover" not in text
    assert "&lt;b onmouseover=x&gt;" in text


@pytest.mark.parametrize(
    ("of", "words"),
    [
        (empty_board(), "No offer was measured yet"),
        (replace(empty_board(), problems=(Problem("r1", "invalid: late"),)), "No run has figures"),
        (board(rows=[row(TRUTHS[0])]), "One offer stands alone"),
    ],
)
def test_a_board_that_is_not_whole_says_what_to_do_next(of, words: str) -> None:  # type: ignore[no-untyped-def]
    text = body(render_board_html(of))
    assert words in text
    assert "paceline measure" in text


def test_an_offer_without_figures_has_a_row_and_says_why() -> None:
    nothing = {name: Figure(None, note="no streamed answers") for name in FIGURES}
    text = body(render_board_html(board(rows=[row(TRUTHS[0], figures=nothing)])))
    assert text.count("no streamed answers") >= len(FIGURES)


@pytest.mark.parametrize("width", [1440, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_draws_without_a_fault_and_never_scrolls_sideways(
    file: Path, page: Page, width: int, scheme: str
) -> None:
    page.viewport(width)
    page.media(scheme=scheme)  # type: ignore[arg-type]
    page.goto(file.as_uri())
    page.wait_for(CHARTED)
    assert page.problems() == []
    assert page.sideways_px() == 0
    numbered = page.evaluate("document.querySelectorAll('.chart.is-numbered').length")
    assert (numbered > 0) == (width == 390)


def order(page: Page, name: str) -> list[float | None]:
    """The values of a column from top to bottom."""
    cells = f"[...document.querySelectorAll('td[data-name={name}]')]"
    found: list[float | None] = page.evaluate(
        f"{cells}.map(one => one.dataset.value === '' ? null : Number(one.dataset.value))"
    )
    return found


def test_the_table_sorts_by_mouse_and_by_keyboard(file: Path, page: Page) -> None:
    page.viewport(1440)
    page.goto(file.as_uri())
    head = "th[data-name=usd_per_job]"
    page.click(f"{head} button")
    values = order(page, "usd_per_job")
    assert values[-1] is None
    known = [value for value in values if value is not None]
    assert known == sorted(known)
    assert page.evaluate(f"document.querySelector('{head}').ariaSort") == "ascending"
    assert page.text("[role=status]") == "sorted by bill of 1,000, lowest first"
    assert page.evaluate("document.querySelectorAll('th[aria-sort]').length") == 1
    # The button has the focus: Enter turns the order about, and the offer without a price stays last.
    page.press("Enter")
    values = order(page, "usd_per_job")
    assert values[-1] is None
    assert [value for value in values if value is not None] == sorted(known, reverse=True)
    # The next column is the next stop; a higher figure is better there, so that it comes first.
    page.press("Tab")
    page.press("Space")
    assert page.evaluate("document.querySelector('th[aria-sort]').dataset.name") == "tok_s_per_usd"
    values = order(page, "tok_s_per_usd")
    known = [value for value in values if value is not None]
    assert known == sorted(known, reverse=True)


def test_a_narrow_page_sorts_its_cards(file: Path, page: Page) -> None:
    page.viewport(390)
    page.goto(file.as_uri())
    page.evaluate(
        "(() => { const one = document.querySelector('.sorter select'); one.value = 'output_tok_s';"
        " one.dispatchEvent(new Event('change')); })()"
    )
    values = [value for value in order(page, "output_tok_s") if value is not None]
    assert values == sorted(values, reverse=True)
    page.click(".sorter button")
    assert [value for value in order(page, "output_tok_s") if value is not None] == sorted(values)


def test_charts_leave_no_holes_in_the_page() -> None:
    """The first is as wide as the page; those that are not stand in pairs; a long list is wide."""
    few, many = board_charts(board(TRUTHS[:8])), board_charts(board([*TRUTHS, *TRUTHS]))
    for drawn in (few, many, few[:2], few[:1]):
        wide = wides(drawn)
        assert wide[0]
        assert wide.count(False) % 2 == 0
    names = [one.name for one in many]
    assert wides(many)[names.index("offers_ttft_p50_ms")]
    assert not wides(few)[names.index("offers_ttft_p50_ms")]

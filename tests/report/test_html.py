import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from paceline.report.html import definition, render_html
from paceline.report.model import Report
from tests.report.samples import failed_row, report
from tests.support.rows import lognormal_rows, make_row


class Page(HTMLParser):
    """The elements of a page, and the text outside of scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.scripts: dict[str, str] = {}
        self._inside: str | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag in ("script", "style"):
            self._inside = dict(attrs).get("id") or tag

    def handle_endtag(self, tag: str) -> None:
        if tag in ("script", "style"):
            self._inside = None

    def handle_data(self, data: str) -> None:
        if self._inside is None:
            self.words.append(data)
        else:
            self.scripts[self._inside] = self.scripts.get(self._inside, "") + data

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


@pytest.fixture(scope="module")
def page(healthy: Report) -> Page:
    return Page(render_html(healthy))


def test_it_needs_no_network(page: Page) -> None:
    for tag, attributes in page.tags:
        assert tag not in ("link", "img", "iframe", "object")
        assert "src" not in attributes
        assert "href" not in attributes
    policy = next(a["content"] for tag, a in page.tags if a.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    assert policy.startswith("default-src 'none'")
    assert "http" not in policy
    assert "url(" not in page.scripts["style"]


def test_trust_comes_first_and_the_parts_in_order(page: Page) -> None:
    places = [
        page.text.index(words)
        for words in (
            "No reason was found to doubt",
            "TTFT, median",
            "Distributions",
            "All figures",
            "The run over time",
            "Outcomes",
            "What was run",
            "Where it ran",
        )
    ]
    assert places == sorted(places)


def test_every_chart_has_a_place_and_words(page: Page) -> None:
    charts = json.loads(page.scripts["charts"])
    drawn = {a["data-chart"]: a for _, a in page.tags if "data-chart" in a}
    assert charts.keys() == drawn.keys()
    assert set(drawn) == {
        *(
            f"{name}_{kind}"
            for name in ("ttft_ms", "itl_ms", "e2e_ms")
            for kind in ("histogram", "percentiles")
        ),
        "timeline",
    }
    assert all(len(a["aria-label"] or "") > 20 for a in drawn.values())


def test_the_figures_are_inside(page: Page, healthy: Report) -> None:
    assert json.loads(page.scripts["report"]) == healthy.to_dict()
    assert "800 of 800 requests" in page.text
    assert "nightly" in page.text


def test_an_open_loop_says_what_it_counts_from(open_loop: Report) -> None:
    text = Page(render_html(open_loop)).text
    assert "count from when a request was due" in text
    assert "sent of offered" in text


def test_names_from_outside_stay_text(home: Path) -> None:
    nasty = "</script><img src=x onerror=alert(1)>"
    rows = [make_row(request_index=1), failed_row("http_error", 2, error=nasty)]
    page = Page(render_html(report(home, rows, model=nasty, name=nasty, endpoint=f"http://h/{nasty}")))
    assert not [tag for tag, _ in page.tags if tag == "img"]
    assert page.text.count(nasty) >= 3
    assert json.loads(page.scripts["report"])["run"]["model"] == nasty


def test_reasons_and_errors_are_shown(home: Path) -> None:
    rows = [make_row(request_index=k) for k in range(1, 8)]
    rows += [failed_row("http_error", k, error="the model is overloaded") for k in range(8, 12)]
    page = Page(render_html(report(home, rows)))
    assert "Invalid: do not rely on these figures" in page.text
    assert "36% of requests failed" in page.text
    assert "36% of requests failed (4 http_error: the model is overloaded)" in page.text
    assert "4 http_error: the model is overloaded" in page.text
    assert ("section", "trust invalid") in [(tag, a.get("class")) for tag, a in page.tags]


@pytest.mark.parametrize("rows", [[failed_row("connect_error", 1, sent_ns=None)], []])
def test_a_run_of_which_nothing_came(home: Path, rows: list[dict[str, object]]) -> None:
    table = rows or lognormal_rows(1, 1).slice(0, 0)
    page = Page(render_html(report(home, table)))
    assert "Invalid" in page.text
    assert "Distributions" not in page.text


def test_a_million_events_stay_small(home: Path) -> None:
    text = render_html(report(home, lognormal_rows(16_000, 1, events=64, concurrency=64)))
    assert len(text.encode()) < 2_000_000


def test_definitions_stand_alone(healthy: Report) -> None:
    for name in healthy.metrics:
        text = definition(name)
        assert "->" not in text
        assert not re.match(r"[a-z]", text)
        assert "the same" not in text.lower() or name == "itl_ms"

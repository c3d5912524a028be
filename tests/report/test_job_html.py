import json

from paceline.report.html import render_html
from paceline.report.job_html import job_charts, job_context
from paceline.report.model import Report
from tests.report.test_html import Page
from tests.report.walk import rows_of


def test_the_bar_has_the_parts_in_their_shares(chat: Report) -> None:
    page = Page(render_html(chat))
    assert chat.evidence.jobs is not None
    parts = chat.to_dict()["jobs"]["parts"]
    shown = {
        name: float(str(a["width"]).removesuffix("%"))
        for tag, a in page.tags
        if tag == "svg" and (name := str(a.get("class") or "")).startswith("part-")
    }
    expected = {f"part-{name}": 100 * part["share"] for name, part in parts.items() if part["share"]}
    assert shown.keys() == expected.keys()
    assert all(abs(shown[name] - expected[name]) < 0.01 for name in shown)
    assert "Where a job's time goes" in page.text
    assert page.text.index("Jobs") < page.text.index("Distributions")


def test_each_chart_has_a_place_and_its_figures(chat: Report) -> None:
    page = Page(render_html(chat))
    charts = json.loads(page.scripts["charts"])
    drawn = {a["data-chart"] for _, a in page.tags if "data-chart" in a}
    assert charts.keys() == drawn
    assert {"ttft_by_turn", "ttft_by_cached", "job_ms_histogram"} <= drawn
    turns = chat.to_dict()["turns"]["by_turn"]
    rows = rows_of(charts["ttft_by_turn"], "turn")
    assert [row["turn"] for row in rows] == [1, 2, 3, 4, 5, 6]
    assert [row["value"] for row in rows] == [turn["ttft_ms"]["p50"]["value"] for turn in turns]


def test_on_a_narrow_page_a_line_of_a_table_is_stacked(chat: Report) -> None:
    """Each cell then has the name of its column."""
    page = Page(render_html(chat))
    tables = [a for tag, a in page.tags if tag == "table" and a.get("class") == "stacked"]
    assert len(tables) == 4
    named = [a["data-name"] for tag, a in page.tags if tag == "td" and "data-name" in a]
    assert named[:5] == ["sent", "ok", "failed", "not sent", "most frequent error"]


def test_a_hang_up_is_no_failure(voice: Report) -> None:
    page = Page(render_html(voice))
    assert "600 of 600 requests" in page.text
    assert "in 540 of 600 the server stopped" in page.text
    assert [a["class"] for tag, a in page.tags if tag == "svg" and "bar" in str(a.get("class"))] == ["bar ok"]


def test_plain_requests_have_no_such_section(healthy: Report) -> None:
    assert job_context(healthy) is None
    assert job_charts(healthy) == {}

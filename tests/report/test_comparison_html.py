import json
from pathlib import Path

from paceline.report.comparison import compare_reports
from paceline.report.comparison_html import render_html
from tests.report.samples import failed_row, report
from tests.report.test_html import Page
from tests.report.walk import rows_of
from tests.support.rows import lognormal_rows


def test_one_file_with_both_sides(home: Path) -> None:
    slow = report(home, lognormal_rows(600, 1), name="standard")
    fast = report(home, lognormal_rows(600, 2, ttft_ms=100.0), name="fast")
    comparison = compare_reports(slow, fast)
    page = Page(render_html(comparison))
    charts = json.loads(page.scripts["charts"])
    assert charts.keys() == {a["data-chart"] for _, a in page.tags if "data-chart" in a}
    assert set(charts) == {"ratios", "ttft_ms_both", "itl_ms_both", "e2e_ms_both"}
    assert {row["side"] for row in rows_of(charts["ttft_ms_both"], "side")} == {"A", "B"}
    assert page.text.index("Trusted") < page.text.index("What differs")
    assert "no difference larger than 5%" in page.text
    assert json.loads(page.scripts["report"]) == comparison.to_dict()
    assert not [a for _, a in page.tags if "src" in a or "href" in a]


def test_two_runs_of_which_nothing_came(home: Path) -> None:
    bad = report(home, [failed_row("empty", 1)])
    page = Page(render_html(compare_reports(bad, bad)))
    assert json.loads(page.scripts["charts"]) == {}
    assert page.text.count("Invalid") == 2

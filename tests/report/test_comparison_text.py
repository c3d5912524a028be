from pathlib import Path

import pytest

from paceline.report.comparison import ComparisonReport, compare_reports
from paceline.report.comparison_html import render_html
from paceline.report.comparison_text import render_markdown, render_text
from tests.report.samples import OPEN, report
from tests.support.rows import lognormal_rows


@pytest.fixture
def comparison(home: Path) -> ComparisonReport:
    slow = report(home, lognormal_rows(600, 1), name="standard")
    return compare_reports(slow, report(home, lognormal_rows(600, 2, ttft_ms=100.0), name="fast"))


def test_trust_of_both_sides_then_the_table(comparison: ComparisonReport) -> None:
    text = render_text(comparison)
    assert text.startswith("A  standard: sim at http://127.0.0.1:9100/v1\nTRUSTED")
    assert text.index("B  fast: sim") < text.index("B / A")
    row = next(line for line in text.splitlines() if line.startswith("TTFT p50, ms"))
    assert row.split()[-1] == "faster"
    assert "no difference larger" in text
    assert "not measured in turn" in text


def test_eighty_columns(comparison: ComparisonReport) -> None:
    for line in render_text(comparison).splitlines():
        assert len(line) <= 80, line
        assert line == line.rstrip()


def test_markdown(comparison: ComparisonReport) -> None:
    lines = render_markdown(comparison).splitlines()
    assert "**A**: standard: sim at http://127.0.0.1:9100/v1; trusted" in lines
    assert any(line.startswith("| TTFT p50, ms |") and line.endswith("| faster |") for line in lines)


def test_without_common_metrics_there_is_still_a_text(home: Path) -> None:
    from tests.report.samples import failed_row

    bad = report(home, [failed_row("empty", 1)])
    assert "INVALID" in render_text(compare_reports(bad, bad))


def test_under_an_open_loop_it_says_from_where_latencies_count(
    comparison: ComparisonReport, home: Path
) -> None:
    note = "TTFT and E2E count from when a request was due"
    assert note not in render_text(comparison)
    side = report(home, lognormal_rows(60, 1), load=OPEN)
    made = compare_reports(side, side)
    for text in (render_text(made), render_markdown(made), render_html(made)):
        assert note in " ".join(text.split())

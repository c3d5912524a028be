from pathlib import Path

from paceline.report.markdown import escape, render_markdown
from paceline.report.model import Report
from tests.report.samples import failed_row, report
from tests.support.rows import lognormal_rows


def test_verdict_then_facts_then_figures(healthy: Report) -> None:
    lines = render_markdown(healthy).splitlines()
    assert lines[2] == "**trusted**"
    assert "- Requests: 800 ok of 800" in lines
    head = next(line for line in lines if line.startswith("| metric"))
    rows = [line for line in lines if line.startswith("| ")]
    assert {line.count("|") for line in rows} == {head.count("|")}
    assert any(line.startswith("| TTFT, ms | 800 |") for line in rows)


def test_too_small_a_sample_says_so(home: Path) -> None:
    text = render_markdown(report(home, lognormal_rows(60, 1)))
    assert "n too small" in text
    assert "| >=" in text


def test_without_figures(home: Path) -> None:
    text = render_markdown(report(home, [failed_row("empty", 1)]))
    assert "**invalid**" in text
    assert "| metric" not in text


def test_names_from_outside_stay_text(home: Path) -> None:
    assert escape("a|b *c* <i>\n# d") == "a\\|b \\*c\\* \\<i> \\# d"
    assert "\n# evil" not in render_markdown(report(home, lognormal_rows(20, 1), model="x\n# evil"))

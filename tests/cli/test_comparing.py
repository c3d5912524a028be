from pathlib import Path

from paceline.cli.comparing import slower_than
from paceline.report.comparison import compare_reports
from tests.report.samples import report
from tests.support.rows import lognormal_rows


def test_what_is_slower_is_said_in_words(tmp_path: Path) -> None:
    fast = report(tmp_path, lognormal_rows(600, 1, ttft_ms=100.0))
    slow = report(tmp_path, lognormal_rows(600, 2, ttft_ms=200.0))
    comparison = compare_reports(fast, slow)
    found = slower_than(comparison, 0.05)
    assert found[0].startswith("TTFT p50, ms: B / A is ")
    assert found[0].endswith("), more than 5% worse")
    assert slower_than(comparison, None) == []
    assert not any(text.startswith("TTFT") for text in slower_than(compare_reports(slow, fast), 0.05))

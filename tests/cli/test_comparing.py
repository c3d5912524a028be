from pathlib import Path

import pytest

from paceline.cli.comparing import Pair, conclude_comparison, slower_than
from paceline.measure.driver import RunResult
from paceline.report.comparison import compare_reports
from tests.report.samples import report, store
from tests.support.rows import lognormal_rows


def test_what_is_slower_is_said_in_words(tmp_path: Path) -> None:
    fast = report(tmp_path, lognormal_rows(600, 1, ttft_ms=100.0))
    slow = report(tmp_path, lognormal_rows(600, 2, ttft_ms=200.0))
    comparison = compare_reports(fast, slow)
    found = slower_than(comparison, 0.05)
    assert found[0].startswith("B is slower: TTFT p50, ms: B / A is ")
    assert found[0].endswith("), more than 5% worse")
    assert slower_than(comparison, None) == []
    assert not any(
        text.startswith("B is slower: TTFT") for text in slower_than(compare_reports(slow, fast), 0.05)
    )


def test_interrupted_before_there_is_a_pair_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "home"
    a, b = store(home, lognormal_rows(40, 1), "interrupted"), store(home, [], "interrupted")
    ended = tuple(RunResult(run.id, "interrupted", None) for run in (a, b))
    html = tmp_path / "c.html"
    assert conclude_comparison(Pair(a, b, ended), {"--html": html}, 0.05, None) == 1
    said = capsys.readouterr()
    assert said.err == "interrupted before a pair of blocks was complete: nothing to compare\n"
    assert said.out == ""
    assert not html.exists()

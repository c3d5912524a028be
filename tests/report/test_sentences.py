from pathlib import Path

from paceline.report.html import render_html
from paceline.report.markdown import render_markdown
from paceline.report.model import Report
from paceline.report.sentences import goodput_words, shortage_notes
from paceline.report.terminal import render_text
from paceline.report.words import tail
from paceline.stats.quantiles import Estimate
from tests.report.samples import job_report, report
from tests.report.test_html import Page
from tests.support.rows import make_row


def test_a_lower_bound_is_no_less_than_the_median() -> None:
    p50 = Estimate(50.0, 48.0, 52.0, True, 20, None)
    assert tail("ttft_ms", Estimate(60.0, 45.0, None, False, 20, 40), p50) == ">=50.0"
    assert tail("ttft_ms", Estimate(60.0, 55.0, None, False, 20, 40), p50) == ">=55.0"
    assert tail("ttft_ms", Estimate(60.0, 55.0, 70.0, True, 20, None), p50) == "60.0"
    hidden = Estimate(50.0, 40.0, None, False, 20, None, known=False)
    assert tail("ttft_ms", Estimate(60.0, 45.0, None, False, 20, 40), hidden) == ">=45.0"


def test_what_is_too_few_is_said(home: Path) -> None:
    made = job_report(home, 12, 6)
    (note,) = shortage_notes(made, ["job_ms", "ttft_ms"])
    needed = {name: made.summary(name).p90.needs_n for name in ("job_ms", "ttft_ms")}
    assert f"p90 needs {needed['job_ms']:,} jobs and {needed['ttft_ms']:,} requests;" in note


def not_streaming(home: Path, slo: dict[str, float]) -> Report:
    rows = [
        make_row(
            request_index=k, sent_ms=100 * k, event_ms=(100 * k + 90,), end_ms=100 * k + 90, streaming=False
        )
        for k in range(20)
    ]
    return report(home, rows, slo=slo)


def test_a_limit_that_cannot_be_checked_is_named(home: Path) -> None:
    made = not_streaming(home, {"ttft_ms": 300.0, "e2e_ms": 100.0})
    pace = made.to_dict()["throughput"]
    assert pace["goodput_requests_s"] is None
    assert pace["goodput_reason"] == "ttft_ms cannot be checked: no answer was streamed"
    assert goodput_words(made) == f"not known: {pace['goodput_reason']}"
    for text in (render_text(made), render_markdown(made).replace("\\", ""), Page(render_html(made)).text):
        assert pace["goodput_reason"] in " ".join(text.split())
    checked = not_streaming(home / "checked", {"e2e_ms": 100.0}).to_dict()["throughput"]
    assert checked["goodput_reason"] is None
    assert checked["goodput_requests_s"] == checked["requests_s"]


def test_tiles_and_the_head_of_a_page(chat: Report, healthy: Report) -> None:
    page = Page(render_html(chat)).text
    assert "Jobs that met their SLO" in page
    assert page.index("jobs of first and 5 x turn") < page.index("Jobs that met their SLO")
    plain = Page(render_html(healthy)).text
    assert plain.index(f"{healthy.manifest.id}, nightly") < plain.index("Trusted")
    assert "Jobs that met their SLO" not in plain

import json
from pathlib import Path

import pytest

from paceline.report.comparison import compare_reports
from paceline.report.comparison_html import ratio_ticks, render_html
from paceline.report.comparison_text import nothing_words, render_markdown, render_text, saving_words
from paceline.report.model import Report
from tests.report.samples import JOB_WORKLOAD, failed_row, job_report, report
from tests.report.test_html import Page


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """The same conversations at half the wait for the first token."""
    return job_report(tmp_path_factory.mktemp("quick"), seed=2, ttft_ms=50.0, ttft_ms_per_turn=10.0)


def test_a_job_s_time_comes_first(chat: Report, quick: Report) -> None:
    made = compare_reports(chat, quick)
    first, second, third = made.results[:3]
    assert [(one.metric, one.statistic) for one in made.results[:3]] == [
        *(("job_ms", "p50"), ("job_ms", "mean"), ("ttft_ms", "p50")),
    ]
    assert all(one.verdict.outcome == "faster" for one in (first, second, third))
    # Calls are drawn by the job, in 40 runs of jobs.
    assert (third.n_a, third.blocks_a) == (595, 40)
    text = render_text(made)
    assert "Job time p50, ms" in text
    assert "bootstrapped by whole jobs" in text
    assert all(len(line) <= 80 for line in text.splitlines())


def test_what_a_day_saves(chat: Report, quick: Report) -> None:
    made = compare_reports(chat, quick)
    saving = made.to_dict()["saving"]
    apart_ms = chat.summary("job_ms").mean - quick.summary("job_ms").mean
    hours = saving["hours_a_day"]
    assert saving["jobs_a_day"] == 200.0
    assert hours["value"] == pytest.approx(200 * apart_ms / 3.6e6)
    assert 0 < hours["lo"] < hours["value"] < hours["hi"]
    assert saving["worth_usd_a_day"]["lo"] == pytest.approx(60 * hours["lo"])
    assert saving_words(made).startswith("At 200 jobs a day B saves 0.0")
    assert "worth $" in saving_words(made)
    other_way = compare_reports(quick, chat)
    assert "B costs 0.0" in saving_words(other_way)
    assert saving_words(made) in Page(render_html(made)).text
    assert saving_words(made).split(".")[0] in render_markdown(made)


def test_no_saving_without_the_same_number_of_jobs(chat: Report, home: Path) -> None:
    other = job_report(home, 30, 3, workload={**JOB_WORKLOAD, "jobs_per_day": 100.0})
    made = compare_reports(chat, other)
    assert made.to_dict()["saving"] is None
    assert saving_words(made) == ""


def test_other_calls_are_another_workload(chat: Report, home: Path) -> None:
    other = job_report(home, 30, 3, workload={**JOB_WORKLOAD, "call": [{"name": "first"}]})
    assert any("workload is not the same (call)" in note for note in compare_reports(chat, other).notes)
    # A setting that an older run does not have says as much as one that is off.
    same = job_report(home / "same", 30, 3, workload={**JOB_WORKLOAD, "cached_share": 0.0})
    assert not any("workload" in note for note in compare_reports(chat, same).notes)


def test_jobs_and_plain_requests_have_calls_in_common(chat: Report, healthy: Report) -> None:
    metrics = {one.metric for one in compare_reports(chat, healthy).results}
    assert "ttft_ms" in metrics
    assert "job_ms" not in metrics


def test_nothing_in_common_is_said_in_place_of_a_bare_head(chat: Report, home: Path) -> None:
    failed = report(home, [failed_row("connect_error", place) for place in range(3)])
    made = compare_reports(chat, failed)
    assert made.results == []
    words = nothing_words(made)
    assert words == "Nothing can be compared: no request of B succeeded."
    text = render_text(made)
    assert words in text
    assert "interval" not in text
    page = Page(render_html(made))
    assert words in page.text
    assert not [tag for tag, _ in page.tags if tag == "table"]
    assert "| metric |" not in render_markdown(made)
    assert json.loads(made.to_json())["results"] == []


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0.62, 1.4, [0.8, 1.0, 1.2, 1.4]),
        (0.95, 1.05, [0.96, 0.98, 1.0, 1.02, 1.04]),
        (0.3, 8.0, [0.5, 1.0, 2.0, 5.0]),
        (1e-4, 1e3, [1e-4, 1e-3, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0]),
    ],
)
def test_an_axis_of_ratios_has_some_marks(low: float, high: float, ticks: list[float]) -> None:
    assert ratio_ticks(low, high) == ticks

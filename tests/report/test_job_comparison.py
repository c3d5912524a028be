import json
from pathlib import Path

import pytest

from paceline.cli.comparing import slower_than
from paceline.report.comparison import compare_reports
from paceline.report.comparison_html import ratio_ticks, render_html
from paceline.report.comparison_text import _hours, nothing_words, render_markdown, render_text, saving_words
from paceline.report.model import Report
from paceline.stats.compare import fail_if_slower
from tests.report.samples import JOB_WORKLOAD, failed_row, job_report, report
from tests.report.test_html import Page


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """The same conversations at half the wait for the first token."""
    return job_report(tmp_path_factory.mktemp("quick"), seed=2, ttft_ms=50.0, ttft_ms_per_turn=10.0)


def test_a_job_s_time_comes_first(chat: Report, quick: Report) -> None:
    made = compare_reports(chat, quick)
    # A failed job of a hundred is said first, and shows nothing.
    failed, first, second, third = made.results[:4]
    assert (failed.metric, failed.a, failed.b, failed.verdict.outcome) == (
        *("failed_jobs", 0.01, 0.0, "not enough data"),
    )
    assert [(one.metric, one.statistic) for one in made.results[1:4]] == [
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


def test_jobs_of_both_sides_are_side_by_side(chat: Report, quick: Report) -> None:
    made = compare_reports(chat, quick)
    text = " ".join(render_text(made).split())
    assert "99 ok of 100, 1 failed" in text
    assert "100 ok of 100" in text
    assert text.count("2,100 tokens in (71% cached), 48.0 tokens out") == 2
    assert text.count("of attempted jobs met job_ms=3000") == 2
    assert "a job's time, mean A of it B of it" in text
    assert "| first token |" in render_markdown(made)
    page = Page(render_html(made))
    assert "Where a job's time goes" in page.text
    document = made.to_dict()
    for side, of in (("a", chat), ("b", quick)):
        assert document[side]["jobs"] == of.to_dict()["jobs"]
    rows = made.jobs.parts_rows() if made.jobs else []
    assert [row[0] for row in rows] == ["first token", "generating", "thinking", "all"]


def test_a_share_of_jobs_that_fails_counts(chat: Report, home: Path) -> None:
    worse = job_report(home, seed=2, ttft_ms=50.0, failed=tuple(range(30)))
    made = compare_reports(chat, worse)
    failed = made.results[0]
    assert (failed.metric, failed.statistic, failed.verdict.outcome) == ("failed_jobs", "share", "worse")
    assert (failed.a, failed.b) == (0.01, 0.30)
    assert fail_if_slower(failed, 0.05)
    assert not fail_if_slower(compare_reports(worse, chat).results[0], 0.05)
    assert slower_than(made, 0.05)[0].startswith("more jobs of B fail: 30% against 1%")
    text = " ".join(render_text(made).split())
    assert "worse: more fail" in text
    assert all(len(line) <= 80 for line in render_text(made).splitlines())
    # Who fails early saves nothing.
    assert made.to_dict()["saving"] is None
    assert "did not end alike well" in made.to_dict()["saving_reason"]
    assert "What B saves a day is not said: jobs did not end alike well: 1% of A's failed and 30%" in text
    assert "worse: more fail" in Page(render_html(made)).text


def test_from_no_failed_job_to_many_is_worse_too(quick: Report, home: Path) -> None:
    worse = job_report(home, seed=3, failed=tuple(range(30)))
    failed = compare_reports(quick, worse).results[0]
    assert failed.to_dict()["ratio"] == {"value": None, "lo": None, "hi": None}
    assert fail_if_slower(failed, 0.05)


def test_a_saving_that_may_be_none_is_none(home: Path) -> None:
    a, b = job_report(home / "a", 40, 3, seed=4), job_report(home / "b", 40, 3, seed=5)
    made = compare_reports(a, b)
    hours = made.to_dict()["saving"]["hours_a_day"]
    assert hours["lo"] < 0 < hours["hi"]
    words = saving_words(made)
    assert words.startswith("At 200 jobs a day no difference is shown: B ")
    assert "worth" not in words
    few = compare_reports(job_report(home / "c", 3, 2), job_report(home / "d", 3, 2, seed=2))
    assert saving_words(few).endswith("there are too few jobs for an interval.")
    assert _hours(0.0000123456) == "0.0000123"
    assert _hours(1234.5) == "1230"


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

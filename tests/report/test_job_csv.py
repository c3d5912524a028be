import csv
import io

import pytest

from paceline.errors import StoreError
from paceline.report.job_csv import job_columns, render_jobs_csv
from paceline.report.model import Report
from tests.report.test_model import PAGE


def test_one_line_a_job(chat: Report) -> None:
    lines = list(csv.DictReader(io.StringIO(render_jobs_csv(chat))))
    assert list(lines[0]) == job_columns()
    assert len(lines) == 100
    assert [line["session"] for line in lines] == [str(job) for job in range(100)]
    failed = lines[7]
    assert (failed["state"], failed["job_ms"], failed["failed_calls"], failed["skipped_calls"]) == (
        *("failed", "", "1", "4"),
    )
    assert (failed["failed_call"], failed["failed_step"]) == ("turn", "1")
    assert {line["failed_call"] for line in lines if line["state"] == "ok"} == {""}
    for line in lines:
        if line["state"] == "ok":
            parts = ("queueing", "first_token", "generating", "tools", "thinking")
            assert sum(float(line[f"{part}_ms"]) for part in parts) == pytest.approx(float(line["job_ms"]))
            assert (line["prompt_tokens"], line["cached_tokens"]) == ("2100", "1500")
            assert line["job_from_intended_ms"] == ""


def test_the_page_names_the_columns() -> None:
    page = PAGE.read_text().split("FILE.jobs.csv")[1]
    assert all(f"`{name}`" in page for name in job_columns())


def test_a_run_of_plain_requests_has_no_jobs(healthy: Report) -> None:
    with pytest.raises(StoreError, match="plain requests"):
        render_jobs_csv(healthy)

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from paceline.report.model import Report
from paceline.report.sentences import speed_words
from paceline.stats.critical_path import Part
from tests.report.samples import JOB_WORKLOAD, OPEN, job_report, report
from tests.support.jobs import call_row, chat_jobs, plan_row, plan_table
from tests.support.rows import lognormal_rows


def test_counts_calls_and_tokens_of_jobs(chat: Report) -> None:
    jobs = chat.to_dict()["jobs"]
    assert (jobs["n"], jobs["ok"], jobs["failed"], jobs["interrupted"]) == (100, 99, 1, 0)
    assert jobs["calls"] == {"a_job": 6.0, "on_critical_path": 6.0, "failed": 1, "skipped": 4}
    # 100 to 600 tokens in, of which all but the last 100 of each are cached.
    assert jobs["tokens"] == {
        "prompt": 2100.0,
        "completion": 48.0,
        "reasoning": None,
        "cached": 1500.0,
        "cache_write": None,
    }
    assert jobs["job_ms"]["n"] == 99
    assert jobs["job_from_intended_ms"] is None
    assert chat.to_dict()["outcomes"] == {
        "attempted": 596,
        "ok": 595,
        "by_outcome": {"ok": 595, "http_error": 1},
    }


def test_parts_sum_to_the_mean_of_the_job_s_time(chat: Report) -> None:
    jobs = chat.to_dict()["jobs"]
    assert list(jobs["parts"]) == [part.name.lower() for part in Part]
    assert sum(part["mean_ms"] for part in jobs["parts"].values()) == pytest.approx(jobs["job_ms"]["mean"])
    assert sum(part["share"] for part in jobs["parts"].values()) == pytest.approx(1.0)
    assert jobs["parts"]["thinking"]["mean_ms"] == pytest.approx(1000.0)
    assert jobs["parts"]["queueing"]["mean_ms"] == 0.0


def test_a_day_is_the_waiting_of_its_jobs(chat: Report) -> None:
    jobs = chat.to_dict()["jobs"]
    waited_ms = jobs["job_ms"]["mean"] - 1000.0
    assert jobs["day"]["hours"] == pytest.approx(200 * waited_ms / 3.6e6)
    assert jobs["day"]["worth_usd"] == pytest.approx(60.0 * jobs["day"]["hours"])


def test_goodput_of_jobs_counts_those_that_failed(chat: Report) -> None:
    met = chat.to_dict()["jobs"]["goodput"]
    assert met["limits"] == {"job_ms": 3000.0}
    assert (met["attempted"], met["met"], met["share"]) == (100, 99, 0.99)
    assert met["jobs_s"] <= chat.to_dict()["jobs"]["jobs_s"] + 1e-12


def test_turns(chat: Report) -> None:
    turns = chat.to_dict()["turns"]
    assert [turn["turn"] for turn in turns["by_turn"]] == [1, 2, 3, 4, 5, 6]
    medians = [turn["ttft_ms"]["p50"]["value"] for turn in turns["by_turn"]]
    assert medians == sorted(medians)
    assert [one["call"] for one in turns["by_call"]] == ["first", "turn"]
    first, turn = turns["by_call"]
    assert (first["sent"], first["ok"], first["failed"], first["not_sent"], first["error"]) == (
        *(100, 100, 0, 0, None),
    )
    # Job 7 failed at its second call of six.
    assert (turn["sent"], turn["ok"], turn["failed"], turn["not_sent"]) == (496, 495, 1, 4)
    assert turn["error"] == {"outcome": "http_error", "text": "overloaded", "n": 1}
    assert turn["n"] == 495
    assert sum(one["n"] for one in turns["by_cached_share"]) == 595


def test_under_an_open_loop_a_job_s_time_counts_from_when_it_was_due(home: Path) -> None:
    load = {**OPEN, "jobs": True}
    made = job_report(home, 40, 3, load=load)
    assert made.job_metric == "job_from_intended_ms"
    assert made.to_dict()["jobs"]["job_from_intended_ms"]["n"] == 40


def test_hang_ups(voice: Report) -> None:
    document = voice.to_dict()
    assert document["outcomes"]["by_outcome"] == {"hung_up": 600}
    assert voice.well == 600
    found = document["hangups"]
    assert (found["n"], found["stopped"], found["going_on"]) == (600, 540, 60)
    assert found["watched_ms"] == 5000.0
    assert found["stop_ms"]["p50"]["value"] == pytest.approx(30.0)
    assert found["tail_bytes"] == {"mean": 400.0, "max": 400}
    assert document["trust"]["verdict"] == "trusted"
    assert "e2e_ms" not in document["metrics"]
    assert document["jobs"]["ok"] == 100
    assert document["throughput"]["requests_s"] > 0


def test_intervals_of_calls_are_those_of_jobs(home: Path) -> None:
    """A job's calls are alike here, so 30 jobs of 12 calls tell less than 360 requests."""
    made = job_report(home, 30, 12, job_sigma=0.5)
    by_job = made.summary("ttft_ms").p50
    assert by_job.lo is not None
    assert by_job.hi is not None
    values = made.samples("job_ms").values
    # As wide as 30 observations at most allow, and no narrower than jobs vary: 0.5 / sqrt(30) is 9 %.
    assert (by_job.hi - by_job.lo) / by_job.value > 0.2
    assert len(values) == 30


def test_plain_requests_have_none_of_this(healthy: Report) -> None:
    assert not {"jobs", "turns", "hangups", "asked"} & healthy.to_dict().keys()
    assert healthy.job_metric is None


def test_one_call_a_job_has_no_turns(home: Path) -> None:
    workload = {**JOB_WORKLOAD, "call": [{"name": "first"}]}
    made = job_report(home, 30, 1, workload=workload)
    document = made.to_dict()
    assert document["jobs"]["ok"] == 30
    assert "turns" not in document
    plain = job_report(home / "plain", 30, 1, workload={"unique_prefix": True})
    assert plain.evidence.jobs is None


def test_where_a_job_is_one_request_there_is_one_rate(home: Path) -> None:
    workload = {**JOB_WORKLOAD, "call": [{"name": "first"}]}
    made = job_report(home, 30, 1, workload=workload)
    document = made.to_dict()
    assert document["jobs"]["jobs_s"] == pytest.approx(document["throughput"]["requests_s"], rel=1e-12)
    assert document["jobs"]["goodput"]["jobs_s"] <= document["jobs"]["jobs_s"] + 1e-12
    assert "jobs/s" not in speed_words(made)


def test_calls_that_never_began_are_no_calls_of_jobs(home: Path) -> None:
    rows, plan = chat_jobs(3, 2)
    more = plan_table([plan_row(9, step, call="first") for step in range(2)])
    made = report(home, rows, plan=pa.concat_tables([plan, more]), workload=JOB_WORKLOAD)
    assert [one["not_sent"] for one in made.to_dict()["turns"]["by_call"]] == [0, 0]


def test_no_job_ended_well(home: Path) -> None:
    rows = [call_row(job, 0, outcome="http_error", event_ms=(), end_ms=50.0) for job in range(5)]
    made = report(home, rows, workload=JOB_WORKLOAD)
    jobs = made.to_dict()["jobs"]
    assert (jobs["n"], jobs["ok"], jobs["parts"], jobs["day"]) == (5, 0, None, None)
    assert made.job_metric is None
    assert made.trust.verdict == "invalid"


def test_what_was_asked_beside_what_came(chat: Report, home: Path) -> None:
    assert chat.to_dict()["asked"] == {
        "output_tokens": {"n": 595, "exact_share": 1.0, "asked": 8.0, "came": 8.0},
        "cached_share": None,
    }
    common = job_report(home, 30, 2, workload={**JOB_WORKLOAD, "exact_output": False, "cached_share": 0.5})
    assert common.to_dict()["asked"] == {
        "output_tokens": None,
        "cached_share": {"asked": 0.5, "seen": 0.0},
    }
    assert common.trust.verdict == "suspect"
    assert any("50% of first prompts was to come" in str(reason) for reason in common.trust.reasons)


def test_the_reader_s_pace_is_the_workload_s(home: Path) -> None:
    slow = report(home, lognormal_rows(30, 1), workload={"reading_tok_s": 4.0})
    assert slow.evidence.reading_tok_s == 4.0
    fast = report(home / "fast", lognormal_rows(30, 1, itl_ms=100.0), workload={"reading_tok_s": 1000.0})
    assert float(np.mean(fast.samples("fluidity").values)) < 0.2

"""Logs of requests: as gateways and clients write them, with their times or by conversation."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from paceline.workloads.datasets.chat_log import TOOLS_LEFT_OUT, unix_ns
from paceline.workloads.datasets.index import NO_TIME, OUT_OF_ORDER, UNREAD_TIME
from paceline.workloads.jobs import Job
from tests.workloads.datasets.support import changed, jobs_of, skipped, source, write_jsonl

SENT = 1_700_000_000


def request(text: str, **more: Any) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": text}], **more}


def told(job: Job) -> list[str]:
    return [str(call.turns[-1].text[0]) for call in job.calls]


@pytest.mark.parametrize(
    "row",
    [
        request("x", max_tokens=9),
        {"body": request("x", max_completion_tokens=9)},
        {"request": request("x", max_tokens=9), "response": {"usage": {"completion_tokens": 4}}},
        {"request": {"body": request("x", max_tokens=9)}},
        {
            "custom_id": "1",
            "method": "POST",
            "url": "/v1/responses",
            "body": {"input": "x", "max_output_tokens": 9},
        },
        {"body": {"prompt": "x", "max_tokens": 9}},
        {"request_body": json.dumps(request("x", max_tokens=9)), "response_body": "{"},
        {"body": {"system": [{"type": "text", "text": "s"}], "max_tokens": 9, **request("x")}},
    ],
)
def test_where_gateways_put_the_request(tmp_path: Path, row: dict[str, Any]) -> None:
    (job,) = jobs_of(source(write_jsonl(tmp_path / "a.jsonl", [row]), {"system": "s"}))
    (call,) = job.calls
    assert [(turn.role, turn.text) for turn in call.turns] == [("system", ("s",)), ("user", ("x",))]
    assert (call.output_tokens, call.prompt_tokens) == (9, 2)
    assert job.start_ns is None


def test_messages_are_sent_as_they_were(tmp_path: Path) -> None:
    history = [
        {"role": "system", "content": "be kind"},
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": "two"},
        {"role": "user", "content": "three"},
    ]
    row = {
        "body": {"messages": history, "tools": [{}]},
        "response": {"body": {"usage": {"completion_tokens": 33}}},
    }
    found = source(write_jsonl(tmp_path / "a.jsonl", [row]), output_lengths="recorded")
    (job,) = jobs_of(found)
    assert [turn.text[0] for turn in job.calls[0].turns] == ["be kind", "one", "two", "three"]
    assert job.calls[0].output_tokens == 33
    assert changed(found) == {TOOLS_LEFT_OUT: 1}


def test_a_log_with_times_is_replayed_in_their_order(tmp_path: Path) -> None:
    rows = [request(str(i), timestamp=SENT + t, conversation_id="c") for i, t in enumerate((0, 5, 2.5, 7))]
    found = source(write_jsonl(tmp_path / "a.jsonl", rows), on_end="repeat")
    jobs = jobs_of(found)
    assert [told(job) for job in jobs] == [["0"], ["2"], ["1"], ["3"]]
    assert [job.start_ns for job in jobs] == [0, 2_500_000_000, 5_000_000_000, 7_000_000_000]
    assert changed(found) == {OUT_OF_ORDER: 1}
    assert found.timed
    assert found.n_jobs == 4


def test_a_log_without_times_is_grouped_by_conversation(tmp_path: Path) -> None:
    ids = ["a", None, "b", "a", "b", None, "a"]
    rows = [request(str(i), session_id=one) for i, one in enumerate(ids)]
    found = source(write_jsonl(tmp_path / "a.jsonl", rows), think_ms=100)
    jobs = jobs_of(found)
    assert [told(job) for job in jobs] == [["0", "3", "6"], ["1"], ["2", "4"], ["5"]]
    assert [[call.wait_ms for call in job.calls] for job in jobs] == [[0, 100, 100], [0], [0, 100], [0]]
    assert "rows of one conversation are one job: 4 jobs" in found.report.said
    assert found.several_calls
    alone = source(tmp_path / "a.jsonl", group="none")
    assert (alone.n_jobs, alone.several_calls) == (7, False)


def test_grouping_can_be_asked_for_beside_times(tmp_path: Path) -> None:
    rows = [
        request(str(i), metadata={"session_id": one}, time=f"2023-11-14T22:13:{second}Z")
        for i, (one, second) in enumerate([("a", 30), ("b", 20), ("a", 25), ("b", 40)])
    ]
    jobs = jobs_of(source(write_jsonl(tmp_path / "a.jsonl", rows), group="conversation"))
    assert [told(job) for job in jobs] == [["1", "3"], ["2", "0"]]
    assert [job.start_ns for job in jobs] == [0, 5_000_000_000]


def test_a_row_whose_time_cannot_be_read_is_skipped_and_counted(tmp_path: Path) -> None:
    rows = [request(str(i), timestamp=SENT + i, session_id=str(i)) for i in range(9)]
    rows[4]["timestamp"] = "bad"
    del rows[7]["timestamp"]
    found = source(write_jsonl(tmp_path / "a.jsonl", rows))
    assert found.timed
    assert [told(job) for job in jobs_of(found)] == [["0"], ["1"], ["2"], ["3"], ["5"], ["6"], ["8"]]
    assert skipped(found) == {UNREAD_TIME: 1, NO_TIME: 1}
    assert found.report.skipped[UNREAD_TIME].examples == ["line 5: `timestamp` is bad"]
    assert found.report.skipped[NO_TIME].examples == ["line 8"]


def test_a_log_of_which_most_rows_have_no_time_is_not_replayed_and_that_is_said(tmp_path: Path) -> None:
    rows = [request("a", timestamp=SENT), request("b"), request("c", timestamp="bad")]
    found = source(write_jsonl(tmp_path / "a.jsonl", rows))
    assert not found.timed
    assert [job.start_ns for job in jobs_of(found)] == [None, None, None]
    (said,) = (one for one in found.report.said if "time" in one)
    assert said == (
        "half of the rows or more have no time, so none is replayed at its time: "
        f"1 ({NO_TIME}): line 2; 1 ({UNREAD_TIME}): line 3: `timestamp` is bad"
    )
    none = source(write_jsonl(tmp_path / "b.jsonl", [request("a")]))
    assert "no row has a time, so none is replayed at its time" in none.report.said


def test_the_first_instant_of_1970_is_a_time(tmp_path: Path) -> None:
    rows = [request(str(i), time=f"1970-01-01T00:00:0{i}Z") for i in range(2)]
    assert [job.start_ns for job in jobs_of(source(write_jsonl(tmp_path / "a.jsonl", rows)))] == [0, 10**9]


def test_more_calls_than_a_job_may_have(tmp_path: Path) -> None:
    rows = [request(str(i), thread_id=1) for i in range(1030)]
    found = source(write_jsonl(tmp_path / "a.jsonl", rows))
    (job,) = jobs_of(found)
    assert len(job.calls) == 1024
    assert skipped(found) == {"beyond 1,024 calls of one conversation": 6}


def test_rows_that_are_no_requests(tmp_path: Path) -> None:
    rows = [
        request("x"),
        {"body": {"model": "m"}},
        [1],
        request(""),
        {"messages": [{"role": "assistant", "content": "x"}]},
    ]
    found = source(write_jsonl(tmp_path / "a.jsonl", rows))
    assert skipped(found) == {
        "no messages": 1,
        "not an object": 1,
        "`messages` has no turn with text": 1,
        "no turn of the user": 1,
    }


@pytest.mark.parametrize(
    ("value", "ns"),
    [
        (SENT, SENT * 10**9),
        (SENT + 0.5, SENT * 10**9 + 500_000_000),
        (SENT * 1000 + 7, SENT * 10**9 + 7_000_000),
        (SENT * 10**6, SENT * 10**9),
        (SENT * 10**9 + 1, SENT * 10**9 + 1),
        (str(SENT), SENT * 10**9),
        ("2023-11-14T22:13:20Z", SENT * 10**9),
        ("2023-11-15 00:13:20.25+02:00", SENT * 10**9 + 250_000_000),
        ("2023-11-14 22:13:20", SENT * 10**9),
        (datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC), SENT * 10**9),
        ("soon", None),
        ("1²", None),
        (12, None),
        (-SENT, None),
        (True, None),
        (9.2e18, 9_200_000_000_000_000_000),
        (9.5e18, None),
        (9.5e9, None),
        ("0001-01-01T00:00:00+23:59", None),
        ("9999-12-31T23:59:59-23:59", None),
        ("1969-12-31T23:59:59Z", None),
        (float("nan"), None),
        (10**400, None),
        ([], None),
        (None, None),
    ],
)
def test_times(value: Any, ns: int | None) -> None:
    assert unix_ns(value) == ns

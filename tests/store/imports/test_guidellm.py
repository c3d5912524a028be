import copy
import json
from typing import Any

import pytest

from paceline.errors import ConfigError
from paceline.store.imports.guidellm import read_report
from paceline.store.imports.run import ImportedRun
from tests.store.imports.recorded import GUIDELLM, GUIDELLM_RATES


def document() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(GUIDELLM.read_text())
    return loaded


def read(given: dict[str, Any] | None = None) -> ImportedRun:
    return read_report(document() if given is None else given, "report")[0]


def test_what_the_report_says_of_the_run() -> None:
    run = read()
    assert (run.tool, run.tool_version, run.model) == ("guidellm", "0.8.1", "truth")
    assert run.endpoint is not None
    assert run.endpoint.startswith("http://127.0.0.1:")
    assert run.protocol == "openai-chat"
    assert run.load == {"arrival": {"kind": "closed", "concurrency": 3}}
    assert run.started_at is not None
    assert run.started_at.year == 2026


def test_instants_are_those_of_the_report() -> None:
    entries = document()["benchmarks"][0]["requests"]["successful"]
    by_id = {entry["response_id"]: entry for entry in entries}
    good = [row for row in read().rows if row.outcome == "ok"]
    assert len(good) == len(entries)
    assert min(row.sent_ns or 0 for row in read().rows) == 0
    for row in good:
        entry = by_id[row.response_id]
        assert row.sent_ns is not None
        assert (row.event_ns[0] - row.sent_ns) / 1e6 == pytest.approx(
            entry["time_to_first_token_ms"], abs=1e-5
        )
        assert (row.end_ns - row.sent_ns) / 1e9 == pytest.approx(entry["request_latency"], abs=1e-8)
        assert row.completion_tokens == entry["output_tokens"] == 8
        assert row.event_tokens == (1, 7)
        assert row.text == entry["output"]


def test_reasoning_comes_before_the_first_answer_token() -> None:
    assert {row.event_kind for row in read().rows if row.outcome == "ok"} == {(2, 1)}


def test_failures_have_status_and_reason() -> None:
    failed = [row for row in read().rows if row.outcome != "ok"]
    assert {(row.outcome, row.status) for row in failed} == {("rate_limited", 429)}
    assert all(row.error and "429" in row.error and row.event_ns == () for row in failed)


def test_figures_of_the_report_in_our_units() -> None:
    summary = document()["benchmarks"][0]["metrics"]["request_latency"]["successful"]
    assert read().figures["e2e_ms"]["p99"] == summary["percentiles"]["p99"] * 1000


def test_several_benchmarks_are_several_runs_and_a_rate_is_a_schedule() -> None:
    runs = read_report(json.loads(GUIDELLM_RATES.read_text()), "report")
    assert [run.load["arrival"] for run in runs] == [
        {"kind": "constant", "rate_requests_s": 30.0},
        {"kind": "constant", "rate_requests_s": 60.0},
    ]
    rows = [row for run in runs for row in run.rows]
    assert all(
        row.due_ns is not None and row.sent_ns is not None and row.due_ns <= row.sent_ns for row in rows
    )
    # Answers that came whole have one event, at the end, with all tokens.
    good = [row for row in rows if row.outcome == "ok"]
    assert all(not row.streaming and row.event_ns == (row.end_ns,) for row in good)
    assert {row.event_tokens for row in good} == {(8,)}


def flat(entry: dict[str, Any]) -> dict[str, Any]:
    """A request in the form of 0.2 and 0.3."""
    times = entry["info"]["timings"]
    return {
        "type_": "generative_text_response",
        "scheduler_info": {"worker_start": 1.0},
        "output": entry["output"],
        "prompt_tokens": 8,
        "output_tokens": 8,
        "start_time": times["request_start"],
        "end_time": times["request_end"],
        "first_token_time": times["first_token_iteration"],
        "last_token_time": times["last_token_iteration"],
    }


def test_an_older_form_with_the_times_beside_the_tokens() -> None:
    newer = document()
    older = copy.deepcopy(newer)
    requests = older["benchmarks"][0]["requests"]
    requests["successful"] = [flat(entry) for entry in requests["successful"]]
    requests["errored"] = []
    older = {
        "benchmarks": [
            {
                "requests": requests,
                "worker": {"backend_target": "http://h:8000", "backend_model": "m"},
                "args": {"strategy": {"type_": "synchronous"}},
            }
        ]
    }
    run = read(older)
    assert (run.endpoint, run.model) == ("http://h:8000", "m")
    assert run.load == {"arrival": {"kind": "closed", "concurrency": 1}}

    def spans(found: ImportedRun) -> list[tuple[int, ...]]:
        return sorted((row.end_ns - (row.sent_ns or 0),) for row in found.rows if row.outcome == "ok")

    assert spans(run) == spans(read(newer))


def test_an_older_form_with_the_times_in_the_scheduler_info() -> None:
    newer = document()
    for entries in newer["benchmarks"][0]["requests"].values():
        for entry in entries or []:
            times = entry.pop("info")["timings"]
            entry["scheduler_info"] = {
                "error": None,
                "request_timings": {
                    "request_start": times["request_start"],
                    "request_end": times["request_end"] or times["resolve_end"],
                    "first_iteration": times["first_token_iteration"],
                    "last_iteration": times["last_token_iteration"],
                },
            }
    run = read(newer)
    good = [row for row in run.rows if row.outcome == "ok"]
    assert len(good) == 9
    assert all(len(row.event_ns) == 2 for row in good)


@pytest.mark.parametrize(
    ("where", "value", "what"),
    [
        (("request_start",), "soon", r"successful\[0\]: request_start: 'soon' is no number"),
        (("request_end",), 1.0, r"successful\[0\]: the request ends before it begins"),
        (("token_iterations",), -1, r"token_iterations: -1 is no count"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(where: tuple[str], value: Any, what: str) -> None:
    broken = document()
    broken["benchmarks"][0]["requests"]["successful"][0]["info"]["timings"][where[0]] = value
    with pytest.raises(ConfigError, match=what):
        read(broken)


def test_a_report_without_requests_is_refused() -> None:
    empty = document()
    empty["benchmarks"][0]["requests"] = {"successful": [], "errored": [], "incomplete": []}
    with pytest.raises(ConfigError, match="no request has a start"):
        read(empty)
    with pytest.raises(ConfigError, match="no benchmark"):
        read_report({"benchmarks": []}, "report")


def test_requests_that_were_cut_off_are_cancelled() -> None:
    report = document()
    requests = report["benchmarks"][0]["requests"]
    requests["incomplete"] = [requests["successful"].pop()]
    outcomes = [row.outcome for row in read(report).rows]
    assert outcomes.count("cancelled") == 1


def test_without_usage_tokens_are_not_the_servers() -> None:
    report = document()
    for entry in report["benchmarks"][0]["requests"]["successful"]:
        entry["output_metrics"]["total_tokens"] = None
    good = [row for row in read(report).rows if row.outcome == "ok"]
    assert {row.completion_tokens for row in good} == {None}
    assert {row.event_tokens for row in good} == {(1, 7)}

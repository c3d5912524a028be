import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from paceline.errors import ConfigError
from paceline.store.imports.aiperf import read_records
from paceline.store.imports.fields import read_lines
from paceline.store.imports.run import ImportedRun
from tests.store.imports.recorded import AIPERF


def read(path: Path = AIPERF) -> ImportedRun:
    return read_records(list(read_lines(path)), path)[0]


def records() -> list[dict[str, Any]]:
    return [document for _, document in read_lines(AIPERF)]


def written(folder: Path, given: list[dict[str, Any]]) -> Path:
    path = folder / "profile_export.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in given))
    return path


def test_model_endpoint_version_and_load_come_from_the_summary_beside_it() -> None:
    run = read()
    assert (run.tool, run.tool_version, run.model, run.protocol) == (
        "aiperf",
        "0.13.0",
        "truth",
        "openai-chat",
    )
    assert run.load == {"arrival": {"kind": "closed", "concurrency": 3}}


def test_without_the_summary_the_run_says_so(tmp_path: Path) -> None:
    path = tmp_path / AIPERF.name
    shutil.copy(AIPERF, path)
    run = read(path)
    assert (run.tool_version, run.model, run.endpoint, run.load) == (None, None, None, {})
    assert any("profile_export_aiperf.json" in lack for lack in run.lacks)


def test_arrivals_are_put_together_from_ttft_and_gaps() -> None:
    by_start = {one["metadata"]["request_start_ns"]: one["metrics"] for one in records()}
    origin = min(by_start)
    good = [row for row in read().rows if row.outcome == "ok"]
    assert len(good) >= 9
    for row in good:
        assert row.sent_ns is not None
        metrics = by_start[origin + row.sent_ns]
        first, last = row.event_ns[0] - row.sent_ns, row.event_ns[-1] - row.sent_ns
        assert first / 1e6 == pytest.approx(metrics["time_to_first_token"]["value"], abs=1e-5)
        assert last / 1e6 == pytest.approx(metrics["request_latency"]["value"], abs=1e-5)
        assert len(row.event_ns) == 8 == row.completion_tokens
        # Chunks that came together share an instant, so that one of reasoning may count to the answer.
        assert (row.event_kind[0], row.event_kind[2:]) == (2, (1,) * 6)
        assert row.end_ns >= row.event_ns[-1]


def test_warm_up_is_warm_up() -> None:
    assert [row.phase for row in read().rows].count("warmup") == 2


def test_failures_have_status_and_reason() -> None:
    failed = [row for row in read().rows if row.outcome != "ok"]
    assert {(row.outcome, row.status) for row in failed} == {("rate_limited", 429)}


def test_a_record_without_the_gaps_hides_what_needs_them(tmp_path: Path) -> None:
    given = records()
    for one in given:
        one["metrics"].pop("inter_chunk_latency", None)
    run = read(written(tmp_path, given))
    assert "itl_ms" in run.hidden
    good = [row for row in run.rows if row.outcome == "ok"]
    assert all(len(row.event_ns) == 2 for row in good)
    assert read().hidden == ()


def test_an_answer_that_came_whole_is_one_event(tmp_path: Path) -> None:
    given = records()[:1]
    given[0]["metrics"] = {"request_latency": {"value": 50.0}, "output_sequence_length": {"value": 8}}
    given[0].pop("error", None)
    row = read(written(tmp_path, given)).rows[0]
    assert not row.streaming
    assert row.event_ns[0] - (row.sent_ns or 0) == 50_000_000


def test_a_cancelled_request(tmp_path: Path) -> None:
    given = records()[:2]
    given[0]["metadata"]["was_cancelled"] = True
    assert "cancelled" in [row.outcome for row in read(written(tmp_path, given)).rows]


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"metadata": {"request_start_ns": "x", "request_end_ns": 1}}, "request_start_ns: 'x' is no instant"),
        ({"metadata": {}}, "line 2: this is no record of AIPerf"),
        ({"metrics": {"time_to_first_token": {"value": -1.0}}}, "time_to_first_token: -1.0 is no duration"),
        ({"metrics": []}, "metrics: this is no object"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path: Path, change: dict[str, Any], what: str) -> None:
    given = records()[:2]
    given[1] = {**given[1], **change}
    with pytest.raises(ConfigError, match=what):
        read(written(tmp_path, given))


def test_a_file_without_records_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no record"):
        read(written(tmp_path, []))


def test_figures_of_the_summary() -> None:
    summary = json.loads(AIPERF.with_name("aiperf-0.13.0_aiperf.json").read_text())
    assert read().figures["ttft_ms"]["p95"] == summary["time_to_first_token"]["p95"]
    assert read().figures["requests_s"]["mean"] == summary["request_throughput"]["avg"]

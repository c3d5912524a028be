from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from paceline.cli.commands.calibrate import summary_lines
from paceline.errors import RunError
from paceline.measure import calibrate as module
from paceline.measure.calibrate import (
    GRID,
    RISING,
    Cell,
    calibrate,
    calibration_path,
    cell_result,
    current_error,
    limit_of,
    load_calibration,
    save_calibration,
    stale_reasons,
)
from paceline.measure.host import instrument
from tests.measure.fakes import progress
from tests.support.rows import MS, make_row, rows_table


def cell(streams: int = 64, error_us: float = 20.0, sent: float = 1.0, rate: float = 100.0) -> dict[str, Any]:
    errors = {
        "n": 9,
        "p1": -1.0,
        "p50": 5.0,
        "p99": 9.0,
        "abs_p50": error_us / 2,
        "abs_p99": error_us,
        "abs_max": 99.0,
    }
    offered = round(streams * rate)
    return {
        "streams": streams, "rate_tok_s": rate, "offered_events_s": offered,
        "events_s": round(sent * offered),
        "requests": 9, "unmatched": 0, "ttft_us": errors, "itl_us": errors, "e2e_us": errors,
        "client_cpu_us_per_event": 9.0, "kernel_stamps": True,
    }  # fmt: skip


def test_a_cell_is_an_error_less_the_truth_and_a_rate_by_the_engines_clock() -> None:
    rows = rows_table(
        [
            make_row(request_index=i, response_id=f"r{i}", event_ms=(50.05, 60.05, 70.05, 80.05))
            for i in range(4)
        ]
    )
    truth = [
        {
            "id": f"r{i}",
            "received_ns": i * MS,
            "events": [[round((i + at) * MS), 1, 1] for at in (50, 60, 70, 80)],
        }
        for i in range(4)
    ]
    asked = Cell(streams=2, rate_tok_s=100.0, measure_ns=MS)
    result = cell_result(asked, rows, progress(token_events=16, cpu_ns=320_000), truth)
    assert result["ttft_us"]["abs_p50"] == 50
    assert result["itl_us"]["abs_p99"] == 0
    assert (result["requests"], result["unmatched"]) == (4, 0)
    assert result["client_cpu_us_per_event"] == 20
    assert result["kernel_stamps"]
    late = [*rows.slice(0, 3).to_pylist(), rows.slice(3).to_pylist()[0] | {"kernel_stamped": False}]
    by_read = pa.Table.from_pylist(late, rows.schema)
    assert not cell_result(asked, by_read, progress(token_events=16), truth)["kernel_stamps"]
    late[3]["phase"] = "warmup"
    by_read = pa.Table.from_pylist(late, rows.schema)
    assert cell_result(asked, by_read, progress(token_events=16), truth)["kernel_stamps"]
    # Of sixteen events the fifth is at 60 ms and the thirteenth at 80 ms.
    assert result["events_s"] == 400
    with pytest.raises(RunError, match="2 streams"):
        cell_result(asked, rows, progress(), [])


def test_what_limits_a_cell() -> None:
    assert limit_of(cell()) is None
    assert limit_of(cell(error_us=1_500)) == "error"
    assert limit_of(cell(sent=0.5)) == "engine"
    assert limit_of(cell(sent=0.5, error_us=1_500)) == "error"


def test_rising_stops_at_the_first_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[float] = []

    def run_cell(asked: Cell, load: object) -> dict[str, Any]:
        seen.append(asked.rate_tok_s)
        return cell(asked.streams, error_us=20 if asked.rate_tok_s < 300 else 5_000, rate=asked.rate_tok_s)

    monkeypatch.setattr(module, "run_cell", run_cell)
    document = calibrate()
    assert seen == [100.0] * len(GRID) + [150.0, 225.0, 340.0]
    assert document["max_events_s"] == 512 * 225
    assert document["max_events_limited_by"] == "error"
    assert len(document["cells"]) == len(GRID) + 3
    assert calibrate(quick=True)["max_events_limited_by"] == "not looked for"


def test_what_a_slow_engine_sent_counts_and_what_was_not_looked_for_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    errors = {16: 30.0, 64: 20.0}

    def run_cell(asked: Cell, load: object) -> dict[str, Any]:
        return cell(asked.streams, errors[asked.streams], sent=0.8 if asked.streams == 64 else 1.0)

    monkeypatch.setattr(module, "run_cell", run_cell)
    document = calibrate(quick=True)
    assert document["max_events_s"] == 0.8 * 64 * 100
    assert document["max_events_limited_by"] == "not looked for"
    assert summary_lines(document) == [
        "up to 5,120 events/s with an error under 1000 us (p99);",
        "no limit was looked for beyond 5,120 events/s",
    ]
    errors[64] = 3_000.0
    document = calibrate(quick=True)
    assert (document["max_events_s"], document["max_events_limited_by"]) == (1_600, "error")
    errors[16] = 3_000.0
    document = calibrate(quick=True)
    assert document["max_events_s"] is None
    assert "in every cell" in summary_lines(document)[0]


def test_the_whole_takes_less_than_a_minute() -> None:
    cells = (*GRID, *RISING)
    # What each cell measures, its warm-up, the drain of its last requests, and a second to start its engine.
    whole_s = sum(one.measure_ns / 1e9 + 0.7 + 2 * one.request_s + 1 for one in cells)
    assert whole_s < 60


def test_a_calibration_is_kept_found_and_goes_stale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PACELINE_HOME", str(tmp_path))
    assert load_calibration() is None
    assert current_error(8) is None
    slow = cell(512, error_us=80, rate=500)
    document = {
        "schema": "paceline.calibration/1", "made_at": "2026-11-30T00:00:00+00:00", "quick": False,
        "instrument": instrument(), "cells": [cell(512, 60), cell(1, 10), cell(64, 30), slow],
        "max_events_s": 50_000,
    }  # fmt: skip
    path = save_calibration(document)
    assert path == calibration_path()
    assert stale_reasons(document) == []

    def at(streams: int | None) -> tuple[int, float]:
        found = current_error(streams)
        assert found is not None
        return found["streams"], found["instrument_error_us"]["p99"]

    assert at(1) == (1, 10)
    assert at(2) == (64, 30)
    assert at(65) == at(10_000) == at(None) == (512, 60)

    document["instrument"] = {**instrument(), "version": "0.0.1"}
    save_calibration(document)
    assert stale_reasons(document) == [f"version was 0.0.1, is {instrument()['version']}"]
    assert current_error(1) is None
    path.write_text("{ not json")
    assert load_calibration() is None

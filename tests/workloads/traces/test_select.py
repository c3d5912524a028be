"""Window, limits of length, number of requests, and order; every request is accounted for."""

import json
from pathlib import Path
from typing import Any

import pytest

from paceline.errors import ConfigError
from paceline.workloads.read_report import ReadReport
from paceline.workloads.traces.read import read_trace
from paceline.workloads.traces.rows import TraceRows
from paceline.workloads.traces.select import (
    BLOCKS_LEFT_OUT,
    BLOCKS_MISSING,
    INPUT_CLIPPED,
    OUT_OF_ORDER,
    OUTPUT_CLIPPED,
    select,
)
from paceline.workloads.traces.spec import TraceSpec

# timestamp ms, input, output, blocks
ROWS = [
    (1000, 600, 10, [0, 1]),
    (2000, 5000, 20, [0, *range(2, 11)]),
    (1500, 100, 900, [11]),
    (9000, 512, 40, [0]),
    (9000, 513, 50, [0, 12]),
]


def selected(tmp_path: Path, rows: list[Any] = ROWS, **spec: Any) -> tuple[TraceRows, ReadReport]:
    path = tmp_path / "t.jsonl"
    keys = ("timestamp", "input_length", "output_length", "hash_ids")
    path.write_text("".join(json.dumps(dict(zip(keys, row, strict=True))) + "\n" for row in rows))
    report = ReadReport("trace", path.name, "0" * 64)
    read = read_trace(path, "mooncake", report)
    found = select(read, TraceSpec(path=str(path), **spec), report)
    assert report.used == len(found)
    assert report.used + report.n_skipped == report.rows == len(rows)
    return found, report


def counts(report: ReadReport) -> tuple[dict[str, int], dict[str, int]]:
    return (
        {reason: tally.count for reason, tally in report.skipped.items()},
        {reason: tally.count for reason, tally in report.changed.items()},
    )


def test_all_in_the_order_of_time(tmp_path: Path) -> None:
    rows, report = selected(tmp_path)
    assert rows.line.tolist() == [1, 3, 2, 4, 5]
    assert rows.at_ns.tolist() == [0, 500_000_000, 1_000_000_000, 8_000_000_000, 8_000_000_000]
    assert rows.blocks_of(2).tolist() == [0, *range(2, 11)]
    assert counts(report) == ({}, {OUT_OF_ORDER: 1})
    assert report.changed[OUT_OF_ORDER].examples == ["line 3"]


def test_the_window_is_half_open_and_counts_from_the_first_request(tmp_path: Path) -> None:
    rows, report = selected(tmp_path, start_s=0.5, end_s=8)
    assert rows.line.tolist() == [3, 2]
    assert counts(report)[0] == {"before the window": 1, "after the window": 2}


def test_longer_ones_are_skipped_or_clipped(tmp_path: Path) -> None:
    rows, report = selected(tmp_path, max_input_tokens=1024, max_output_tokens=100)
    assert rows.line.tolist() == [1, 4, 5]
    assert counts(report)[0] == {"input above max_input_tokens": 1, "output above max_output_tokens": 1}
    rows, report = selected(tmp_path, max_input_tokens=1024, max_output_tokens=100, over="clip")
    assert rows.input_tokens.tolist() == [600, 100, 1024, 512, 513]
    assert rows.output_tokens.tolist() == [10, 100, 20, 40, 50]
    assert rows.blocks_of(2).tolist() == [0, 2]
    assert counts(report) == ({}, {OUT_OF_ORDER: 1, INPUT_CLIPPED: 1, OUTPUT_CLIPPED: 1})


def test_the_limit_takes_the_first_to_arrive(tmp_path: Path) -> None:
    rows, report = selected(tmp_path, limit=2)
    assert rows.line.tolist() == [1, 3]
    assert counts(report)[0] == {"beyond the limit": 3}
    assert report.skipped["beyond the limit"].examples == ["line 2", "line 4", "line 5"]


def test_blocks_that_do_not_fit_the_input(tmp_path: Path) -> None:
    rows, report = selected(tmp_path, [(0, 600, 1, [0, 1, 2]), (1, 600, 1, [0]), (2, 600, 1, [])])
    assert [rows.blocks_of(i).tolist() for i in range(3)] == [[0, 1], [0], []]
    assert counts(report)[1] == {BLOCKS_LEFT_OUT: 1, BLOCKS_MISSING: 2}


def test_nothing_left_is_an_error_that_says_how_long_the_trace_is(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"of 5 requests none is left: 5 \(before the window\)") as error:
        selected(tmp_path, start_s=9)
    assert "the trace lasts 8.0 s" in (error.value.hint or "")


def test_nothing_that_can_be_read_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_text("{}\n{}\n")
    report = ReadReport("trace", "t", "0" * 64)
    with pytest.raises(
        ConfigError, match=r"none of its 2 requests can be read: 2 \(no timestamp\): line 1, line 2"
    ):
        select(read_trace(path, "mooncake", report), TraceSpec(path=str(path)), report)

import json
import re
from pathlib import Path

import pyarrow as pa
import pytest

from paceline.report.comparison import ComparisonReport, compare_reports
from paceline.report.comparison_text import legend
from paceline.report.differences import FROM_SENT
from paceline.report.model import build_report
from paceline.report.sentences import speed_words
from paceline.store.runs import open_run
from paceline.store.writer import RunWriter
from tests.report.samples import CALIBRATION, CLOSED, OPEN, WORKLOAD, failed_row, healthy_progress, report
from tests.store.samples import manifest
from tests.support.rows import lognormal_rows

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "report.md"


def verdicts(comparison: ComparisonReport) -> dict[str, str]:
    return {f"{r.metric} {r.statistic}": r.verdict.outcome for r in comparison.results}


def test_a_faster_run_is_called_faster(home: Path) -> None:
    slow = report(home, lognormal_rows(600, 1))
    fast = report(home, lognormal_rows(600, 2, ttft_ms=100.0))
    comparison = compare_reports(slow, fast)
    assert verdicts(comparison)["ttft_ms p50"] == "faster"
    assert verdicts(compare_reports(fast, slow))["ttft_ms p50"] == "slower"
    assert verdicts(comparison)["itl_ms p50"] == "no difference"
    ratio = next(r.ratio for r in comparison.results if (r.metric, r.statistic) == ("ttft_ms", "p50"))
    assert ratio.value == pytest.approx(0.5, rel=0.1)
    assert comparison.notes == (
        "not measured in turn: what changed between the two runs counts as a difference",
    )


def test_rates_and_shares_are_compared_once(home: Path) -> None:
    made = report(home, lognormal_rows(600, 1))
    names = verdicts(compare_reports(made, made))
    assert "output_tok_s p50" in names
    assert "output_tok_s p99" not in names
    assert "fluidity mean" in names


def test_what_is_not_alike_is_named(home: Path) -> None:
    a = report(home, lognormal_rows(100, 1))
    b = report(
        home,
        lognormal_rows(100, 2),
        load={**CLOSED, "arrival": {"kind": "closed", "concurrency": 64}},
        workload={**WORKLOAD, "prompt_tokens": "64"},
        host={"cpu": "another"},
        version="0.0.9",
    )
    notes = " ".join(compare_reports(a, b).notes)
    for words in (
        "load is not the same (concurrency 8 against 64)",
        "workload is not the same (prompt tokens 512 against 64)",
        "same machine",
        "0.0.9",
    ):
        assert words in notes


def test_an_open_and_a_closed_loop_are_compared_from_the_sending(home: Path) -> None:
    closed = report(home, lognormal_rows(400, 1))
    opened = report(home, lognormal_rows(400, 2, ttft_ms=400.0), load=OPEN)
    for a, b in ((closed, opened), (opened, closed)):
        comparison = compare_reports(a, b)
        found = verdicts(comparison)
        assert {"ttft_ms p50", "ttft_ms p99", "e2e_ms p50", "e2e_ms p99"} <= set(found)
        assert found["ttft_ms p50"] == ("slower" if b is opened else "faster")
        assert FROM_SENT in comparison.notes
        assert "due" not in legend(comparison)
        assert "closed loop, 8 in flight" in comparison.notes[0]
    both = compare_reports(opened, opened)
    assert "ttft_from_intended_ms p50" in verdicts(both)
    assert FROM_SENT not in both.notes


def test_a_comparison_is_no_better_than_its_worse_side(home: Path) -> None:
    good = report(home, lognormal_rows(100, 1))
    bad = report(home, [failed_row("empty", 1)])
    comparison = compare_reports(good, bad)
    assert comparison.verdict == "invalid"
    assert comparison.results == []


def interleaved(home: Path, ids: tuple[str, str]) -> None:
    for place, run_id in enumerate(ids):
        load = {**CLOSED, "interleaved": {"side": "AB"[place], "with": ids[1 - place], "pairs": 10}}
        made = manifest(id=run_id, workload=WORKLOAD, load=load, calibration=CALIBRATION)
        writer = RunWriter.create(made, at=home)
        for block in range(10):
            rows = lognormal_rows(40, 10 * block + place, ttft_ms=200.0 * (1 + block % 3), segment=block)
            index = pa.array([40 * block + k + 1 for k in range(40)], pa.uint64())
            rows = rows.set_column(1, rows.schema.field(1), index)
            for batch in rows.to_batches():
                writer.append(batch)
            writer.append_progress(healthy_progress(rows, block))
        writer.finish("complete")


def test_runs_measured_in_turn_are_compared_pair_by_pair(home: Path) -> None:
    interleaved(home, ("20261130-000000-aaaa", "20261130-000000-bbbb"))
    a, b = (
        build_report(open_run(run_id, at=home)) for run_id in ("20261130-000000-aaaa", "20261130-000000-bbbb")
    )
    comparison = compare_reports(a, b)
    assert comparison.paired
    assert comparison.notes == ()
    ttft = comparison.results[0]
    assert (ttft.metric, ttft.blocks_a, ttft.blocks_b) == ("ttft_ms", 10, 10)
    apart = compare_reports(a, report(home, lognormal_rows(400, 1)))
    assert not apart.paired


def test_the_document_is_as_described(home: Path) -> None:
    made = report(home, lognormal_rows(100, 1))
    text = compare_reports(made, made).to_json()
    document = json.loads(text)
    assert "NaN" not in text
    page = PAGE.read_text().split("# `paceline.comparison/1`")[1].split("# CSV")[0]
    described = set(
        re.findall(r"`([\w\[\].]+)`", "\n".join(re.findall(r"^\| ([^|]+) \|", page, re.MULTILINE)))
    )
    actual = set(document) | {f"results[].{key}" for key in document["results"][0]}
    assert described == actual
    assert set(document["a"]) == {"run", "trust", "outcomes", "throughput"}


def test_throughput_of_both_sides_is_over_the_same_kind_of_window(home: Path) -> None:
    long, short = report(home, lognormal_rows(80, 1)), report(home, lognormal_rows(8, 2))
    assert long.evidence.throughput.steady
    assert not short.evidence.throughput.steady
    comparison = compare_reports(long, short)
    of_a, of_b = comparison.a.evidence.throughput, comparison.b.evidence.throughput
    assert of_a.requests_s == of_a.whole_requests_s == long.evidence.throughput.whole_requests_s
    assert of_b == short.evidence.throughput
    assert speed_words(comparison.a).endswith("as the other side")
    assert speed_words(comparison.b).endswith("no steady part")
    assert compare_reports(long, long).a.evidence.throughput.steady

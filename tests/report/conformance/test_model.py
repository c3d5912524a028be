import json
from pathlib import Path
from typing import Any

import pytest

from paceline.report.conformance.model import Conformance, conformance
from paceline.report.conformance.tools import definitions
from paceline.report.model import build_report
from tests.report.conformance.golden import rows
from tests.report.samples import report, store


@pytest.fixture
def view(tmp_path: Path) -> Conformance:
    return conformance(report(tmp_path, rows()), definitions(["all"]))


def test_ours_are_the_reports_own(view: Conformance) -> None:
    ttft = view.report.metrics["ttft_ms"].summary
    assert view.own["ttft_ms"].p50 == ttft.p50.value
    assert view.own["requests_s"].mean == view.report.evidence.throughput.requests_s


def test_differences_say_how_many_requests_they_touch(view: Conformance) -> None:
    aiperf = view.tools[1]
    touched = {touch.difference.words[:12]: touch.requests for touch in aiperf.touches}
    assert touched["counts from "] == 1
    assert touched["takes the fi"] == 1
    assert touched["a mean for e"] is None


def test_the_document(view: Conformance) -> None:
    document = json.loads(view.to_json())
    assert document["schema"] == "paceline.conformance/1"
    assert document["run"]["measured"] == 5
    assert document["run"]["new_connections"] == 1
    vllm = next(tool for tool in document["tools"] if tool["tool"] == "vllm")
    assert vllm["metrics"]["itl_ms"]["mean"] == pytest.approx(32)
    assert vllm["metrics"]["itl_ms"]["name"] == "itl"
    assert vllm["requests"]["counted"] == 4
    assert {source["repository"] for source in vllm["sources"]} == {"vllm-project/vllm"}
    assert any(not one["in_these_figures"] for one in vllm["differences"])


IMPORTED: dict[str, Any] = {
    "tool": "guidellm",
    "version": "0.8.1",
    "file": "benchmarks.json",
    "lacks": ["the instants of all tokens"],
    "hidden": ["itl_ms", "chunk_gap_ms", "longest_stall_ms", "fluidity"],
    "figures": {"ttft_ms": {"n": 4, "mean": 125.0, "p50": 100.0, "p99": None}, "requests_s": {"n": 0}},
}


def test_an_imported_run_has_its_tools_own_figures_beside_the_view(tmp_path: Path) -> None:
    run = store(tmp_path, rows(), imported=IMPORTED)
    view = conformance(build_report(run), definitions(["guidellm", "vllm"]))
    guidellm, vllm = view.tools
    assert guidellm.printed["ttft_ms"].p50 == guidellm.view.figures["ttft_ms"].p50
    assert guidellm.printed["requests_s"].n == 0
    assert vllm.printed == {}


def test_an_imported_run_has_no_figures_that_its_rows_do_not_tell(tmp_path: Path) -> None:
    run = store(tmp_path, rows(), imported=IMPORTED)
    view = conformance(build_report(run), definitions(["guidellm", "vllm", "aiperf"]))
    guidellm, vllm, aiperf = (one.view.figures for one in view.tools)
    assert vllm["itl_ms"].n == aiperf["chunk_gap_ms"].n == view.own["itl_ms"].n == 0
    # From the first and the last token alone.
    assert guidellm["itl_ms"].n == 6
    assert guidellm["output_tok_s"].mean is not None
    assert guidellm["output_tok_s"].p50 is None


def test_a_run_without_a_place_in_time_has_no_rates(tmp_path: Path) -> None:
    run = store(tmp_path, rows(), imported={**IMPORTED, "hidden": ["rates"]})
    view = conformance(build_report(run), definitions(["all"]))
    assert all(not one.view.figures["requests_s"].n for one in view.tools)
    assert view.own["requests_s"].n == 0

"""Runs of other tools in our reports; and our views of them against the tools' own files."""

import json
from pathlib import Path

import pytest

from paceline.report.comparison import compare_reports
from paceline.report.conformance.figures import Figure
from paceline.report.conformance.model import conformance
from paceline.report.conformance.tools import DEFINITIONS
from paceline.report.html import render_html
from paceline.report.model import Report, build_report
from paceline.report.series import timeline
from paceline.report.terminal import render_text
from paceline.store.imports.files import read_file
from paceline.store.imports.run import store_run
from paceline.store.runs import open_run
from tests.report.samples import report
from tests.store.imports.recorded import AIPERF, GUIDELLM, GUIDELLM_RATES, vllm_result


def imported(home: Path, path: Path, number: int = 0) -> Report:
    return build_report(open_run(store_run(read_file(path)[number], path, at=home), at=home))


def of_vllm(home: Path, **fields: object) -> Report:
    path = home / "result.json"
    path.write_text(json.dumps(vllm_result(**fields)))  # type: ignore[arg-type]
    return imported(home, path)


# GuideLLM computes with Unix seconds of 0.24 us; a rate is over gaps of a few ms.
PRECISION = {"guidellm": 1e-6, "aiperf": 1e-9}
RATE_PRECISION = 1e-4


@pytest.mark.parametrize(
    ("path", "number"), [(GUIDELLM, 0), (GUIDELLM_RATES, 0), (GUIDELLM_RATES, 1), (AIPERF, 0)]
)
def test_our_view_of_a_tools_file_is_what_the_file_says(tmp_path: Path, path: Path, number: int) -> None:
    found = imported(tmp_path, path, number)
    assert found.manifest.imported is not None
    tool = DEFINITIONS[found.manifest.imported["tool"]]
    view = conformance(found, [tool]).tools[0]
    assert len(view.printed) >= 5
    for name, told in view.printed.items():
        ours = view.view.figures[name]
        if tool.name == "aiperf" and name in ("output_tok_s", "requests_s"):
            # Its phase begins before its first request and ends after its last.
            assert told.mean is not None
            assert ours.mean is not None
            assert told.mean < ours.mean < 1.2 * told.mean
            continue
        precision = PRECISION[tool.name] if name.endswith("_ms") else RATE_PRECISION
        assert same(ours, told, precision), name


def same(ours: Figure, told: Figure, precision: float) -> bool:
    if not told.n:
        return not ours.n
    pairs = [(getattr(ours, q), getattr(told, q)) for q in ("mean", "p50", "p90", "p95", "p99", "max")]
    both = [(one, other) for one, other in pairs if one is not None and other is not None]
    return (
        ours.n == told.n
        and bool(both)
        and all(one == pytest.approx(other, rel=precision) for one, other in both)
    )


def test_it_is_never_trusted_as_our_own(tmp_path: Path) -> None:
    trust = imported(tmp_path, GUIDELLM).trust
    assert trust.verdict != "trusted"
    codes = {reason.code for reason in trust.reasons}
    assert "imported" in codes
    # What is said of our own client and its calibration is not said of another's.
    assert not codes & {"user_stamps", "no_calibration", "cpu_fraction"}
    text = " ".join(str(reason) for reason in trust.reasons)
    assert "guidellm 0.8.1 measured this" in text
    assert "kernel receive stamps" in text


def test_what_the_file_does_not_tell_is_in_no_report(tmp_path: Path) -> None:
    found = imported(tmp_path, GUIDELLM)
    assert {"ttft_ms", "e2e_ms", "tpot_ms"} <= set(found.metrics)
    assert not {"itl_ms", "chunk_gap_ms", "longest_stall_ms", "fluidity"} & set(found.metrics)
    # Two events before the answer are reasoning: 3 ms each.
    assert found.metrics["ttfat_ms"].summary.p50.value > found.metrics["ttft_ms"].summary.p50.value
    assert "ITL" not in render_text(found)
    assert render_html(found).startswith("<!doctype html>")


def test_all_arrivals_give_all_metrics(tmp_path: Path) -> None:
    found = imported(tmp_path, AIPERF)
    assert {"itl_ms", "longest_stall_ms", "fluidity"} <= set(found.metrics)
    assert found.metrics["itl_ms"].summary.p50.value == pytest.approx(3.0, rel=0.2)


def test_totals_alone_are_said_to_be(tmp_path: Path) -> None:
    found = of_vllm(tmp_path, detailed=False)
    assert found.trust.verdict == "invalid"
    assert any("only totals" in str(reason) for reason in found.trust.reasons)
    view = conformance(found, [DEFINITIONS["vllm"]]).tools[0]
    assert view.printed["ttft_ms"].p99 == 199.0
    assert view.view.requests == 0


def test_a_detailed_result_of_vllm(tmp_path: Path) -> None:
    found = of_vllm(tmp_path)
    view = conformance(found, [DEFINITIONS["vllm"]]).tools[0]
    assert view.view.figures["ttft_ms"].mean == pytest.approx(150)
    assert view.view.figures["itl_ms"].mean == pytest.approx(16)
    # (20 / 2 + 60 / 3) / 2
    assert view.view.figures["tpot_ms"].mean == pytest.approx(15)


def test_without_a_place_in_time_there_are_no_rates_and_no_timeline(tmp_path: Path) -> None:
    found = of_vllm(tmp_path, start_times=None)
    assert found.evidence.throughput.requests_s is None
    assert timeline(found.evidence) is None
    assert found.metrics["ttft_ms"].summary.n == 2
    assert "requests/s" not in render_text(found)


def test_a_comparison_says_that_different_tools_measured(tmp_path: Path) -> None:
    ours = report(tmp_path / "ours")
    made = compare_reports(ours, imported(tmp_path, AIPERF))
    assert any("Paceline and aiperf 0.13.0" in note for note in made.notes)
    assert {result.metric for result in made.results} >= {"ttft_ms", "e2e_ms", "itl_ms"}

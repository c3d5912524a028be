from pathlib import Path

from paceline.report.conformance.model import conformance
from paceline.report.conformance.text import render_text
from paceline.report.conformance.tools import definitions
from tests.report.conformance.golden import rows
from tests.report.samples import OPEN, report


def text(home: Path, *tools: str, **fields: object) -> str:
    return render_text(conformance(report(home, rows(), **fields), definitions(tools)))


def test_it_fits_80_columns(tmp_path: Path) -> None:
    # A source is never broken, so that it can be copied.
    long = [line for line in text(tmp_path, "all").splitlines() if len(line) > 80]
    assert long == []


def test_figures_side_by_side(tmp_path: Path) -> None:
    lines = text(tmp_path, "guidellm", "llmperf").splitlines()
    start = lines.index(next(line for line in lines if line.startswith("time to first token, ms")))
    assert [line.split()[0] for line in lines[start + 1 : start + 4]] == ["paceline", "guidellm", "llmperf"]
    assert lines[start + 2].split()[1:5] == ["[1]", "4", "125", "100"]


def test_a_figure_that_the_tools_own_would_part_from_is_marked_and_said(tmp_path: Path) -> None:
    lines = text(tmp_path, "vllm").splitlines()
    start = next(place for place, line in enumerate(lines) if line.startswith("time to first token, ms"))
    assert lines[start + 1].split()[0] == "paceline"
    assert "[" not in lines[start + 1]
    assert lines[start + 2].startswith("  vllm [1,2]")
    assert "  [1] shorter where it counts an event with the role: rows have no instant of it" in lines
    # The rates have no such difference.
    start = next(place for place, line in enumerate(lines) if line.startswith("output tokens a second"))
    assert lines[start + 2].startswith("  vllm  ")


def test_what_no_request_here_had_is_no_mark(tmp_path: Path) -> None:
    silent = [row | {"events": len(row["event_ns"])} for row in rows()]
    assert "with the role:" not in render_text(
        conformance(report(tmp_path, silent), definitions(["vllm"]))
    ).replace("\n", " ")


def test_where_they_part_first_what_moves_these_figures(tmp_path: Path) -> None:
    shown = text(tmp_path, "aiperf")
    assert "1 request here, ttft_ms, e2e_ms] counts from before the connection" in " ".join(shown.split())
    assert shown.index("1 request here") < shown.index("not in these figures")


def test_an_open_loop_says_from_where_its_headline_counts(tmp_path: Path) -> None:
    assert "our headline counts from" in text(tmp_path, "vllm", load=OPEN)


def test_requests_hung_up_on_are_told_of(tmp_path: Path) -> None:
    left = [{**row, "outcome": "hung_up"} if row["outcome"] == "ok" else row for row in rows()]
    shown = render_text(conformance(report(tmp_path, left), definitions(["vllm"])))
    assert "hung up on, as planned" in shown
    assert "hung up on" not in text(tmp_path / "none", "vllm")


def test_sources_with_their_version(tmp_path: Path) -> None:
    assert "vllm-project/guidellm src/guidellm/schemas/base/statistics.py 0.8.1" in text(tmp_path, "guidellm")


def test_nothing_of_what_a_server_named_steers_the_terminal(tmp_path: Path) -> None:
    assert "\x1b" not in text(tmp_path, "vllm", model="evil\x1b[2J")

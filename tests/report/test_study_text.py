from typing import Any

import pytest

from paceline.report.study_csv import csv_columns, render_csv
from paceline.report.study_text import render_markdown, render_text
from paceline.report.study_words import asked_rows, at_words
from tests.report.study_samples import capacity, figures, step, study, sweep

CLOSED = {"kind": "closed", "concurrency": 4}
POISSON = {"kind": "poisson", "rate_requests_s": 2.5}


def test_a_sweep_fits_80_columns_and_marks_the_knee() -> None:
    text = render_text(sweep())
    assert max(len(line) for line in text.splitlines()) <= 80
    assert any(line.startswith("16* ") for line in text.splitlines())
    assert "knee at concurrency 16" in text
    assert "7 of 7, each point once, in random order" in text
    assert any(line.startswith("64 ") and line.endswith("cut") for line in text.splitlines())


def test_a_capacity_has_its_answer_first() -> None:
    lines = render_text(capacity()).splitlines()
    assert lines[0] == "highest load that meets: 16 in flight"
    assert "95% confidence" in " ".join(lines[:4])


def test_every_verdict_has_its_words() -> None:
    short = render_text(capacity("not enough data", load=None, lo=12.0, hi=18.0, needs_s=750.0))
    assert short.startswith("not enough data: needs about 12 min 30 s more\n")
    assert "so far the capacity is thought to be 12 to 18 in flight" in short
    above = render_text(capacity("above the range", load=64.0))
    assert above.startswith("above the range: 64 in flight still meets")
    below = render_text(capacity("below the range", load=None))
    assert below.startswith("below the range: already 1 in flight does not meet")
    assert "2 steps are left out" in render_text(capacity(left_out=2))


def test_each_limit_by_itself_is_said() -> None:
    report = capacity()
    report.manifest.asked.update(criteria=["ttft_ms", "itl_ms"], slo={"ttft_ms": 150.0, "itl_ms": 20.0})
    assert "each by itself" in render_text(report)


def test_a_study_without_steps_can_be_shown() -> None:
    assert "0 of 0" in render_text(study([]))
    assert render_markdown(study([])).startswith("# Sweep: m")
    assert render_csv(study([])).count("\n") == 1


def test_what_an_endpoint_says_does_not_break_the_page() -> None:
    bad = figures(1, trust="suspect", reasons=[{"code": "x", "text": "a | b\x1b[31m"}])
    report = study([step(0, {"concurrency": 1}, figures=bad)])
    assert "\x1b" not in render_text(report)
    assert "a \\| b" in render_markdown(report)


def test_markdown_has_intervals() -> None:
    text = render_markdown(sweep())
    assert "20.0 (19.0 to 21.0)" in text
    assert "| 16\\* |" in text


def test_csv_has_a_line_a_point_and_an_empty_field_for_nothing() -> None:
    lines = render_csv(sweep()).splitlines()
    assert lines[0].split(",") == csv_columns(["concurrency"])
    assert len(lines) == 8
    first, last = lines[1].split(","), lines[-1].split(",")
    assert first[:6] == ["1", "1", "0", "100", "100", "trusted"]
    assert float(first[6]) == 20.0
    assert set(last[6:]) == {""}


def test_values_are_shown_as_they_were_given() -> None:
    axes = {"streaming": True, "prompt_tokens": "8"}
    report = study([step(n, {**axes, "concurrency": n + 1, "streaming": n > 1}) for n in range(4)])
    text = render_text(report)
    assert "streaming=true, prompt_tokens=8" in text
    assert "streaming=false" in text
    assert at_words({"streaming": True, "rate": 0.5}) == "streaming true, rate 0.5"


@pytest.mark.parametrize(
    ("load", "axes", "words"),
    [
        ({"arrival": CLOSED}, ["concurrency"], "closed loop, 4 s"),
        ({"arrival": CLOSED}, ["output_tokens"], "closed loop, 4 in flight, 4 s"),
        ({"arrival": CLOSED, "jobs": 3}, ["concurrency"], "closed loop, 4 s"),
        ({"arrival": {**CLOSED, "concurrency": 1}, "jobs": 3}, ["concurrency"], "closed loop, 4 s"),
        ({"arrival": POISSON}, ["rate"], "open loop, Poisson, 4 s"),
        ({"arrival": POISSON}, ["concurrency", "rate"], "open loop, Poisson, 4 s"),
        ({"arrival": POISSON}, ["concurrency"], "open loop, 2.5 requests/s, Poisson, 4 s"),
        ({"arrival": POISSON, "jobs": 3}, ["rate"], "open loop, Poisson, 4 s"),
    ],
)
def test_each_step_is_said_without_what_is_varied(load: dict[str, Any], axes: list[str], words: str) -> None:
    steps = [step(place, dict.fromkeys(axes, place + 1)) for place in range(3)]
    report = study(steps, asked={"load": {**load, "duration_ns": 4_000_000_000}})
    assert dict(asked_rows(report))["Each step"].startswith(f"{words}; ")

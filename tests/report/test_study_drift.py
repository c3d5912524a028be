from typing import Any

import pytest

from paceline.report.study_drift import drifted
from paceline.report.study_html import render_html
from paceline.report.study_text import render_markdown, render_text
from tests.report.study_samples import capacity, figures, metric, step, study, sweep


def repeats(*rates: dict[str, Any] | None, **fields: Any) -> list[Any]:
    return [
        step(place, {"concurrency": 2}, repeat=place, figures={**figures(2), "user_tok_s": rate}, **fields)
        for place, rate in enumerate(rates)
    ]


def test_an_endpoint_that_gets_slower_by_half_in_the_midst_is_said() -> None:
    steps = [*repeats(metric(100.0), metric(50.0), metric(99.0)), step(3, {"concurrency": 4})]
    report = study(steps)
    assert report.trust == "suspect"
    assert [(one.code, one.steps) for one in report.reasons] == [("drift", 3)]
    text = " ".join(render_text(report).split())
    assert "was 2.00 times as high in step 1 as in step 2" in text
    assert "drift" in report.to_json()


@pytest.mark.parametrize(
    "rates",
    [
        (metric(100.0),),
        (metric(100.0), metric(95.0)),
        # So far apart, and so unsure.
        (
            {"p50": {"value": 100.0, "lo": 60.0, "hi": 140.0}},
            {"p50": {"value": 70.0, "lo": 60.0, "hi": 80.0}},
        ),
        ({"p50": {"value": 100.0, "lo": None, "hi": None}}, {"p50": {"value": 50.0, "lo": None, "hi": None}}),
        (metric(100.0), None),
        (None, None),
    ],
)
def test_what_may_be_chance_is_no_drift(rates: tuple[dict[str, Any] | None, ...]) -> None:
    assert drifted(repeats(*rates)) is None


def test_other_loads_and_steps_that_were_cut_short_are_no_repeats() -> None:
    assert drifted(sweep().manifest.steps) is None
    assert drifted(capacity().manifest.steps) is None
    assert drifted(repeats(metric(100.0), metric(50.0), overload="too much")) is None


def test_a_study_without_steps_is_not_trusted() -> None:
    report = study([])
    assert report.to_dict()["trust"]["reasons"][0]["code"] == "no_step"
    assert report.trust == "invalid"
    for text in (render_text(report), render_markdown(report), render_html(report)):
        assert "no step has ended" in text
        assert "trusted" not in text.lower().replace('"trusted"', "").partition("<style")[0]

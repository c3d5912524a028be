import json
import re
from typing import Any

import pytest

from paceline.report.study import StudyReport
from paceline.report.study_charts import study_charts
from paceline.report.study_html import render_html
from tests.report.study_samples import capacity, figures, metric, step, study, sweep


def test_the_curves_of_a_sweep() -> None:
    assert list(study_charts(sweep())) == ["interactivity", "ttft", "goodput"]


def test_a_capacity_has_the_share_first() -> None:
    assert next(iter(study_charts(capacity()))) == "share"


def test_charts_have_the_figures_the_bands_and_the_knee() -> None:
    text = json.dumps(study_charts(sweep())["ttft"])
    assert '"y_lo": 19.0' in text
    assert '"text": "knee"' in text
    assert '"at": 150.0' in text


@pytest.mark.parametrize(("loads", "least"), [((1, 2, 4), 1), ((0.5, 1.0, 1.5), None)])
def test_half_a_request_is_no_mark_on_the_axis(loads: tuple[float, ...], least: int | None) -> None:
    report = study([step(place, {"concurrency": load}) for place, load in enumerate(loads)])
    axis = study_charts(report)["ttft"]["layer"][1]["encoding"]["x"]["axis"]
    assert axis.get("tickMinStep") == least


@pytest.mark.parametrize("itls", [(4.0, 4.0003, 4.001), (4.0, 4.0, 4.0), (10.0, 10.3, 10.9)])
def test_figures_that_hardly_differ_do_not_fill_the_axis(itls: tuple[float, ...]) -> None:
    rates = [{"p50": {"value": 1_000.0 / itl}} for itl in itls]
    steps = [
        step(place, {"concurrency": 1 + place}, figures={**figures(1 + place), "user_tok_s": rate})
        for place, rate in enumerate(rates)
    ]
    low, high = domain_of_interactivity(study(steps))
    values = [rate["p50"]["value"] for rate in rates]
    assert low < min(values) <= max(values) < high
    assert high - low == pytest.approx(0.1 * max(values))


def test_figures_that_differ_and_wide_intervals_set_the_axis() -> None:
    assert domain_of_interactivity(sweep()) == ()
    steps = [step(place, {"concurrency": 1}, repeat=place) for place in range(2)]
    both = [*steps, step(2, {"concurrency": 2}, figures={**figures(2), "user_tok_s": metric(125.0)})]
    assert domain_of_interactivity(study(both)) == ()


def domain_of_interactivity(report: StudyReport) -> tuple[float, ...]:
    scales = [
        layer["encoding"]["x"].get("scale", {}) for layer in _layers(report) if "x" in layer["encoding"]
    ]
    return tuple(next((scale["domain"] for scale in scales if "domain" in scale), ()))


def _layers(report: StudyReport) -> list[dict[str, Any]]:
    layers: list[dict[str, Any]] = study_charts(report)["interactivity"]["layer"]
    return layers


def test_few_points_give_no_curve() -> None:
    assert study_charts(study([step(0, {"concurrency": 1})])) == {}


def test_texts_on_the_axis_are_drawn_by_name() -> None:
    report = study([step(n, {"prompt_tokens": f"uniform:1:{n + 2}"}) for n in range(3)])
    assert '"load"' in json.dumps(study_charts(report)["ttft"]["layer"][0]["encoding"]["x"])


@pytest.mark.parametrize(
    "report", [sweep(), capacity(), capacity("not enough data", needs_s=60.0), study([])]
)
def test_the_page_needs_no_network_and_holds_the_document(report: StudyReport) -> None:
    page = render_html(report)
    assert not re.findall(r'(?:src|href)="https?://', page)
    found = re.search(r'<script type="application/json" id="report">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    assert json.loads(found.group(1)) == json.loads(report.to_json())


def test_every_chart_of_the_page_has_its_place() -> None:
    page = render_html(capacity())
    assert set(re.findall(r'data-chart="(\w+)"', page)) == set(study_charts(capacity()))
    assert "highest load that meets: 16 in flight" in page

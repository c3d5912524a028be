import json
import re

import pytest

from paceline.report.study import StudyReport
from paceline.report.study_charts import study_charts
from paceline.report.study_html import render_html
from tests.report.study_samples import capacity, step, study, sweep


def test_the_curves_of_a_sweep() -> None:
    assert list(study_charts(sweep())) == ["interactivity", "ttft", "goodput"]


def test_a_capacity_has_the_share_first() -> None:
    assert next(iter(study_charts(capacity()))) == "share"


def test_charts_have_the_figures_the_bands_and_the_knee() -> None:
    text = json.dumps(study_charts(sweep())["ttft"])
    assert '"y_lo": 19.0' in text
    assert '"text": "knee"' in text
    assert '"at": 150.0' in text


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

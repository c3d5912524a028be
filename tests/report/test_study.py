import json
import math

import pytest

from paceline.report.study import Band, find_knee, pooled
from tests.report.study_samples import capacity, figures, step, study, sweep


def test_points_are_in_order_of_the_load_whatever_the_order_of_measuring() -> None:
    report = sweep()
    assert report.x == "concurrency"
    assert [point.at["concurrency"] for point in report.points] == [1, 2, 4, 8, 16, 32, 64]
    assert report.numeric


def test_the_knee_is_where_the_engine_is_full() -> None:
    report = sweep()
    knee = report.series[0].knee
    assert knee.index is not None
    assert report.points[knee.index].at == {"concurrency": 16}
    assert knee.edge is None


@pytest.mark.parametrize(
    ("power", "index", "edge"),
    [
        ([1.0, 3.0, 2.0], 1, None),
        ([3.0, 2.0, 1.0], 0, "lowest"),
        ([1.0, 2.0, 3.0], 2, "highest"),
        ([1.0, None, 3.0, 2.0], 2, None),
        ([1.0, None, 3.0], None, None),
    ],
)
def test_knee(power: list[float | None], index: int | None, edge: str | None) -> None:
    found = find_knee(power)
    assert (found.index, found.edge) == (index, edge)


def test_repeats_are_pooled_with_students_t() -> None:
    band = pooled([Band(1.0), Band(2.0), Band(3.0)])
    # t(2) at 97.5 % is 4.3027, the standard error 1 / sqrt(3).
    assert band.value == 2.0
    assert band.hi == pytest.approx(2.0 + 4.302653 / math.sqrt(3))
    assert band.lo == 0.0


def test_two_steps_have_the_widest_of_their_intervals_and_one_its_own() -> None:
    assert pooled([Band(1.0, 0.9, 1.2), Band(2.0, 1.7, 2.1)]) == Band(1.5, 0.9, 2.1)
    assert pooled([Band(1.0, 0.9, 1.2)]) == Band(1.0, 0.9, 1.2)
    assert pooled([Band(1.0, 0.9, 1.2), Band(2.0)]) == Band(1.5, None, None)


def test_a_step_that_was_cut_short_is_counted_and_gives_no_figure() -> None:
    last = sweep().points[-1]
    assert (last.overloaded, last.attempted) == (1, 400)
    assert last.figures == {}


def test_figures_of_a_point() -> None:
    point = sweep().points[0]
    assert point.figures["ttft_p50_ms"] == Band(20.0, 19.0, 21.0)
    assert point.figures["user_tok_s"].value == pytest.approx(1000 / 8.3)
    share = point.figures["met_share"]
    # Wilson's interval of 100 of 100: from n / (n + z^2).
    assert share.value == 1.0
    assert share.hi == pytest.approx(1.0)
    assert share.lo == pytest.approx(100 / (100 + 1.959964**2))


def test_further_axes_make_series() -> None:
    steps = [
        step(place, {"output_tokens": o, "concurrency": c})
        for place, (o, c) in enumerate((o, c) for o in (8, 16) for c in (1, 2, 4))
    ]
    report = study(steps)
    assert report.x == "concurrency"
    assert [series.label for series in report.series] == ["output_tokens=16", "output_tokens=8"]


def test_an_axis_that_is_no_load_has_no_knee() -> None:
    report = study([step(place, {"prompt_tokens": n}) for place, n in enumerate((1, 2, 3, 4))])
    assert report.x == "prompt_tokens"
    assert report.series[0].knee.index is None
    texts = study([step(0, {"prompt_tokens": "uniform:1:9"}), step(1, {"prompt_tokens": 4})])
    assert not texts.numeric


def test_trust_is_of_all_steps() -> None:
    def with_verdicts(*verdicts: str) -> str:
        return study(
            [
                step(n, {"concurrency": n + 1}, figures=figures(1, trust=verdict))
                for n, verdict in enumerate(verdicts)
            ]
        ).trust

    assert with_verdicts("trusted", "trusted") == "trusted"
    assert with_verdicts(*["trusted"] * 9, "invalid") == "suspect"
    assert with_verdicts("trusted", "invalid") == "invalid"


def test_reasons_are_counted_by_kind() -> None:
    reasons = [{"code": "late", "text": f"{n} ms late"} for n in (3, 4)]
    report = study(
        [
            step(n, {"concurrency": n + 1}, figures=figures(1, trust="suspect", reasons=[reason]))
            for n, reason in enumerate(reasons)
        ]
    )
    assert [(doubt.code, doubt.text, doubt.steps) for doubt in report.reasons] == [("late", "3 ms late", 2)]


def test_the_document_holds_no_secrets_and_no_nan() -> None:
    for report in (sweep(), capacity(), study([])):
        text = report.to_json()
        document = json.loads(text)
        assert document["schema"] == "paceline.study-report/1"
        assert "x-key" not in text
    assert json.loads(capacity().to_json())["result"]["load"] == 16.0

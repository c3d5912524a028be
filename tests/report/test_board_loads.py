import json
from dataclasses import replace

import pytest

from paceline.report.board_loads import load_chart, load_lines
from tests.report.board_samples import TRUTHS, evidence, loads


def test_a_line_for_each_offer_by_rising_load() -> None:
    lines = load_lines(loads(), {TRUTHS[1].key: 7})
    assert [line.full for line in lines] == [str(TRUTHS[place].key) for place in (1, 0, 2)]
    assert lines[0].number == 7
    assert [point.tag for point in lines[0].points] == ["1", "4", "16", "64"]
    rates = [point.x for point in lines[0].points]
    assert rates == sorted(rates, reverse=True)


def test_what_all_get_is_the_mean_over_runs_with_students_interval() -> None:
    """Two runs of 100 and 120 tok/s: 110, and half of the interval is 12.706 standard errors of 10."""
    truth = TRUTHS[0]
    offers = [
        replace(
            evidence(truth, 2, 60, load=f"closed {at}"),
            digests=tuple(
                replace(one, output_tok_s=rate)
                for one, rate in zip(evidence(truth, 2, 60).digests, (100.0, 120.0), strict=True)
            ),
        )
        for at in (1, 2)
    ]
    (line,) = load_lines(offers, {})
    assert line.points[0].y == 110.0
    assert line.points[0].hi == pytest.approx(110.0 + 127.06, abs=0.01)
    # Below zero there is nothing to draw.
    assert line.points[0].lo is None


def test_one_load_is_no_line_and_kinds_of_load_are_not_mixed() -> None:
    truth = TRUTHS[0]
    alone = [evidence(truth, 1, 60, load="closed 8")]
    assert load_lines(alone, {}) == []
    assert (
        load_lines(
            [*alone, evidence(truth, 1, 60, load="poisson 5/s"), evidence(truth, 1, 60, load="live")], {}
        )
        == []
    )


def test_one_run_a_load_has_no_interval_of_throughput() -> None:
    offers = [evidence(TRUTHS[0], 1, 60, load=f"poisson {rate}/s") for rate in (2, 10)]
    (line,) = load_lines(offers, {})
    assert [point.tag for point in line.points] == ["2", "10"]
    assert {point.hi for point in line.points} == {None}
    assert str(TRUTHS[0].key) in json.dumps(load_chart([line]))

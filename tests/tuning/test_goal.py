import math

import pytest

from paceline.errors import ConfigError
from paceline.tuning.goal import Goal, parse_goal


def test_goals_of_a_request() -> None:
    assert parse_goal("min itl_ms") == Goal("min", "itl_ms", {}, "min itl_ms")
    assert parse_goal("  MAX   output_tok_s ") == Goal("max", "output_tok_s", {}, "MAX output_tok_s")
    for text in ("min ttft_ms", "min e2e_ms", "min tpot_ms"):
        assert parse_goal(text).one_stream


def test_goals_of_a_load() -> None:
    goal = parse_goal("max goodput @ ttft_ms<=500, itl_ms <= 50,output_tok_s>=20")
    assert goal.slo == {"ttft_ms": 500.0, "itl_ms": 50.0, "output_tok_s": 20.0}
    assert not goal.one_stream
    assert (goal.metric, goal.unit) == ("goodput", "requests/s")
    assert parse_goal("max throughput").unit == "tok/s"


@pytest.mark.parametrize(
    ("text", "wrong", "hint"),
    [
        ("", "is not a direction and a metric", "min itl_ms"),
        ("itl_ms", "is not a direction and a metric", "min itl_ms"),
        ("min p99 ttft_ms", "is not a direction and a metric", "min itl_ms"),
        ("min itl", "no metric 'itl'", "did you mean itl_ms?"),
        ("min watts", "no metric 'watts'", "itl_ms, tpot_ms"),
        ("least itl_ms", "neither min nor max", "min itl_ms"),
        ("max itl_ms", "asks for the worst: a high itl_ms is bad", "write `min itl_ms`"),
        ("min goodput @ ttft_ms<=500", "asks for the worst: a low goodput is bad", "max goodput"),
        ("max goodput", "none is stated", "@ ttft_ms<=500"),
        ("max goodput @", "none is stated", "@ ttft_ms<=500"),
        ("max goodput @ ttft_ms=500", "states no limit", "ttft_ms<=500"),
        ("max goodput @ ttft<=500", "no metric 'ttft'", "ttft_ms"),
        ("max goodput @ ttft_ms>=500", "on the wrong side", "ttft_ms<=500"),
        ("max goodput @ ttft_ms<=nan", "no number above 0", "ttft_ms"),
        ("max goodput @ ttft_ms<=-1", "no number above 0", "ttft_ms"),
        ("max goodput @ ttft_ms<=soon", "no number above 0", "ttft_ms"),
        ("max goodput @ ttft_ms<=5,ttft_ms<=6", "twice", "one limit"),
        ("min itl_ms @ ttft_ms<=500", "limits belong to goodput", "max goodput"),
    ],
)
def test_what_is_no_goal(text: str, wrong: str, hint: str) -> None:
    with pytest.raises(ConfigError) as error:
        parse_goal(text)
    assert wrong in error.value.message
    assert error.value.hint is not None
    assert hint in error.value.hint


def test_better_and_ratio() -> None:
    low, high = parse_goal("min itl_ms"), parse_goal("max output_tok_s")
    assert low.better(1.0, 2.0)
    assert not low.better(2.0, 2.0)
    assert high.better(2.0, 1.0)
    assert low.better(1.0, math.nan)
    assert not low.better(math.nan, math.nan)
    assert low.ratio(10.0, 4.0) == 2.5
    assert high.ratio(40.0, 100.0) == 2.5
    assert high.ratio(0.0, 1.0) == math.inf
    assert math.isnan(high.ratio(0.0, 0.0))


def test_what_counts_as_a_value() -> None:
    latency, goodput = parse_goal("min itl_ms"), parse_goal("max goodput @ ttft_ms<=500")
    assert [latency.counts(v) for v in (1.0, 0.0, -1.0, math.nan, math.inf)] == [True, *[False] * 4]
    assert [goodput.counts(v) for v in (1.0, 0.0, -1.0, math.nan, math.inf)] == [True, True, *[False] * 3]

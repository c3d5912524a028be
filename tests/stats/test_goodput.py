import numpy as np
import pytest

from paceline.errors import ConfigError
from paceline.stats.goodput import Goodput, Slo, closeness, goodput
from paceline.stats.metrics import derive
from paceline.stats.steady import throughput
from paceline.stats.tokens import count_tokens
from tests.support.rows import make_row, rows_table


def of(rows: list[dict[str, object]], slo: str, *, dropped: int = 0) -> Goodput:
    table = rows_table(rows)
    credit = (table["phase"].to_numpy() == "measure").astype(np.float64)
    return goodput(table, derive(table, {0: 0}), Slo.parse(slo), credit, 2.0, dropped=dropped)


def test_parse_and_print() -> None:
    slo = Slo.parse(" ttft_ms=500, itl_ms = 50.5 ")
    assert slo.limits == {"ttft_ms": 500.0, "itl_ms": 50.5}
    assert str(slo) == "ttft_ms=500,itl_ms=50.5"
    assert Slo.parse("").limits == {}
    with pytest.raises(ConfigError, match="metric of jobs") as refused:
        Slo.parse("job_ms=100")
    assert "--set job_slo.job_ms=100" in str(refused.value.hint)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ttft=500", "unknown metric 'ttft'"),
        ("ttft_ms", "states no limit"),
        ("ttft_ms=fast", "no positive number"),
        ("ttft_ms=-1", "no positive number"),
        ("ttft_ms=nan", "no positive number"),
        ("ttft_ms=1,ttft_ms=2", "twice"),
    ],
)
def test_a_bad_slo_is_refused_with_a_hint(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        Slo.parse(text)
    assert caught.value.hint


def test_every_limit_must_hold() -> None:
    rows = [
        make_row(),  # ttft 100, gaps 10
        make_row(event_ms=(100, 160, 170, 180)),  # ttft 100, mean gap 26.7, longest 60
        make_row(event_ms=(600, 610, 620, 630)),  # ttft 600
    ]
    found = of(rows, "ttft_ms=500,itl_ms=20")
    assert (found.attempted, found.met) == (3, 1)
    assert found.met_by_limit == {"ttft_ms": 2, "itl_ms": 2}
    assert found.share == pytest.approx(1 / 3)
    assert found.requests_s == 0.5
    assert of(rows, "itl_ms=27").met == 3
    assert of(rows, "longest_stall_ms=50").met == 2


def test_closeness_is_that_of_the_nearest_limit() -> None:
    rows = [make_row(), make_row(event_ms=(100, 160, 170, 180)), make_row(event_ms=(600, 610, 620, 630))]
    table = rows_table(rows)
    found = closeness(table, derive(table, {0: 0}), Slo.parse("ttft_ms=500,itl_ms=20"), (0.5, 0.95))
    assert found["ttft_ms"] == pytest.approx([0.2, 1.2])
    assert found["itl_ms"] == pytest.approx([0.5, 80 / 3 / 20])
    assert found["all"] == pytest.approx([1.2, 80 / 3 / 20])


def test_closeness_of_failed_requests_and_of_none_is_unknown() -> None:
    table = rows_table([make_row(), make_row(outcome="http_error", status=500, event_ms=())])
    found = closeness(table, derive(table, {0: 0}), Slo.parse("ttft_ms=500"), (0.5, 0.95))
    assert found == {"ttft_ms": [pytest.approx(0.2), None], "all": [pytest.approx(0.2), None]}
    none = table.slice(0, 0)
    assert closeness(none, derive(none, {}), Slo.parse("ttft_ms=500"), (0.5,))["all"] == [None]


def test_failures_and_dropped_arrivals_are_attempted() -> None:
    rows = [make_row(), make_row(outcome="timeout"), make_row(outcome="http_error"), make_row(phase="warmup")]
    found = of(rows, "ttft_ms=500", dropped=2)
    assert (found.attempted, found.met, found.share) == (5, 1, 0.2)


def test_where_higher_is_better_the_limit_is_a_floor() -> None:
    rows = [make_row(), make_row(event_ms=(100, 200, 300, 400))]  # 100 and 10 tok/s
    assert of(rows, "output_tok_s=50").met == 1
    assert of(rows, "output_tok_s=10").met == 2


def test_one_token_has_no_gap_to_be_late() -> None:
    assert of([make_row(event_ms=(100,))], "tpot_ms=1,itl_ms=1,output_tok_s=99").met == 1
    assert of([make_row()], "connect_ms=1").met == 1


def test_what_cannot_be_known_is_not_met() -> None:
    assert of([make_row(streaming=False, event_ms=(50,))], "ttft_ms=500").met == 0
    assert of([make_row(streaming=False, event_ms=(50,))], "itl_ms=500").met == 0
    assert of([make_row(streaming=False, event_ms=(50,))], "e2e_ms=500").met == 1


def test_without_limits_every_ok_request_counts_and_nothing_divides_by_zero() -> None:
    assert of([make_row()], "").met == 1
    found = goodput(rows_table([]), derive(rows_table([]), {}), Slo.parse(""), np.empty(0), 0.0)
    assert (found.share, found.requests_s) == (None, None)


@pytest.mark.parametrize("whole_run", [False, True])
def test_goodput_rests_on_the_window_and_the_requests_of_the_throughput(whole_run: bool) -> None:
    warm = [make_row(sent_ms=at, event_ms=(at + 50, at + 99), phase="warmup") for at in range(0, 500, 100)]
    rows = [
        make_row(sent_ms=at, event_ms=(at + 50, at + 99), end_ms=at + 100) for at in range(500, 1500, 100)
    ]
    rows += [
        make_row(sent_ms=at, event_ms=(at + 90, at + 99), end_ms=at + 100) for at in range(500, 1500, 100)
    ]
    table = rows_table(warm + rows)
    pace = throughput(table, {0: 0}, count_tokens(table), whole_run=whole_run)
    metrics = derive(table, {0: 0})
    everything = goodput(table, metrics, Slo.parse("ttft_ms=500"), pace.credit, pace.seconds)
    half = goodput(table, metrics, Slo.parse("ttft_ms=60"), pace.credit, pace.seconds)
    assert everything.requests_s == pace.requests_s == pytest.approx(20.0)
    assert half.requests_s == pytest.approx(10.0)
    assert (half.met, half.attempted) == (10, 20)


def test_a_hang_up_meets_what_applies_to_it() -> None:
    left = make_row(outcome="hung_up", hangup_ns=140_000_000, stopped_ns=170_000_000, completion_tokens=None)
    going_on = {**left, "stopped_ns": None}
    assert of([left], "ttft_ms=100,e2e_ms=1,tpot_ms=1,fluidity=1,longest_stall_ms=20").met == 1
    assert of([left], "ttft_ms=99").met == 0
    assert of([left, going_on, make_row()], "stop_ms=50").met == 2

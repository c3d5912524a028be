import numpy as np
import pyarrow as pa

from paceline.stats.frame import Frame
from paceline.stats.jobs import jobs_of
from paceline.stats.metrics import derive
from paceline.stats.tokens import count_tokens
from paceline.stats.turns import Turns, cached_share, call_names, turns_of
from tests.support.jobs import call_row, chat_jobs, plan_row, plan_table
from tests.support.rows import make_row, rows_table


def turns(rows: pa.Table, plan: pa.Table) -> Turns:
    jobs = jobs_of(rows, plan, {0: 0}, count_tokens(rows))
    assert jobs is not None
    return turns_of(rows, plan, jobs, derive(rows, {0: 0})["ttft_ms"])


def test_ttft_grows_by_turn_as_it_was_made_to() -> None:
    rows, plan = chat_jobs(60, 4, ttft_ms_per_turn=50.0, job_sigma=0.0)
    found = turns(rows, plan).by_turn
    assert [group.name for group in found] == ["0", "1", "2", "3"]
    assert [group.n for group in found] == [60] * 4
    for turn, group in enumerate(found):
        assert group.ttft_ms.lo is not None
        assert group.ttft_ms.hi is not None
        assert group.ttft_ms.lo <= 100.0 + 50.0 * turn <= group.ttft_ms.hi
        assert group.prompt_tokens == 100.0 * (turn + 1)
        assert group.cached_share is not None
        assert abs(group.cached_share - turn / (turn + 1)) < 1e-9


def test_by_what_was_cached_and_by_call() -> None:
    rows, plan = chat_jobs(30, 4)
    found = turns(rows, plan)
    # 0, 1/2, 2/3 and 3/4 of the prompts.
    assert [(group.name, group.n) for group in found.by_cached_share] == [
        *(("none", 30), ("25-50%", 30), ("50-75%", 60)),
    ]
    assert [(group.name, group.n) for group in found.by_call] == [("first", 30), ("turn", 90)]


def test_a_server_that_says_nothing_of_its_cache() -> None:
    rows, plan = chat_jobs(5, 3, cached=False)
    found = turns(rows, plan)
    assert found.by_cached_share == []
    assert [group.cached_share for group in found.by_turn] == [None] * 3


def test_what_is_not_mentioned_beside_others_that_are_is_none() -> None:
    rows = [
        make_row(prompt_tokens=100, cached_tokens=50),
        make_row(prompt_tokens=100, cached_tokens=None),
        make_row(prompt_tokens=None, cached_tokens=None),
    ]
    share = cached_share(Frame(rows_table(rows)))
    assert share[:2].tolist() == [0.5, 0.0]
    assert np.isnan(share[2])


def test_only_calls_that_gave_a_ttft_are_counted() -> None:
    rows, plan = chat_jobs(10, 3, failed=(1, 2), warmup=1)
    assert [group.n for group in turns(rows, plan).by_turn] == [9, 7, 7]


def test_where_calls_run_side_by_side_a_turn_says_nothing() -> None:
    after = [[], [0], [0], [1, 2]]
    plan = plan_table([plan_row(1, step, call="a", after=after[step]) for step in range(4)])
    rows = rows_table([call_row(1, step) for step in range(4)])
    found = turns(rows, plan)
    assert found.by_turn == []
    assert [(group.name, group.n) for group in found.by_call] == [("a", 4)]
    one_by_one = plan_table([plan_row(1, step, after=list(range(step))) for step in range(4)])
    assert len(turns(rows, one_by_one).by_turn) == 4


def test_names_by_the_plan() -> None:
    plan = plan_table([plan_row(1, 1, call="b"), plan_row(1, 0, call="a")])
    frame = Frame(rows_table([call_row(1, 0), call_row(1, 1), call_row(2, 0)]))
    assert call_names(frame, plan).tolist() == ["a", "b", ""]
    assert call_names(frame, plan_table([])).tolist() == ["", "", ""]

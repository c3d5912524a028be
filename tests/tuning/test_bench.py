"""Which of the workload's jobs a block has: sets and levels that share none, as long as there are enough."""

from pathlib import Path
from typing import cast

import pytest

from paceline.engines.plan import LaunchPlan
from paceline.errors import StoreError, UsageError
from paceline.measure.job import Job
from paceline.measure.load_spec import Closed, LoadPlan
from paceline.tuning import bench as module
from paceline.tuning.bench import Bench
from paceline.tuning.goal import parse_goal
from paceline.workloads.spec import WorkloadSpec


def bench(monkeypatch: pytest.MonkeyPatch, there: int | None, requests: int, *levels: int) -> Bench:
    monkeypatch.setattr(module, "n_jobs", lambda _: there)
    job = Job(
        url="http://127.0.0.1:1/v1",
        workload=WorkloadSpec(),
        load=LoadPlan(arrival=Closed(concurrency=1), requests=1),
    )
    return Bench(cast(LaunchPlan, None), job, parse_goal("min itl_ms"), requests, levels, Path("/nowhere"))


def test_what_cannot_be_started_is_a_failure_of_the_block(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> LaunchPlan:
        raise UsageError("it would take about 900 GiB")

    monkeypatch.setattr(module, "with_settings", refused)
    found = bench(monkeypatch, None, 5, 1).block({"ctx-size": 10**9}, 0, "t1-b0")
    assert found.failure == "it would take about 900 GiB"
    assert found.values == {}


def test_a_full_disk_ends_the_tuning(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> LaunchPlan:
        raise StoreError("no space is left")

    monkeypatch.setattr(module, "with_settings", full)
    with pytest.raises(StoreError):
        bench(monkeypatch, None, 5, 1).block({}, 0, "t1-b0")


def jobs(one: Bench, prompts: int) -> list[set[int]]:
    """Of a set, a level each."""
    stretches = [one.stretch(place, prompts) for place in range(len(one.levels))]
    return [set(range(first, first + count)) for first, count in stretches]


@pytest.mark.parametrize("levels", [(1,), (4,), (1, 2, 4)])
@pytest.mark.parametrize("there", [None, 140])
def test_sets_and_levels_share_no_job(
    monkeypatch: pytest.MonkeyPatch, levels: tuple[int, ...], there: int | None
) -> None:
    one = bench(monkeypatch, there, 5, *levels)
    sets = [level for prompts in range(one.sets or 6) for level in jobs(one, prompts)]
    assert len(set[int]().union(*sets)) == sum(map(len, sets))
    # Of several levels each has so many times its streams; of one it is the block's requests.
    assert [len(level) for level in jobs(one, 0)] == ([5, 10, 20] if len(levels) > 1 else [5])


def test_a_workload_that_has_an_end_begins_again(monkeypatch: pytest.MonkeyPatch) -> None:
    one = bench(monkeypatch, 23, 5, 1)
    assert one.sets == 4
    assert jobs(one, 4) == jobs(one, 0)
    assert max(job for prompts in range(9) for level in jobs(one, prompts) for job in level) < 23


def test_levels_keep_their_proportion_where_there_are_few_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [len(level) for level in jobs(bench(monkeypatch, 16, 5, 1, 2, 4), 0)] == [2, 4, 8]
    assert [len(level) for level in jobs(bench(monkeypatch, 3, 5, 1), 0)] == [3]

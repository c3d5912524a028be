"""Which rows are one job, and in which order; against a slow count of the same."""

import random
from pathlib import Path
from typing import Any

import pytest

from tests.workloads.datasets.support import jobs_of, source, write_jsonl


def slowly(rows: list[dict[str, Any]], grouped: bool, timed: bool) -> list[list[str]]:
    """Jobs as lists of their texts."""
    jobs: dict[Any, list[dict[str, Any]]] = {}
    for place, row in enumerate(rows):
        name = row["session_id"] if grouped and row["session_id"] is not None else ("alone", place)
        jobs.setdefault(name, []).append(row)
    lists = list(jobs.values())
    if timed:
        lists = [sorted(job, key=lambda row: row["timestamp"]) for job in lists]
        lists.sort(key=lambda job: job[0]["timestamp"])
    return [[row["messages"][0]["content"] for row in job] for job in lists]


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("timed", [False, True])
def test_groups_and_order(tmp_path: Path, grouped: bool, timed: bool) -> None:
    rng = random.Random(5)
    rows = [
        {
            "session_id": rng.choice([None, "a", "b", "c", 4]),
            "model": "m",
            "messages": [{"role": "user", "content": f"text {place}"}],
            "timestamp": 1_700_000_000 + rng.randrange(50) if timed else None,
        }
        for place in range(200)
    ]
    path = write_jsonl(tmp_path / "a.jsonl", rows)
    found = source(path, group="conversation" if grouped else "none")
    jobs = jobs_of(found)
    told = [[str(call.turns[-1].text[0]) for call in job.calls] for job in jobs]
    assert told == slowly(rows, grouped, timed)
    shuffled = jobs_of(source(path, group="conversation" if grouped else "none", order="shuffle"))
    # Times go when the order goes; the jobs stay what they are.
    again = [[str(call.turns[-1].text[0]) for call in job.calls] for job in shuffled]
    assert sorted(again) == sorted(told)
    assert again != told
    assert {job.start_ns for job in shuffled} == {None}

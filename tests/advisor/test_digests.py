"""What is kept of runs, and when it is made anew."""

import json
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paceline.advisor import digests
from paceline.advisor.digest import COLUMNS
from paceline.advisor.digests import AllDigests, all_digests, keep
from paceline.advisor.evidence import MOST_POOLED, pooled
from paceline.report.model import build_report
from paceline.store.digests import digests_file, kept_digests
from paceline.store.runs import StoredRun, delete_run, open_run
from paceline.store.scores import save_run_scores
from paceline.store.writer import RunWriter
from tests.report.samples import CLOSED, WORKLOAD, store
from tests.store.samples import batch, manifest
from tests.support.jobs import chat_jobs
from tests.support.rows import lognormal_rows


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Ids of runs whose rows were read."""
    found: list[str] = []

    def opened(run_id: str, **options: Any) -> StoredRun:
        found.append(run_id)
        return open_run(run_id, **options)

    monkeypatch.setattr("paceline.store.runs.open_run", opened)
    return found


def same(a: AllDigests, b: AllDigests) -> bool:
    """Equal in all that figures are made from."""
    return [one.head() for one in a.digests] == [one.head() for one in b.digests] and all(
        np.array_equal(one.sample[name], other.sample[name], equal_nan=True)
        for one, other in zip(a.digests, b.digests, strict=True)
        for name in one.sample
    )


def test_runs_are_read_once_and_give_the_same_ever_after(home: Path, read: list[str]) -> None:
    watched: list[tuple[int, int]] = []
    runs = [store(home, lognormal_rows(60, seed, events=3)) for seed in range(3)]
    first = all_digests(at=home, watch=lambda *now: watched.append(now))
    assert sorted(read) == sorted(run.id for run in runs)
    assert watched == [(0, 3), (1, 3), (2, 3), (3, 3)]
    again = all_digests(at=home, watch=lambda *_: pytest.fail("nothing is to be made"))
    assert len(read) == 3
    assert same(first, again)
    assert [one.run_id for one in first.digests] == [run.id for run in runs]
    assert first.problems == ()


def test_a_long_run_gives_the_same_when_it_was_just_made_and_when_it_was_kept(home: Path) -> None:
    # So many runs of one offer that each gives only a part of what is kept of it.
    for seed in range(5):
        store(home, lognormal_rows(1500, seed, events=2))
    first, again = all_digests(at=home), all_digests(at=home)
    assert same(first, again)
    assert {len(one.sample["job"]) for one in first.digests} == {MOST_POOLED // 5}
    one, other = pooled(first.digests)[0], pooled(again.digests)[0]
    assert np.array_equal(one.columns["ttft_ms"], other.columns["ttft_ms"], equal_nan=True)
    assert one.attempted == 7500


def test_jobs_come_back_whole(home: Path) -> None:
    rows, plan = chat_jobs(60, 6)
    workload = {**WORKLOAD, "call": [{"name": "first"}, {"name": "turn", "repeat": "5"}]}
    store(home, rows, plan=plan, workload=workload, load={**CLOSED, "jobs": True})
    first, again = all_digests(at=home), all_digests(at=home)
    assert same(first, again)
    assert first.digests[0].jobs == 60
    assert np.unique(first.digests[0].sample["job"], return_counts=True)[1].tolist() == [6] * 60


def test_what_measuring_keeps_needs_no_reading(home: Path, read: list[str]) -> None:
    run = store(home, lognormal_rows(60, 1, events=3))
    keep(build_report(run), at=home)
    found = all_digests(at=home)
    assert read == []
    assert [one.run_id for one in found.digests] == [run.id]


def test_a_deleted_run_is_forgotten(home: Path) -> None:
    runs = [store(home, lognormal_rows(40, seed, events=3)) for seed in range(2)]
    all_digests(at=home)
    delete_run(runs[0].id, at=home)
    assert [one.run_id for one in all_digests(at=home).digests] == [runs[1].id]
    assert set(kept_digests(home)) == {runs[1].id}


def test_a_changed_run_is_read_again(home: Path, read: list[str]) -> None:
    run = store(home, lognormal_rows(40, 1, events=3))
    all_digests(at=home)
    path = run.folder / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"model": "renamed"}))
    os.utime(path, ns=(1, 10**18))
    assert [one.model for one in all_digests(at=home).digests] == ["renamed"]
    assert read == [run.id] * 2


def test_a_run_that_was_scored_is_read_again(home: Path, read: list[str]) -> None:
    run = store(home, lognormal_rows(40, 1, events=3))
    assert all_digests(at=home).digests[0].capability is None
    families = {"sums": {"solved": 3, "n": 4}}
    told = {"version": "1", "seed": 7, "at": "2026-11-30", "total": {"solved": 3, "n": 4}}
    document = {"schema": "paceline.capability/1", **told, "families": families}
    save_run_scores(run.folder, document)
    os.utime(run.folder / "capability.json", ns=(1, 2 * 10**18))
    assert all_digests(at=home).digests[0].capability == document
    (run.folder / "capability.json").write_text("{")
    os.utime(run.folder / "capability.json", ns=(1, 3 * 10**18))
    found = all_digests(at=home)
    assert found.digests == ()
    assert "score the run again" in found.problems[0].text


def test_digests_of_another_version_are_made_anew(
    home: Path, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    store(home, lognormal_rows(40, 1, events=3))
    all_digests(at=home)
    monkeypatch.setattr("paceline.advisor.digests.VERSION", 99)
    all_digests(at=home)
    assert len(read) == 2


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE digests SET head = '{}'",
        "UPDATE digests SET head = json_remove(head, '$.model')",
        "UPDATE digests SET head = json_set(head, '$.attempted', 'many')",
        "UPDATE digests SET head = json_set(head, '$.ok', 1000)",
        "UPDATE digests SET head = json_set(head, '$.extra', 'x')",
        "UPDATE digests SET head = json_set(head, '$.load', NULL)",
        "UPDATE digests SET head = json_set(head, '$.capability', json('[1]'))",
        "UPDATE digests SET head = json_set(head, '$.started_at', '2026-01-01T00:00:00')",
        "UPDATE digests SET sample = x'0102'",
        "UPDATE digests SET sample = x''",
        f"UPDATE digests SET sample = x'{'ff' * 8 * len(COLUMNS)}'",
        "DELETE FROM digests",
    ],
)
def test_damaged_digests_are_made_anew(home: Path, damage: str) -> None:
    store(home, lognormal_rows(40, 1, events=3))
    before = all_digests(at=home)
    with sqlite3.connect(digests_file(home)) as connection:
        connection.execute(damage)
    assert same(all_digests(at=home), before)
    assert same(all_digests(at=home), before)


def test_a_lost_or_damaged_cache_loses_nothing(home: Path) -> None:
    store(home, lognormal_rows(40, 1, events=3))
    before = all_digests(at=home)
    digests_file(home).write_bytes(b"rubbish" * 1000)
    assert same(all_digests(at=home), before)
    digests_file(home).unlink()
    assert same(all_digests(at=home), before)


def test_a_run_that_cannot_be_read_is_a_problem_and_not_the_end(home: Path) -> None:
    runs = [store(home, lognormal_rows(40, seed, events=3)) for seed in range(3)]
    (runs[0].folder / "run.json").write_text("{")
    next(runs[1].folder.glob("requests-*.parquet")).write_bytes(b"PAR1")
    found = all_digests(at=home)
    assert [one.run_id for one in found.digests] == [runs[2].id]
    said = {one.run_id: one.text for one in found.problems}
    assert set(said) == {runs[0].id, runs[1].id}
    assert "run.json cannot be read" in said[runs[0].id]


@pytest.mark.parametrize(
    "error", [TypeError("a list"), KeyError("kind"), OverflowError("date"), ValueError("x")]
)
def test_a_run_that_no_report_can_be_made_of_is_a_problem_and_not_the_end(
    home: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    bad, good = (store(home, lognormal_rows(40, seed, events=3)) for seed in range(2))

    def built(run: StoredRun) -> Any:
        if run.id == bad.id:
            raise error
        return build_report(run)

    monkeypatch.setattr("paceline.report.model.build_report", built)
    found = all_digests(at=home)
    assert [one.run_id for one in found.digests] == [good.id]
    assert [one.run_id for one in found.problems] == [bad.id]
    assert type(error).__name__ in found.problems[0].text
    assert "delete the run" in found.problems[0].text


def test_a_cache_that_is_locked_is_waited_for_once_and_all_is_read(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = [store(home, lognormal_rows(40, seed, events=3)) for seed in range(3)]
    tried = []

    def locked(digests: Any, *_: Any, **__: Any) -> bool:
        tried.extend(digests)
        return False

    monkeypatch.setattr("paceline.advisor.digests.keep_digests", locked)
    assert {one.run_id for one in all_digests(at=home).digests} == {run.id for run in runs}
    assert len(tried) == 1


def test_an_empty_home_has_none_and_makes_none(tmp_path: Path) -> None:
    assert all_digests(at=tmp_path / "new") == AllDigests((), ())
    assert not (tmp_path / "new").exists()


class Clock:
    """A wall clock that is set."""

    def __init__(self) -> None:
        self.now_s = 1_000_000.0

    def time(self) -> float:
        return self.now_s

    def perf_counter(self) -> float:
        return 0.0


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(digests, "time", made)
    return made


@pytest.fixture
def growing(home: Path) -> Iterator[RunWriter]:
    """A run that its writer still has open, as a gateway has its day's."""
    live = {"kind": "live", "live": {"offer": "own"}, "provider": "acme"}
    writer = RunWriter.create(manifest(workload=live, load={"arrival": {"kind": "live"}}), at=home)
    grow(writer, 0, 1.0)
    yield writer
    writer.finish("complete")


def grow(writer: RunWriter, first: int, elapsed_s: float) -> None:
    writer.append(batch(range(first + 1, first + 11)))
    writer.flush()
    # As the gateway's runs: nothing is said in the manifest.
    os.utime(writer.folder, ns=(1, int(2e18 + elapsed_s * 1e9)))


def test_a_run_that_grows_is_read_again_after_a_minute(
    home: Path, growing: RunWriter, clock: Clock, read: list[str]
) -> None:
    one = all_digests(at=home).digests[0]
    assert (one.state, one.attempted, one.live_offer) == ("running", 10, "own")
    grow(growing, 10, 2.0)
    clock.now_s += 59.0
    assert all_digests(at=home).digests[0].attempted == 10
    clock.now_s += 2.0
    assert all_digests(at=home).digests[0].attempted == 20
    assert len(read) == 2


def test_one_that_takes_long_to_read_is_left_longer(
    home: Path, growing: RunWriter, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticks = iter([0.0, 10.0, 20.0, 30.0, 40.0, 50.0])
    monkeypatch.setattr(clock, "perf_counter", lambda: next(ticks))
    all_digests(at=home)
    grow(growing, 10, 2.0)
    clock.now_s += 199.0
    assert all_digests(at=home).digests[0].attempted == 10
    clock.now_s += 2.0
    assert all_digests(at=home).digests[0].attempted == 20


def test_when_it_has_ended_it_is_read_at_once(home: Path, clock: Clock) -> None:
    writer = RunWriter.create(manifest(), at=home)
    grow(writer, 0, 1.0)
    assert all_digests(at=home).digests[0].state == "running"
    grow(writer, 10, 2.0)
    writer.finish("complete")
    one = all_digests(at=home).digests[0]
    assert (one.state, one.attempted) == ("complete", 20)


def test_a_clock_that_was_set_back_does_not_freeze_it(home: Path, growing: RunWriter, clock: Clock) -> None:
    all_digests(at=home)
    grow(growing, 10, 2.0)
    clock.now_s -= 3600.0
    assert all_digests(at=home).digests[0].attempted == 20

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from paceline.control.live_runs import IDLE_S, LiveRuns, row_index
from paceline.errors import StoreError
from paceline.store.ledger import Place
from paceline.store.runs import StoredRun, delete_run, list_runs, open_run
from tests.support.ledger import MS, NOON, NOON_NS, attempt, entry


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def take(runs: LiveRuns, *documents: dict[str, Any], start: int = 0) -> None:
    places = [Place(1, 1_000 * (start + n)) for n in range(len(documents))]
    assert runs.append(list(documents), places) == []


def named(home: Path, offer: str = "local-a") -> StoredRun:
    return open_run(f"gateway:{offer}:chat", at=home)


def test_indices_grow_with_the_place_and_fit() -> None:
    places = [
        (Place(0, 0), 0),
        (Place(0, 0), 1),
        (Place(0, 1), 0),
        (Place(1, 0), 0),
        (Place(2**22 - 1, 2**33 - 1), 255),
    ]
    indices = [row_index(place, attempt) for place, attempt in places]
    assert indices == sorted(set(indices))
    assert indices[-1] < 2**63
    for place, number in ((Place(2**22, 0), 0), (Place(0, 2**33), 0), (Place(0, 0), 256)):
        with pytest.raises(ValueError, match="out of range"):
            row_index(place, number)


def test_each_offer_and_day_is_a_run_of_its_attempts(tmp_path: Path) -> None:
    runs = LiveRuns(tmp_path)
    both = [attempt("local-a", served=False, row={"outcome": "cancelled"}), attempt("local-b", role="hedge")]
    take(runs, entry(0), entry(1, at=NOON + timedelta(seconds=2), attempts=both))
    take(runs, entry(2, at=NOON + timedelta(days=1)), start=2)
    runs.close()
    found = sorted((run.name, run.started_at, run.state) for run in list_runs(at=tmp_path))
    assert found == [
        ("gateway:local-a:chat", NOON, "complete"),
        ("gateway:local-a:chat", NOON + timedelta(days=1), "complete"),
        ("gateway:local-b:chat", NOON + timedelta(seconds=2), "complete"),
    ]
    first = next(run for run in list_runs(at=tmp_path) if run.started_at == NOON)
    rows = open_run(first.id, at=tmp_path).rows()
    assert rows["outcome"].to_pylist() == ["ok", "cancelled"]
    assert rows["request_index"].to_pylist() == [row_index(Place(1, 0), 0), row_index(Place(1, 1_000), 0)]
    manifest = named(tmp_path, "local-b").manifest
    assert (manifest.endpoint, manifest.model, manifest.protocol) == (
        "http://127.0.0.1:9100/v1",
        "truth",
        "openai-chat",
    )
    assert manifest.load == {"arrival": {"kind": "live"}}
    assert manifest.workload["kind"] == "live"


def test_instants_count_from_the_segments_origin(tmp_path: Path) -> None:
    runs = LiveRuns(tmp_path)
    take(runs, entry(0), entry(1, at=NOON + timedelta(seconds=1)))
    runs.close()
    run = named(tmp_path)
    segment = run.manifest.segments[0]
    assert (segment["origin_ns"], segment["origin_unix_ns"]) == (NOON_NS, int(NOON.timestamp()) * 10**9)
    rows = run.rows()
    assert rows["sent_ns"].to_pylist() == [1 * MS, 1_001 * MS]
    assert rows["event_ns"].to_pylist()[1] == [at * MS for at in (1_101, 1_111, 1_121, 1_131)]
    assert segment["elapsed_ns"] == rows["end_ns"].to_pylist()[1]


def test_a_machine_that_started_anew_begins_a_segment(tmp_path: Path) -> None:
    runs = LiveRuns(tmp_path)
    later = NOON + timedelta(hours=1)
    take(runs, entry(0), entry(1, at=later, booted=later - timedelta(seconds=30)))
    runs.close()
    run = named(tmp_path)
    assert run.rows()["segment"].to_pylist() == [0, 1]
    assert run.origins() == {0: NOON_NS, 1: 30 * 10**9}
    assert run.rows()["sent_ns"].to_pylist() == [1 * MS, 1 * MS]


def test_lines_that_come_again_bring_no_second_row(tmp_path: Path) -> None:
    documents = [entry(n, at=NOON + timedelta(seconds=n)) for n in range(5)]
    runs = LiveRuns(tmp_path)
    take(runs, *documents[:3])
    take(runs, *documents[:3])
    runs.flush()
    # Killed: nothing is ended, and the locks are gone with the process.
    for run in runs._runs.values():
        run.writer._lock.release()
    again = LiveRuns(tmp_path)
    take(again, *documents)
    again.close()
    stored = named(tmp_path)
    assert stored.rows().num_rows == 5
    assert sum(pq.read_metadata(path).num_rows for path in stored.folder.glob("requests-*.parquet")) == 5
    assert len(list_runs(at=tmp_path)) == 1


def test_a_run_goes_on_after_the_gateway_was_ended(tmp_path: Path) -> None:
    for number in range(2):
        runs = LiveRuns(tmp_path)
        # Whatever a row calls the start that it is of.
        told = attempt(row={"segment": number})
        take(runs, entry(number, at=NOON + timedelta(seconds=number), attempts=[told]), start=number)
        runs.close()
    assert len(list_runs(at=tmp_path)) == 1
    assert named(tmp_path).rows()["segment"].to_pylist() == [0, 0]
    assert named(tmp_path).state == "complete"


def test_an_offer_with_another_upstream_is_another_run(tmp_path: Path) -> None:
    runs = LiveRuns(tmp_path)
    take(runs, entry(0), entry(1, attempts=[attempt(upstream_model="newer")]))
    runs.close()
    assert sorted(run.model for run in list_runs(at=tmp_path)) == ["newer", "truth"]


def test_probes_are_kept_and_in_no_figure(tmp_path: Path) -> None:
    runs = LiveRuns(tmp_path)
    take(runs, entry(0), entry(1, attempts=[attempt(role="probe")], outcome="probe"))
    runs.close()
    assert named(tmp_path).rows()["phase"].to_pylist() == ["measure", "warmup"]


def test_runs_are_ended_when_their_day_is_over_and_nothing_comes(tmp_path: Path) -> None:
    clock = Clock()
    runs = LiveRuns(tmp_path, clock)
    take(runs, entry(0))
    runs.tidy("2026-11-30")
    clock.now = IDLE_S
    runs.tidy("2026-11-30")
    assert named(tmp_path).state == "running"
    runs.tidy("2026-12-01")
    assert named(tmp_path).state == "complete"
    # A request that had begun before midnight ends after all.
    take(runs, entry(1, at=NOON + timedelta(hours=11)), start=1)
    runs.close()
    assert named(tmp_path).rows().num_rows == 2


def test_runs_that_a_crash_left_are_ended_on_a_later_day(tmp_path: Path) -> None:
    runs = LiveRuns(tmp_path)
    take(runs, entry(0))
    runs.flush()
    for run in runs._runs.values():
        run.writer._lock.release()
    assert named(tmp_path).state == "interrupted"
    again = LiveRuns(tmp_path)
    again.tidy("2026-11-30")
    assert named(tmp_path).state == "interrupted"
    again.tidy("2026-12-01")
    assert named(tmp_path).state == "complete"


def test_a_run_that_was_deleted_by_hand_is_begun_anew(tmp_path: Path) -> None:
    runs = LiveRuns(tmp_path)
    take(runs, entry(0))
    runs.flush()
    shutil.rmtree(named(tmp_path).folder)
    take(runs, entry(1), start=1)
    runs.flush()
    take(runs, entry(2), start=2)
    runs.close()
    assert named(tmp_path).rows().num_rows == 1


def test_attempts_that_do_not_fit_are_named(tmp_path: Path) -> None:
    runs = LiveRuns(tmp_path)
    good, odd, wrong = entry(0), entry(1), entry(2)
    odd["attempts"][0]["row"]["status"] = 70_000
    wrong["attempts"][0]["row"]["sent_ns"] = "x"
    unread = runs.append([good, odd, wrong], [Place(1, n) for n in range(3)])
    runs.close()
    assert [(one.offset, one.why.partition(":")[0]) for one in unread] == [
        (2, "attempts[0]"),
        (1, "a value in an attempt's row does not fit its column"),
    ]
    assert named(tmp_path).rows().num_rows == 1


def test_a_complete_live_run_can_be_deleted(tmp_path: Path) -> None:
    runs = LiveRuns(tmp_path)
    take(runs, entry(0, at=datetime(2026, 11, 30, 12, tzinfo=UTC)))
    runs.close()
    delete_run("gateway:local-a:chat", at=tmp_path)
    assert list_runs(at=tmp_path) == []


def test_the_protocols_of_an_offer_are_runs_of_their_own(tmp_path: Path) -> None:
    runs = LiveRuns(tmp_path)
    take(runs, entry(0), entry(1, attempts=[attempt(protocol="anthropic-messages")]), entry(2))
    runs.close()
    assert named(tmp_path).rows().num_rows == 2
    other = open_run("gateway:local-a:messages", at=tmp_path)
    assert (other.manifest.protocol, other.rows().num_rows) == ("anthropic-messages", 1)
    with pytest.raises(StoreError) as caught:
        open_run("gateway:local-a", at=tmp_path)
    assert caught.value.hint == "there are gateway:local-a:chat, gateway:local-a:messages"

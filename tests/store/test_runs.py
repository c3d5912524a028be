import tarfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from paceline.errors import StoreError
from paceline.store.export import export_archive, export_parquet
from paceline.store.paths import runs_folder
from paceline.store.runs import delete_run, list_runs, open_run
from paceline.store.writer import RunWriter
from tests.store.samples import batch

Write = Callable[..., RunWriter]


@pytest.fixture
def three(write: Write) -> list[str]:
    ids = ["20261130-071502-aaaa", "20261130-071502-abbb", "20261201-000000-cccc"]
    for run_id, name in zip(ids, ["nightly", "nightly", None], strict=True):
        run = write(id=run_id, name=name)
        run.append(batch([1]))
        run.finish("complete")
    return ids


def test_a_run_is_found_by_id_beginning_name_and_latest(three: list[str]) -> None:
    assert open_run(three[0]).id == three[0]
    assert open_run("20261201").id == three[2]
    assert open_run("nightly").id == three[1]
    assert open_run("latest").id == three[2]


def test_the_latest_is_the_one_started_last(write: Write) -> None:
    late = write(id="20261130-071502-aaaa", started_at="2026-11-30T07:15:02.900Z")
    early = write(id="20261130-071502-zzzz", started_at="2026-11-30T07:15:02.100Z")
    middle = write(id="20261130-071502-mmmm", started_at="2026-11-30T08:15:02.500+01:00")
    (runs_folder() / "20261130-071501-unreadable").mkdir()
    assert open_run("latest").id == late.id
    in_order = [late.id, middle.id, early.id, "20261130-071501-unreadable"]
    assert [entry.id for entry in list_runs()] == in_order


def test_an_ambiguous_beginning_names_the_candidates(three: list[str]) -> None:
    with pytest.raises(StoreError, match="begins 2 run ids: 20261130-071502-aaaa, 20261130-071502-abbb"):
        open_run("20261130")


@pytest.mark.parametrize("ref", ["nothing", "", "..", "../runs/20261201-000000-cccc", "/"])
def test_what_is_no_run(three: list[str], ref: str) -> None:
    with pytest.raises(StoreError):
        open_run(ref)


def test_without_runs_the_error_says_where_it_looked(home: Path) -> None:
    with pytest.raises(StoreError, match="there are no runs in") as caught:
        open_run("latest")
    assert str(runs_folder(home)) in caught.value.message


def test_the_list_is_newest_first(three: list[str], write: Write) -> None:
    write(id="20261202-000000-dddd")
    (runs_folder() / "99991231-235959-ffff").mkdir()
    entries = list_runs()
    assert [entry.id for entry in entries] == [
        "99991231-235959-ffff",
        "20261202-000000-dddd",
        *reversed(three),
    ]
    assert [entry.state for entry in entries] == ["unreadable", "running", *["complete"] * 3]
    assert entries[0].started_at is None
    assert entries[1].started_at is not None


def test_delete(three: list[str]) -> None:
    assert delete_run("20261201") == three[2]
    assert [entry.id for entry in list_runs()] == [three[1], three[0]]
    assert sorted(path.name for path in runs_folder().iterdir()) == three[:2]


def test_an_unreadable_run_can_be_deleted(three: list[str]) -> None:
    (runs_folder() / three[0] / "run.json").write_text("{")
    with pytest.raises(StoreError, match="damaged"):
        open_run(three[0])
    delete_run(three[0])
    assert len(list_runs()) == 2


def test_a_run_being_written_is_not_deleted(write: Write) -> None:
    run = write()
    with pytest.raises(StoreError, match="being written"):
        delete_run(run.id)
    assert open_run(run.id).state == "running"


def test_chosen_columns(three: list[str]) -> None:
    table = open_run("latest").rows(["outcome", "end_ns"])
    assert table.column_names == ["outcome", "end_ns"]
    assert table.num_rows == 1


def test_size(three: list[str]) -> None:
    run = open_run("latest")
    assert run.size_bytes() == sum(path.stat().st_size for path in run.folder.iterdir())


def test_export_parquet(three: list[str], tmp_path: Path) -> None:
    run = open_run("latest")
    export_parquet(run, tmp_path / "rows.parquet")
    assert pq.read_table(tmp_path / "rows.parquet").equals(run.rows())
    with pytest.raises(StoreError):
        export_parquet(run, tmp_path / "nowhere" / "rows.parquet")


def test_an_exported_archive_is_a_run_elsewhere(three: list[str], tmp_path: Path) -> None:
    export_archive(open_run("latest"), tmp_path / "run.tar")
    other = tmp_path / "other"
    (other / "runs").mkdir(parents=True)
    with tarfile.open(tmp_path / "run.tar") as archive:
        archive.extractall(other / "runs", filter="data")
    moved = open_run("latest", at=other)
    assert moved.id == three[2]
    assert moved.rows().equals(open_run("latest").rows())


@pytest.mark.parametrize("garbage", ["bytes", "columns"])
def test_a_damaged_progress_is_noted_and_the_rest_is_read(three: list[str], garbage: str) -> None:
    path = runs_folder() / three[2] / "progress.parquet"
    if garbage == "bytes":
        path.write_bytes(b"x")
    else:
        pq.write_table(pa.table({"a": [1]}), path)
    run = open_run("latest")
    assert run.rows().num_rows == 1
    [note] = run.manifest.notes
    assert "progress.parquet" in note
    with pytest.raises(StoreError, match=r"progress\.parquet"):
        run.progress()

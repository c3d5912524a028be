from pathlib import Path

import pytest

from paceline.errors import ConfigError, StoreError
from paceline.store.imports.files import read_file
from paceline.store.imports.run import ImportedRow, ImportedRun, store_run
from paceline.store.runs import list_runs, open_run
from paceline.store.writer import RunWriter
from tests.store.imports.recorded import AIPERF, GUIDELLM


@pytest.mark.parametrize("path", [GUIDELLM, AIPERF])
def test_a_stored_import_is_a_run_as_any_other(tmp_path: Path, path: Path) -> None:
    imported = read_file(path)[0]
    run_id = store_run(imported, path, name="theirs", at=tmp_path)
    assert [(entry.id, entry.state, entry.name) for entry in list_runs(at=tmp_path)] == [
        (run_id, "complete", "theirs")
    ]
    run = open_run("theirs", at=tmp_path)
    assert run.rows().num_rows == len(imported.rows)
    assert run.manifest.started_at == imported.started_at
    assert run.manifest.finished_at == imported.finished_at
    assert run.manifest.segments == []
    assert run.manifest.imported is not None
    assert run.manifest.imported["tool"] == imported.tool
    assert run.manifest.imported["file"] == path.name


def test_what_is_not_known_is_null(tmp_path: Path) -> None:
    run_id = store_run(read_file(GUIDELLM)[0], GUIDELLM, at=tmp_path)
    rows = open_run(run_id, at=tmp_path).rows()
    for name in ("written_ns", "connect_ns", "tls_ns", "headers_ns", "finish_reason", "retry_after_ms"):
        assert rows[name].null_count == rows.num_rows
    assert not any(rows["kernel_stamped"].to_pylist())


def test_a_run_without_requests(tmp_path: Path) -> None:
    run_id = store_run(ImportedRun("vllm", None, []), Path("result.json"), at=tmp_path)
    run = open_run(run_id, at=tmp_path)
    assert (run.state, run.rows().num_rows, run.manifest.endpoint) == ("complete", 0, "unknown")
    assert any("the time of its import stands for it" in note for note in run.manifest.notes)


def test_what_cannot_be_written_whole_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_self: RunWriter, _batch: object) -> None:
        raise StoreError("the disk is full")

    monkeypatch.setattr(RunWriter, "append", full)
    with pytest.raises(StoreError, match="the disk is full"):
        store_run(ImportedRun("vllm", None, [ImportedRow(sent_ns=0, end_ns=5)]), Path("x.json"), at=tmp_path)
    assert list_runs(at=tmp_path) == []


def test_a_name_that_cannot_be_one_stores_nothing(tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        store_run(ImportedRun("vllm", None, []), Path("x.json"), name="latest", at=tmp_path)
    assert list_runs(at=tmp_path) == []

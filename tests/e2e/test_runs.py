import json
import tarfile
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from paceline.measure.sim import SimProcess
from paceline.store.runs import list_runs, open_run
from tests.e2e.conftest import SMALL, Cli


@pytest.fixture
def run_id(cli: Cli, sim: SimProcess) -> str:
    cli("measure", sim.url, *SMALL, "-c", "2", "-n", "8", "--name", "mine").ended()
    return list_runs()[0].id


def test_list_is_for_people_or_programs(cli: Cli, run_id: str) -> None:
    listed = cli("runs", "list")
    head, line = listed.out.splitlines()
    assert head.split() == ["ID", "STARTED", "STATE", "NAME", "MODEL"]
    assert line.startswith(run_id)
    assert "complete  mine" in line
    document = json.loads(cli("runs", "list", "--json").out)
    assert document["schema"] == "paceline.runs/1"
    (entry,) = document["runs"]
    assert (entry["id"], entry["name"], entry["state"]) == (run_id, "mine", "complete")


def test_an_empty_list_says_so(cli: Cli) -> None:
    done = cli("runs", "list")
    assert (done.code, done.out) == (0, "")
    assert "no runs" in done.err


def test_export_goes_by_the_name_of_the_file(cli: Cli, run_id: str, tmp_path: Path) -> None:
    for name in ("r.parquet", "r.tar", "r.json", "r.csv", "r.html", "r.md"):
        done = cli("runs", "export", "mine", tmp_path / name)
        assert done.code == 0, done.err
    assert pq.read_table(tmp_path / "r.parquet").num_rows == 8
    with tarfile.open(tmp_path / "r.tar") as archive:
        assert f"{run_id}/run.json" in archive.getnames()
    assert json.loads((tmp_path / "r.json").read_text())["schema"] == "paceline.report/1"
    assert len((tmp_path / "r.csv").read_text().splitlines()) == 9
    done = cli("runs", "export", "mine", tmp_path / "r.docx")
    assert done.code == 2
    assert ".docx" in done.err
    assert not (tmp_path / "r.docx").exists()


def test_delete_deletes_all_that_are_named_or_none(cli: Cli, run_id: str) -> None:
    assert cli("runs", "delete", run_id, "no-such-run").code == 2
    assert [entry.id for entry in list_runs()] == [run_id]
    assert cli("runs", "delete", "mine", run_id).code == 0
    assert list_runs() == []


def test_options_go_before_settings_and_settings_before_defaults(
    cli: Cli, sim: SimProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PACELINE_HOME")
    monkeypatch.setenv("PACELINE_CONFIG", "")
    monkeypatch.setenv("TEAM_OF_TEST", "blue-team")
    file = tmp_path / "own.toml"
    file.write_text(
        f"""
        [measure]
        timeout = "7s"
        slo = {{ ttft_ms = 450 }}
        tokenizer = "words"
        headers_env = {{ "x-team" = "TEAM_OF_TEST" }}
        [store]
        home = "{tmp_path / "elsewhere"}"
        """
    )
    done = cli("--config", file, "measure", sim.url, *SMALL, "-n", "2", "--timeout", "9s")
    done.ended()
    manifest = open_run("latest", at=tmp_path / "elsewhere").manifest
    assert manifest.load["timeout_ns"] == 9_000_000_000
    assert manifest.slo == {"ttft_ms": 450}
    assert manifest.workload["tokenizer"] == "words"
    assert manifest.load["connection"]["header_names"] == ["x-team"]
    monkeypatch.delenv("PACELINE_HOME")

    file.write_text("[measure]\ntimeuot = '5s'\n")
    done = cli("--config", file, "measure", sim.url)
    assert done.code == 2
    assert "timeuot" in done.err
    assert "timeout" in done.err
    assert cli("--config", tmp_path / "none.toml", "runs", "list").code == 2

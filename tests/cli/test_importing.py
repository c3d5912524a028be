"""`paceline import` and what the other commands make of an imported run."""

import json
from pathlib import Path

import pytest

from paceline.cli.main import run
from tests.store.imports.recorded import AIPERF, GUIDELLM, GUIDELLM_RATES, vllm_result


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PACELINE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def names(capsys: pytest.CaptureFixture[str]) -> list[str | None]:
    capsys.readouterr()
    assert run(["runs", "list", "--json"]) == 0
    return [entry["name"] for entry in json.loads(capsys.readouterr().out)["runs"]]


def test_ids_are_data_and_what_is_lacking_is_talk(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["import", str(GUIDELLM_RATES), str(AIPERF), "--name", "theirs"]) == 0
    said = capsys.readouterr()
    assert len(said.out.split()) == 3
    assert "without the instants of all tokens" in said.err
    # A path may be longer than the line.
    assert all(len(line) <= 80 for line in said.err.splitlines() if "/" not in line)
    assert sorted(str(name) for name in names(capsys)) == ["theirs-1", "theirs-2", "theirs-3"]


def test_every_command_that_reads_runs_works_on_an_imported_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["import", str(GUIDELLM), "--name", "g"]) == 0
    assert run(["import", str(AIPERF), "--name", "a"]) == 0
    # A quarter of the requests failed: both are invalid, and shown all the same.
    assert run(["runs", "show", "g", "--json", str(tmp_path / "g.json")]) == 0
    document = json.loads((tmp_path / "g.json").read_text())
    assert document["trust"]["verdict"] == "invalid"
    assert document["metrics"]["ttft_ms"]["n"] == 9
    assert document["trust"]["instrument_error_us"] is None
    for suffix in ("html", "md", "csv", "parquet", "tar"):
        assert run(["runs", "export", "a", str(tmp_path / f"a.{suffix}")]) == 0
    assert run(["compare", "g", "a"]) in (0, 1)
    assert "different tools" in " ".join(capsys.readouterr().out.split())
    assert run(["runs", "resume", "g"]) == 2
    assert run(["runs", "delete", "g"]) == 0
    assert names(capsys) == ["a"]


def test_a_bad_file_among_good_ones_stores_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text("{}")
    assert run(["import", str(GUIDELLM), str(bad)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "bad.json: this is no result of guidellm, aiperf, vllm" in said.err
    assert names(capsys) == []


@pytest.mark.parametrize("extra", [["--format", "k6"], ["--name", "latest"], ["--format", "aiperf"]])
def test_wrong_usage(extra: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["import", str(GUIDELLM), *extra]) == 2
    assert names(capsys) == []


def test_totals_alone_have_a_report_that_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "result.json"
    path.write_text(json.dumps(vllm_result(detailed=False)))
    assert run(["import", str(path)]) == 0
    capsys.readouterr()
    assert run(["runs", "show", "latest"]) == 0
    assert "only totals" in " ".join(capsys.readouterr().out.split())
    assert run(["show", "latest", "--as", "vllm"]) == 0
    assert "in its file" in capsys.readouterr().out

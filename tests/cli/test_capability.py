"""`paceline capability` without an endpoint: what is refused, imports and the list."""

import json
from pathlib import Path

import pytest

from paceline.cli.main import run
from paceline.store.scores import imported_scores
from tests.store.score_imports.samples import DATA


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PACELINE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--families", "produkts"], "did you mean products"),
        (["--families", ","], "--families"),
        (["--extra-body", "{"], "--extra-body is not JSON"),
        (["--max-tokens", "99999999999"], "--max-tokens"),
        (["--temperature", "-1"], "--temperature"),
        (["--seed", "99999999999999999999"], "--seed"),
        (["--tier", "warp"], "no tier 'warp'"),
        (["--timeout", "soon"], "--timeout"),
    ],
)
def test_a_wrong_option_is_named_before_anything_is_asked(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["capability", "run", "http://127.0.0.1:9/v1", "--model", "m", *arguments]) == 2
    assert says in capsys.readouterr().err


def test_the_command_names_itself_where_there_is_no_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["capability", "score", "latest"]) == 2
    assert "there are no runs" in capsys.readouterr().err
    assert run(["capability", "list"]) == 0
    assert "paceline capability run" in capsys.readouterr().err


def test_scores_are_imported_listed_and_kept(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["capability", "import", str(DATA / "table.csv")]) == 0
    said = capsys.readouterr()
    assert "ours v2 of 2026-11-01: tiny 75.5%, 151 of 200" in said.out
    assert "ours v2 of 2026-11-08: tiny at acme (fast) 76.0%, 152 of 200" in said.out
    assert "kept 4 scores" in said.err
    assert run(["capability", "import", str(DATA / "inspect.json"), "--model", "tiny"]) == 0
    assert run(["capability", "import", str(DATA / "lm_eval.json")]) == 0
    capsys.readouterr()
    assert len(imported_scores(home)[0]) == 9
    assert run(["capability", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:4] == ["BENCHMARK", "VERSION", "DATE", "MODEL"]
    assert any("arithmetic" in line and "75.0" in line and "34.9 to 96.8" in line for line in lines)
    assert any("card" in line and "none" in line for line in lines)
    assert run(["capability", "list", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["scores"]
    assert {row["model"] for row in rows} == {"tiny"}


def test_a_bad_file_stores_nothing(home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bad.csv"
    path.write_text("model,benchmark,version,date,score\na,b,1,2026-11-01,0.5\na,b,1,2026-11-01,7\n")
    assert run(["capability", "import", str(path)]) == 2
    assert "line 3" in capsys.readouterr().err
    assert imported_scores(home) == ([], [])


def test_what_a_file_says_cannot_steer_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = json.loads((DATA / "inspect.json").read_text())
    document["status"] = "error \x1b[2J"
    path = tmp_path / "log.json"
    path.write_text(json.dumps(document))
    assert run(["capability", "import", str(path), "--model", "tiny"]) == 0
    said = capsys.readouterr()
    assert "\x1b" not in said.out + said.err

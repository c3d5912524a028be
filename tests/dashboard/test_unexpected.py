from pathlib import Path

import pytest
from starlette.testclient import TestClient

from paceline.dashboard.unexpected import MOST_FILES, tell_unexpected
from tests.dashboard.conftest import client_of
from tests.dashboard.served import state_of


@pytest.fixture
def broken(home: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[TestClient, list[str]]:
    """A dashboard whose list of runs has a fault, and what it says in its terminal."""

    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("secret of a page")

    monkeypatch.setattr("paceline.dashboard.runs.list_runs", fail)
    state = state_of(home)
    said: list[str] = []
    state.say = said.append
    return client_of(state), said


def test_a_fault_is_a_page_a_line_and_a_file(
    broken: tuple[TestClient, list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    client, said = broken
    for path in ("/runs", "/api/runs", "/runs", "/runs"):
        answer = client.get(path)
        assert answer.status_code == 500
        assert "ZeroDivisionError" in answer.text
        assert "secret of a page" not in answer.text
        assert "Traceback" not in answer.text
        assert answer.headers["x-frame-options"] == "DENY"
    assert len(said) == 4
    assert all("\n" not in line for line in said)
    # The same fault on a page that loads itself again is one file.
    files = list(tmp_path.glob("paceline-*.traceback.txt"))
    assert len(files) == 2
    assert "secret of a page" in files[0].read_text()
    assert files[0].stat().st_mode & 0o077 == 0


def test_faults_do_not_fill_the_disk(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    state = state_of(home)
    said: list[str] = []
    state.say = said.append
    for number in range(MOST_FILES + 5):
        tell_unexpected(state, "/", ValueError(f"{number} \ud800"))
    assert len(list(tmp_path.glob("*.traceback.txt"))) == MOST_FILES
    assert len(said) == MOST_FILES + 5
    assert "kept already" in said[-1]


def test_where_no_file_can_be_written_it_is_said(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "gone"))
    state = state_of(home)
    said: list[str] = []
    state.say = said.append
    tell_unexpected(state, "/", ValueError("x"))
    assert "no file, as none could be written" in said[0]

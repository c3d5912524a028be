from pathlib import Path

import pytest

from paceline.store.paths import home, index_file, runs_folder


def test_the_variable_names_the_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PACELINE_HOME", str(tmp_path / "elsewhere"))
    assert home() == tmp_path / "elsewhere"
    assert runs_folder() == tmp_path / "elsewhere" / "runs"
    assert index_file() == tmp_path / "elsewhere" / "index.sqlite"
    assert not home().exists()


def test_without_it_the_user_data_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PACELINE_HOME", "")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert home() == tmp_path / "paceline"


def test_a_tilde_and_a_relative_path_become_absolute(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PACELINE_HOME", "~/results")
    assert home() == Path("~/results").expanduser()
    monkeypatch.setenv("PACELINE_HOME", "results")
    assert home().is_absolute()

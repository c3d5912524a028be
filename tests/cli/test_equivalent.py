from pathlib import Path

import pytest

from paceline.cli.main import run
from tests.report.samples import store
from tests.support.rows import lognormal_rows


def test_a_run_is_not_held_against_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PACELINE_HOME", str(tmp_path))
    stored = store(tmp_path, lognormal_rows(20, 1, events=3))
    assert run(["equivalent", stored.id, "latest"]) == 2
    assert f"A and B are one run, {stored.id}" in capsys.readouterr().err

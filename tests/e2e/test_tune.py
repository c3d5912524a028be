"""A whole tuning through the command line, on an engine whose speed is known: found, and confirmed."""

import json
from pathlib import Path
from typing import Any

import pytest

from paceline.cli.main import run
from paceline.tuning import tune
from tests.support.llama_standin import make_llama_server
from tests.support.models import write_gguf

FIXED = ("threads=1", "flash-attn=on", "spec-ngram-mod-n-match=12")


@pytest.fixture
def _quick(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PACELINE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PACELINE_STANDIN_SPREAD", "0.02")
    monkeypatch.setattr(tune, "MOST_ROUNDS", 3)
    monkeypatch.setattr(tune, "_MOST_REQUESTS", 2)


def tuned(tmp_path: Path) -> dict[str, Any]:
    """One kind of drafts or another, or none: three settings, a minute's budget at most."""
    binary = make_llama_server(tmp_path)
    model = write_gguf(tmp_path / "tiny.gguf")
    arguments = ["tune", str(model), "--binary", str(binary), "--budget", "10m", "--protocol", "completions"]
    arguments += ["--prompt-tokens", "30", "--output-tokens", "20", "--json", str(tmp_path / "tuning.json")]
    for one in FIXED:
        arguments += ["--fix", one]
    assert run(arguments) == 0
    found: dict[str, Any] = json.loads((tmp_path / "tuning.json").read_text())
    return found


@pytest.mark.usefixtures("_quick")
def test_the_faster_setting_becomes_a_profile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(
        "PACELINE_STANDIN_SPEED", '{"spec-type=ngram-mod": 2.0, "spec-type=ngram-simple": 1.3}'
    )
    found = tuned(tmp_path)
    assert found["state"] == "complete"
    gain = found["result"]["gain"]
    # Twice as fast at 4 ms a token, which the reference engine keeps to some 0.05 ms.
    assert gain["lo"] < 2.0 < gain["hi"] * 1.05
    assert gain["lo"] > 1.6
    profile = json.loads(Path(found["profile"]).read_text())
    assert profile["settings"]["spec-type"] == "ngram-mod"
    assert profile["sameness"]["differing"] == 0
    said = capsys.readouterr()
    assert "The gain is real" in said.out
    assert max(len(line) for line in said.out.splitlines() if str(tmp_path) not in line) <= 80
    assert run(["tune", "show", "latest"]) == 0
    assert "The gain is real" in capsys.readouterr().out

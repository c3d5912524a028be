import json
import os
import stat
from pathlib import Path

import pytest

from paceline.cli.main import run
from paceline.control.example import example_text
from tests.control.samples import LEAST, OFFER


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # What names a config in the environment ends with the test.
    monkeypatch.setenv("PACELINE_CONFIG", "")
    monkeypatch.setenv("PACELINE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("LOCAL_A_KEY", "sk-secret-7")
    monkeypatch.chdir(tmp_path)


def test_init_check_and_no_overwriting(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["gateway", "init"]) == 0
    assert (tmp_path / "paceline.toml").read_text() == example_text()
    assert run(["gateway", "check"]) == 0
    said = capsys.readouterr()
    assert said.out.splitlines()[0] == "model demo (also paceline/demo)"
    assert said.err.splitlines()[-1] == "paceline.toml is fine"
    (tmp_path / "paceline.toml").write_text(LEAST)
    assert run(["gateway", "init"]) == 2
    assert "--force" in capsys.readouterr().err
    assert run(["gateway", "init", "--force"]) == 0
    assert run(["gateway", "init", "sub/none.toml"]) == 2
    assert run(["gateway", "init", "other.toml"]) == 0
    assert (tmp_path / "other.toml").read_text() == example_text()


@pytest.mark.parametrize(
    "arguments",
    [
        ["gateway", "check", "--config", "mine.toml"],
        ["gateway", "--config", "mine.toml", "check"],
        ["--config", "mine.toml", "gateway", "check"],
    ],
)
def test_the_config_is_named_before_or_after(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "paceline.toml").write_text("not toml")
    (tmp_path / "mine.toml").write_text(LEAST)
    assert run(arguments) == 0
    assert "local-a" in capsys.readouterr().out


def test_the_users_own_config_is_the_last_choice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = tmp_path / "config" / "paceline" / "paceline.toml"
    own.parent.mkdir(parents=True)
    own.write_text(LEAST)
    assert run(["gateway", "check"]) == 0
    assert str(own) in capsys.readouterr().err


def test_each_problem_is_a_line_with_its_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "paceline.toml").write_text(
        LEAST.replace("standard", "fats") + "teir = 1\n" + OFFER + "x = 1"
    )
    for arguments in (["gateway", "check"], ["gateway"]):
        assert run(arguments) == 2
        said = capsys.readouterr()
        assert said.out == ""
        assert said.err.splitlines() == [
            'error: paceline.toml:12: offer "local-a": tier: there is no such value',
            "  hint: it is one of standard, fast, ultra, flex",
            'error: paceline.toml:13: offer "local-a": teir: there is no such key',
            "  hint: did you mean `tier`?",
            'error: paceline.toml:18: offer "a": x: there is no such key',
            said.err.splitlines()[-1],
        ]


def test_check_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "paceline.toml"
    file.write_text(LEAST)
    assert run(["gateway", "check", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["schema"], found["ok"], found["problems"]) == ("paceline.check/1", True, [])
    assert [one["line"] for one in found["warnings"]] == [5]
    file.write_text(LEAST.replace("127.0.0.1:9100/v1", ""))
    assert run(["gateway", "check", "--json"]) == 2
    found = json.loads(capsys.readouterr().out)
    assert found["ok"] is False
    assert found["problems"][0]["line"] == 8
    assert "sk-secret" not in str(found)


def test_no_config_at_all(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["gateway"]) == 2
    said = capsys.readouterr().err
    assert "there is no such file" in said
    assert "paceline gateway init" in said


def test_a_bad_option(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "paceline.toml").write_text(LEAST)
    assert run(["gateway", "--listen", "8080"]) == 2
    assert "error: --listen: it is no address" in capsys.readouterr().err


def test_the_config_may_have_settings_of_other_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And the gateway's keys lie in the home that it names."""
    monkeypatch.delenv("PACELINE_HOME")
    (tmp_path / "paceline.toml").write_text(f'[store]\nhome = "{tmp_path}/named"\n' + LEAST)
    # So that what the command sets there ends with the test.
    monkeypatch.setitem(os.environ, "PACELINE_HOME", "")
    assert run(["keys", "create", "team"]) == 0
    assert (tmp_path / "named" / "gateway" / "keys.sqlite").exists()
    monkeypatch.setitem(os.environ, "PACELINE_HOME", "")
    assert run(["gateway", "check"]) == 0
    assert "there is no key" not in capsys.readouterr().err


def test_a_written_config_is_an_ordinary_file(tmp_path: Path) -> None:
    assert run(["gateway", "init"]) == 0
    assert stat.S_ISREG((tmp_path / "paceline.toml").stat().st_mode)

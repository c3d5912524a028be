import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from paceline.cli.commands.keys import budgets, expiry
from paceline.cli.main import run
from paceline.errors import UsageError


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PACELINE_CONFIG", "")
    monkeypatch.setenv("PACELINE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)


def test_from_its_making_to_its_end(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--model", "demo", "--budget", "day=5", "--budget", "total=50.5", "--requests-per-min", "60"]
    assert run(["keys", "create", "team", *arguments, "--expires", "2099-01-31"]) == 0
    secret = capsys.readouterr().out.strip()
    assert re.fullmatch(r"pk-pl-[A-Za-z0-9_-]{43}", secret)
    assert run(["keys", "list"]) == 0
    said = capsys.readouterr().out
    head, line = said.splitlines()
    assert head.split() == ["ID", "STATE", "CREATED", "NAME", "MAY"]
    assert line.endswith("team  demo; 60 requests/min; 5 USD/day; 50.5 USD in all; until 2099-01-31")
    assert secret not in said
    assert run(["keys", "create", "team"]) == 2
    assert run(["keys", "revoke", "team"]) == 0
    assert run(["keys", "revoke", "team"]) == 2
    capsys.readouterr()
    assert run(["keys", "list", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["keys"]
    assert (found["state"], found["budgets_usd"]) == ("revoked", {"day": 5.0, "total": 50.5})
    assert found["expires_at"] == "2099-01-31T00:00:00+00:00"
    assert "sha256" not in found


def test_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["keys", "create", "team", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["schema"] == "paceline.key/1"
    assert found["key"].startswith("pk-pl-")
    assert found["models"] is None


def test_no_keys(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["keys", "list"]) == 0
    assert "paceline keys create" in capsys.readouterr().err


def test_in_a_terminal_what_a_key_may_is_whole(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    limits = ["--model", "demo", "--requests-per-min", "60", "--budget", "day=5", "--budget", "month=90"]
    assert run(["keys", "create", "team", *limits, "--expires", "2099-01-31"]) == 0
    capsys.readouterr()
    monkeypatch.setenv("COLUMNS", "80")
    assert run(["keys", "list"]) == 0
    said = capsys.readouterr().out
    assert max(len(line) for line in said.splitlines()) <= 80
    whole = " ".join(said.split())
    assert whole.endswith("demo; 60 requests/min; 5 USD/day; 90 USD/month; until 2099-01-31")


@pytest.mark.parametrize(
    "texts",
    [["day"], ["day=0"], ["day=-1"], ["day=x"], ["hour=1"], ["day=1", "day=2"], ["day=inf"], ["day=nan"]],
)
def test_budgets_that_are_none(texts: list[str]) -> None:
    with pytest.raises(UsageError, match="--budget"):
        budgets(texts)


def test_an_end_in_time() -> None:
    now = datetime(2026, 11, 30, 12, tzinfo=UTC).timestamp()
    assert expiry("2d", now) == now + 2 * 86_400
    assert expiry("1h30m", now) == now + 5_400
    assert expiry("2026-12-01", now) == now + 43_200
    for text in ("2026-11-30", "30", "0d", "soon", "2026-13-01", "-1d", "999999999d"):
        with pytest.raises(UsageError, match="--expires"):
            expiry(text, now)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--requests-per-min", str(2**32)],
        ["--tokens-per-min", "0"],
        ["--tokens-per-min", "9" * 20],
        ["--model", ""],
    ],
)
def test_bounds_that_no_data_plane_takes(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["keys", "create", "team", *arguments]) == 2
    assert run(["keys", "list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["keys"] == []

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from paceline.cli.commands.keys import budgets, expiry
from paceline.cli.main import run
from paceline.control.keys import KeyStore
from paceline.errors import UsageError
from tests.support.ledger import append, attempt, entry


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
    may = "demo; 60 requests/min; 5 USD/day (0.00 spent); 50.5 USD in all (0.00 spent); until 2099-01-31"
    said = capsys.readouterr().out
    head, line = said.splitlines()
    assert head.split() == ["ID", "STATE", "CREATED", "NAME", "MAY,", "HAS", "SPENT"]
    assert line.endswith(f"team  {may}")
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


def test_what_a_key_has_spent_is_beside_its_budgets(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of the ledger: 0.1 + 0.2 today, 1.5 a year ago."""
    assert run(["keys", "create", "team", "--budget", "day=5"]) == 0
    assert run(["keys", "create", "free"]) == 0
    capsys.readouterr()
    team, free = KeyStore(tmp_path / "home").all()
    now = datetime.now(UTC)
    costs = [(now, 0.1), (now, 0.2), (now - timedelta(days=365), 1.5)]
    append(
        tmp_path / "home",
        *(
            entry(n, at=at, attempts=[attempt(cost_usd=usd)], key=team.id)
            for n, (at, usd) in enumerate(costs)
        ),
        entry(9, attempts=[attempt(cost_usd=0.0021)], key=free.id, at=now - timedelta(days=365)),
    )
    assert run(["keys", "list"]) == 0
    _, one, other = capsys.readouterr().out.splitlines()
    assert one.endswith("team  5 USD/day (0.300 spent); 1.80 USD spent in all")
    assert other.endswith("free  everything; 0.00210 USD spent in all")
    assert run(["keys", "list", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["keys"]
    assert found[0]["spent_usd"] == {"day": 0.3, "week": 0.3, "month": 0.3, "total": 1.8}
    assert found[1]["spent_usd"]["day"] == 0.0


def test_only_what_is_given_changes(capsys: pytest.CaptureFixture[str]) -> None:
    first = ["--model", "demo", "--requests-per-min", "60", "--budget", "day=5", "--budget", "month=90"]
    assert run(["keys", "create", "team", *first, "--expires", "2099-01-31"]) == 0

    def listed() -> dict[str, Any]:
        capsys.readouterr()
        assert run(["keys", "list", "--json"]) == 0
        found: dict[str, Any] = json.loads(capsys.readouterr().out)["keys"][0]
        return found

    expected = listed()
    for options, changed in (
        (["--budget", "day=7"], {"budgets_usd": {"day": 7.0, "month": 90.0}}),
        (["--no-budget", "month", "--budget", "total=9"], {"budgets_usd": {"day": 7.0, "total": 9.0}}),
        (["--no-budget", "week"], {}),
        (
            ["--requests-per-min", "none", "--tokens-per-min", "1000"],
            {"requests_per_min": None, "tokens_per_min": 1000},
        ),
        (["--model", "a", "--model", "b"], {"models": ["a", "b"]}),
        (["--expires", "2098-01-31"], {"expires_at": "2098-01-31T00:00:00+00:00"}),
        (["--all-models", "--expires", "none"], {"models": None, "expires_at": None}),
    ):
        assert run(["keys", "set", "team", *options]) == 0
        assert f"{expected['id']} of team may now: " in capsys.readouterr().err
        expected |= changed
        assert listed() == expected


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "nothing is given that is to change"),
        (["--requests-per-min", "0"], "--requests-per-min"),
        (["--requests-per-min", str(2**32)], "--requests-per-min"),
        (["--tokens-per-min", "many"], "--tokens-per-min"),
        (["--budget", "hour=1"], "--budget"),
        (["--no-budget", "hour"], "--no-budget"),
        (["--budget", "day=1", "--no-budget", "day"], "both name day"),
        (["--model", "a", "--all-models"], "--all-models"),
        (["--model", ""], "--model"),
        (["--expires", "soon"], "--expires"),
    ],
)
def test_changes_that_are_none(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["keys", "create", "team", "--budget", "day=5"]) == 0
    assert run(["keys", "set", "team", *arguments]) == 2
    assert said in capsys.readouterr().err
    assert run(["keys", "set", "taem", "--budget", "day=1"]) == 2
    assert "did you mean 'team'?" in capsys.readouterr().err
    assert run(["keys", "list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["keys"][0]["budgets_usd"] == {"day": 5.0}


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
    assert whole.endswith(
        "demo; 60 requests/min; 5 USD/day (0.00 spent); 90 USD/month (0.00 spent); until 2099-01-31"
    )


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

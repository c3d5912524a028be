import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from paceline.cli.main import run
from paceline.control.keys import KeyLimits, KeyStore
from tests.support.ledger import append, entry


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PACELINE_HOME", str(tmp_path))
    now = datetime.now(UTC)
    append(
        tmp_path, entry(0, at=now - timedelta(minutes=5)), entry(1, at=now - timedelta(days=30), key="key_b")
    )
    return tmp_path


def test_the_last_week_by_model(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["usage"]) == 0
    out = capsys.readouterr().out
    assert "\ndemo " in out
    assert out.split("TOTAL")[1].split()[0] == "1"


def test_all_of_it_by_key(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["usage", "--since", "all", "--by", "key", "--csv", "-"]) == 0
    out = capsys.readouterr().out
    assert [line.split(",")[0] for line in out.splitlines()] == ["key", "key_a", "key_b"]


def test_by_several_with_commas_or_again_and_a_provider_in_any_case(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = []
    for options in (["--by", "key,code"], ["--by", "key", "--by", "code", "--by", "key"]):
        assert run(["usage", "--since", "all", "--provider", "LOCAL", *options, "--csv", "-"]) == 0
        told.append(capsys.readouterr().out)
    assert told[0] == told[1]
    assert [line.split(",")[:3] for line in told[0].splitlines()] == [
        ["key", "code", "requests"],
        ["key_a", "", "1"],
        ["key_b", "", "1"],
    ]


def test_json_to_a_file_beside_the_table(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = home / "usage.json"
    assert run(["usage", "--since", "60d", "--until", "1d", "--by", "day,key", "--json", str(path)]) == 0
    assert json.loads(path.read_text())["total"]["requests"] == 1
    told = capsys.readouterr()
    assert "key_b" in told.out
    assert f"wrote {path}" in told.err


def test_an_empty_window_is_no_error(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["usage", "--since", "1m"]) == 0
    assert capsys.readouterr().out.startswith("no requests since ")


def test_without_a_gateway_there_is_nothing_and_nothing_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PACELINE_HOME", str(tmp_path / "new"))
    assert run(["usage", "--since", "all"]) == 0
    assert capsys.readouterr().out == "no requests of all times\n"
    assert not (tmp_path / "new").exists()


def test_the_home_is_that_of_the_gateway_started_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`[store] home` of ./paceline.toml counts, a named config before it, $PACELINE_HOME before both."""
    here, named, told = tmp_path / "here", tmp_path / "named", tmp_path / "told"
    for number, place in enumerate((here, named, told)):
        append(place, *(entry(n) for n in range(number + 1)))
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    (work / "paceline.toml").write_text(f'[store]\nhome = "{here}"\n[gateway]\nlisten = "127.0.0.1:0"\n')
    other = tmp_path / "other.toml"
    other.write_text(f'[store]\nhome = "{named}"\n')

    def requests(home: Path | str, config: Path | str) -> int:
        # So that what the command sets there ends with the test.
        monkeypatch.setenv("PACELINE_HOME", str(home))
        monkeypatch.setenv("PACELINE_CONFIG", str(config))
        assert run(["usage", "--since", "all", "--json", "-"]) == 0
        return int(json.loads(capsys.readouterr().out)["total"]["requests"])

    assert [requests("", ""), requests("", other), requests(told, "")] == [1, 2, 3]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--since", "yesterday"], "--since"),
        (["--until", "2026-02-30"], "--until"),
        (["--since", "1d", "--until", "2d"], "--since is not before --until"),
        (["--by", "key", "--by", "modle"], "did you mean model?"),
        (["--sort", "price"], "--sort"),
        (["--limit", "0"], "--limit"),
        (["--csv", "-", "--json", "-"], "both go to"),
    ],
)
def test_wrong_usage(home: Path, capsys: pytest.CaptureFixture[str], options: list[str], said: str) -> None:
    assert run(["usage", *options]) == 2
    assert said in capsys.readouterr().err


def test_lines_that_could_not_be_read_are_named(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    append(home, b"{\n")
    assert run(["usage"]) == 0
    err = capsys.readouterr().err
    assert "1 lines of the ledger could not be read" in err
    assert "it is not JSON" in err


def test_keys_are_shown_and_found_by_their_names(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keys = KeyStore(home)
    key = keys.create("voice", KeyLimits())[0]
    append(home, entry(2, at=datetime.now(UTC) - timedelta(minutes=1), key=key.id))
    assert run(["usage", "--by", "key"]) == 0
    assert "\nvoice " in capsys.readouterr().out
    assert run(["usage", "--key", "voice", "--by", "key", "--json", "-"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [row["group"]["key"] for row in told["rows"]] == [key.id]
    assert told["key_names"] == {key.id: "voice"}
    keys.revoke("voice")
    other = keys.create("voice", KeyLimits())[0]
    assert run(["usage", "--key", "voice"]) == 2
    assert f"{key.id}, {other.id}" in capsys.readouterr().err
    assert run(["usage", "--by", "key"]) == 0
    assert f"\nvoice ({key.id}) " in capsys.readouterr().out

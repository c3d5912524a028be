"""`paceline bill` from the command line; what it reckons is tested in tests/advisor/test_bill.py."""

import csv
import io
import json
from pathlib import Path

import pytest

from paceline.advisor import digests
from paceline.advisor.digest import Digest
from paceline.advisor.digests import AllDigests, Problem
from paceline.cli.main import run
from tests.advisor.samples import digest

Captured = pytest.CaptureFixture[str]
OWN = '[[price]]\nmodel = "tiny"\ninput_usd_per_mtok = 2\noutput_usd_per_mtok = 10\nas_of = 2026-11-01\n'


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PACELINE_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def stored(monkeypatch: pytest.MonkeyPatch, *runs: Digest, problems: tuple[Problem, ...] = ()) -> None:
    monkeypatch.setattr(digests, "all_digests", lambda **_: AllDigests(runs, problems))


@pytest.fixture
def two(monkeypatch: pytest.MonkeyPatch) -> None:
    stored(
        monkeypatch,
        digest(run_id="a"),
        digest(run_id="b", model="gpt-5-mini", provider="openai"),
        digest(run_id="c", verdict="invalid", reasons=("the client was late",)),
        digest(run_id="d", workload="voice", workload_key="v", load="closed 1"),
        problems=(Problem("e", "its run.json cannot be read"),),
    )


@pytest.mark.usefixtures("two")
def test_every_offer_that_was_measured(home: Path, capsys: Captured) -> None:
    """500 in at 0.25 and 100 out at 2 USD a million are 0.000325 USD; 2 and 10 make 0.002."""
    (home / "prices.toml").write_text(OWN)
    assert run(["bill", "--jobs-per-day", "1000", "--at", "2026-11-30"]) == 0
    told = capsys.readouterr()
    assert max(len(line) for line in told.out.splitlines()) <= 80
    assert "chat, closed 8: USD a job, prices of 2026-11-30; 1,000 jobs a day" in told.out
    assert "1 gpt-5-mini @ openai  0.000325  0.000325-0.000325    0.325       9.75" in told.out
    assert "2 tiny @ acme           0.00200    0.00200-0.00200     2.00      60.00" in told.out
    assert "Price: prices.toml:1, as of 2026-11-01." in told.out
    assert "openai:gpt-5-mini, as of 2026-11-30." in told.out
    assert "voice, closed 1" in told.out
    assert "run e is left out: its run.json cannot be read" in told.err
    assert "run c is left out: invalid: the client was late" in told.err


@pytest.mark.usefixtures("two")
def test_an_unknown_price_is_in_the_table_with_what_to_do(home: Path, capsys: Captured) -> None:
    assert run(["bill", "--workload", "chat"]) == 0
    out = capsys.readouterr().out
    assert "2 tiny @ acme           unknown" in out
    assert "knows no price of tiny at acme. State it in" in " ".join(out.split())
    assert "voice" not in out
    assert "needs --jobs-per-day" in out
    assert str(home / "prices.toml") in out


@pytest.mark.usefixtures("two", "home")
def test_json_and_csv_have_the_same_figures(capsys: Captured) -> None:
    arguments = ["bill", "--workload", "chat", "--jobs-per-day", "10", "--at", "2026-11-30"]
    assert run([*arguments, "--json", "-"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert run([*arguments, "--csv", "-"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert document["schema"] == "paceline.bill/1"
    assert (
        [row["model"] for row in rows] == [row["model"] for row in document["rows"]] == ["gpt-5-mini", "tiny"]
    )
    known, unknown = document["rows"]
    assert known["usd_per_job"]["value"] == pytest.approx(0.000325)
    assert known["usd_per_month"]["value"] == pytest.approx(0.0975)
    assert float(rows[0]["usd_per_job"]) == known["usd_per_job"]["value"]
    assert known["runs"] == ["b"]
    assert known["price"]["rates"]["cache_read_usd_per_mtok"] == 0.025
    assert unknown["usd_per_job"]["value"] is None
    assert unknown["price"]["known"] is False
    assert rows[1]["usd_per_job"] == ""
    assert "unknown: " in rows[1]["notes"]


@pytest.mark.usefixtures("two", "home")
def test_as_a_batch(capsys: Captured) -> None:
    """Half of 0.000325; a provider without batch prices is told."""
    assert run(["bill", "--workload", "chat", "--batch", "--json", "-"]) == 0
    row = json.loads(capsys.readouterr().out)["rows"][0]
    assert row["tier"] == "batch"
    assert row["usd_per_job"]["value"] == pytest.approx(0.0001625)
    assert "processing batch" in row["price"]["source"]


def test_an_offer_that_was_never_measured(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    """1,000 in and 200 out: 0.00025 + 0.0004 USD; at the fast tier 0.00045 + 0.00072."""
    stored(monkeypatch)
    file = home / "mine.toml"
    file.write_text("prompt_tokens = 1000\noutput_tokens = 200\njobs_per_day = 10\n")
    arguments = ["bill", "--model", "openai:gpt-5-mini", "--workload", str(file)]
    assert run(arguments) == 0
    out = capsys.readouterr().out
    assert "mine, not measured, tokens as it asks for them: USD a job" in out
    assert "1 gpt-5-mini @ openai  ~0.000650  ~0.00650     ~0.195" in out
    assert "no reasoning, nothing from a cache" in out
    assert run([*arguments, "--tier", "fast", "--json", "-"]) == 0
    row = json.loads(capsys.readouterr().out)["rows"][0]
    assert (row["basis"], row["load"], row["tier"]) == ("asked", None, "fast")
    assert row["usd_per_job"]["value"] == pytest.approx(0.00117)


@pytest.mark.usefixtures("two", "home")
def test_a_model_that_was_measured_is_billed_by_what_was_measured(capsys: Captured) -> None:
    assert run(["bill", "--model", "openai:gpt-5-mini", "--workload", "chat", "--json", "-"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert (row["basis"], row["load"]) == ("measured", "closed 8")


def test_an_offer_of_the_config(home: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    """Its price and its tier are those of paceline.toml: 3 x (0.25 x 0.001 + 2 x 0.0002)."""
    stored(monkeypatch)
    monkeypatch.setenv("PACELINE_CONFIG", str(home / "paceline.toml"))
    (home / "paceline.toml").write_text(
        '[[offer]]\nid = "mini"\nmodel = "m"\nbase_url = "http://127.0.0.1:1/v1"\ntier = "fast"\n'
        'price = { ref = "openai:gpt-5-mini" }\nprice_multiplier = 3\n'
    )
    file = home / "mine.toml"
    file.write_text("prompt_tokens = 1000\noutput_tokens = 200\n")
    assert run(["bill", "--model", "mini", "--workload", str(file), "--json", "-"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert row["usd_per_job"]["value"] == pytest.approx(0.00195)
    assert row["price"]["source"].startswith('paceline.toml, offer "mini", genai-prices')
    assert (row["model"], row["provider"], row["tier"]) == ("m", "mini", "fast")


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "there are no runs to bill"),
        (["--workload", "nothing"], "there are no runs of workload 'nothing' to bill"),
        (["--model", "openai:gpt-5-mini"], "--model needs --workload"),
        (["--model", "openai:gpt-5-mnii", "--workload", "chat"], "did you mean 'gpt-5-mini'"),
        (["--model", "gpt-5-mini", "--workload", "chat"], "neither an [[offer]] nor provider and model"),
        (["--tier", "fast"], "--tier is of --model"),
        (["--tier", "quick", "--model", "a:b", "--workload", "chat"], "there is no tier 'quick'"),
        (["x", "--model", "a:b", "--workload", "chat"], "runs and --model are both given"),
        (["--at", "some day"], "--at: 'some day' is no moment"),
        (["--prices", "none.toml"], "none.toml: there is no such file"),
        (["no-such-run"], "there are no runs in"),
    ],
)
def test_what_cannot_be_billed(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str], said: str, capsys: Captured
) -> None:
    stored(monkeypatch)
    assert run(["bill", *arguments]) == 2
    assert said in capsys.readouterr().err

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from paceline.cli.main import run
from paceline.cli.render import keep_digest
from paceline.report.model import build_report
from paceline.store.digests import kept_digests
from tests.report.samples import WORKLOAD, store
from tests.support.rows import lognormal_rows

CHAT = {**WORKLOAD, "name": "chat"}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PACELINE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PACELINE_CONFIG", "")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "home"


def measured(home: Path, model: str, ttft_ms: float = 200.0, **fields: Any) -> str:
    rows = lognormal_rows(120, len(model), ttft_ms=ttft_ms, events=4, warmup=20)
    own = {"offer": {"provider": "acme", "tier": "standard"}, "workload": CHAT}
    return store(home, rows, model=model, **{**own, **fields}).id


def test_an_empty_store_says_what_to_do_and_nothing_is_made(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["board"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("No offer was measured yet. Measure one: paceline measure URL")
    assert not home.exists()


def test_one_offer_says_what_to_do(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    measured(home, "a")
    assert run(["board"]) == 0
    told = capsys.readouterr()
    assert "One offer stands alone" in told.out
    assert "reading 1 run that was not read before" in told.err
    assert "capability: not probed: paceline capability run" in told.out
    assert "USD/job and tok/s per USD: " in told.out
    assert "prices.toml" in told.out
    assert run(["board"]) == 0
    assert capsys.readouterr().err == ""


def test_two_offers_and_what_is_wrong_with_others(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    measured(home, "slow", 400.0)
    measured(home, "quick", 100.0)
    bad = measured(home, "bad", state="failed")
    measured(home, "voice", workload={**WORKLOAD, "name": "voice"})
    (home / "runs" / "20260101-000000-xxxx").mkdir()
    assert run(["board"]) == 0
    out = capsys.readouterr().out
    assert out.index("\nquick") < out.index("\nslow")
    assert "Lowest TTFT p50: quick @ acme" in out
    assert f"  {bad}: bad @ acme: invalid: " in out
    assert "20260101-000000-xxxx: its run.json cannot be read" in out
    assert "voice @ acme: voice, closed 8, 100 requests" in out
    assert "--workload voice --load 'closed 8'" in out
    assert max(len(line) for line in out.splitlines()) <= 80


def test_documents(home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    measured(home, "a", 100.0)
    measured(home, "b", 200.0)
    page, text = tmp_path / "board.html", tmp_path / "board.md"
    assert run(["board", "--json", "-", "--html", str(page), "--markdown", str(text)]) == 0
    told = capsys.readouterr()
    document = json.loads(told.out)
    assert [row["model"] for row in document["rows"]] == ["a", "b"]
    assert f"wrote {page}" in told.err
    assert page.read_text().lstrip().lower().startswith("<!doctype html>")
    assert text.read_text().startswith("# Board")
    assert run(["board", "--csv", "-", "--sort", "output_tok_s"]) == 0
    lines = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [line["provider"] for line in lines] == ["acme", "acme"]


def test_prices_of_ones_own(home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    measured(home, "a")
    prices = tmp_path / "mine.toml"
    prices.write_text(
        '[[price]]\nmodel = "a"\ninput_usd_per_mtok = 0.0\noutput_usd_per_mtok = 10.0\nas_of = "2026-11-30"\n'
    )
    assert run(["board", "--json", "-", "--prices", str(prices), "--jobs-per-day", "1000"]) == 0
    row = json.loads(capsys.readouterr().out)["rows"][0]
    # Answers of 4 tokens at 10 USD a million.
    assert row["figures"]["usd_per_job"]["value"] == pytest.approx(4e-5)
    assert row["bill"]["usd_per_day"]["value"] == pytest.approx(0.04)
    assert "mine.toml" in row["price"]["source"]
    assert run(["board", "--prices", str(prices), "--jobs-per-day", "1000"]) == 0
    assert "Bills of 1,000 jobs a day:\n  a @ acme: 0.0400 USD a day, 1.20 a month" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--sort", "ttft_p50"], "did you mean ttft_p50_ms?"),
        (["--workload", "chatt"], "did you mean chat?"),
        (["--load", "closed 9"], "nothing was measured with the load 'closed 9'"),
        (["--since", "yesterday"], "--since: 'yesterday' is no moment"),
        (["--at", "2026-02-30"], "--at"),
        (["--json", "-", "--csv", "-"], "would both go to -"),
        (["--prices", "nowhere.toml"], "nowhere.toml"),
    ],
)
def test_what_there_is_not_is_refused(
    home: Path, options: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    measured(home, "a")
    assert run(["board", *options]) == 2
    assert said in capsys.readouterr().err


def test_since_leaves_older_runs_out(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    measured(home, "a", started_at="2026-01-01T00:00:00+00:00")
    assert run(["board", "--since", "30d"]) == 0
    assert capsys.readouterr().out.startswith("No run since ")
    assert run(["board", "--since", "2025-12-31"]) == 0
    assert capsys.readouterr().out.startswith(
        "chat, closed 8: 1 offer, 1 run, 100 requests, since 2025-12-31"
    )


def test_what_was_just_measured_is_kept_and_keeping_it_never_fails(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = lognormal_rows(40, 1, events=3)
    report = build_report(store(home, rows))
    keep_digest(report)
    assert set(kept_digests(home)) == {report.manifest.id}
    assert capsys.readouterr().err == ""

    def broken(_report: Any) -> None:
        raise ValueError("no such thing")

    monkeypatch.setattr("paceline.advisor.digests.keep", broken)
    keep_digest(report)
    assert "a board will read this run again: no such thing" in capsys.readouterr().err


@pytest.mark.parametrize("number", ["inf", "1e400", "1e13", "nan", "-1", "x", ""])
@pytest.mark.parametrize(
    "command", [["board", "--jobs-per-day"], ["bill", "--jobs-per-day"], ["advise", "--worth"]]
)
def test_numbers_that_no_bill_can_be_made_of_are_refused(
    home: Path, capsys: pytest.CaptureFixture[str], command: list[str], number: str
) -> None:
    assert run([*command, number, "--json", "out.json"]) == 2
    assert f"Invalid value for '{command[1]}'" in capsys.readouterr().err
    assert not Path("out.json").exists()

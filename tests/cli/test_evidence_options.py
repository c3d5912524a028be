"""Which stored runs commands judge, and what they say of the others; through `instant` and `trend`."""

import json
from datetime import timedelta
from pathlib import Path

import pytest

from paceline.advisor import digests
from paceline.advisor.digests import AllDigests, Problem
from paceline.cli.evidence_options import chosen_digests
from paceline.cli.main import run
from tests.advisor.samples import STARTED_AT, digest
from tests.report.samples import WORKLOAD, store
from tests.support.rows import lognormal_rows

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PACELINE_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "home"


@pytest.fixture
def several(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    runs = (
        digest(run_id="a"),
        digest(run_id="b", workload="voice", workload_key="v", load="closed 1"),
        digest(run_id="c", verdict="invalid", reasons=("the client was late",)),
        digest(run_id="d", attempted=0, state="running"),
    )
    found = AllDigests(runs, (Problem("e", "its run.json cannot be read"),))
    monkeypatch.setattr(digests, "all_digests", lambda **_: found)
    return home


def test_a_run_that_is_named_twice_counts_once(home: Path) -> None:
    one = store(home, lognormal_rows(60, 1), name="first", workload={**WORKLOAD, "name": "chat"})
    other = store(home, lognormal_rows(60, 2), name="second", workload={**WORKLOAD, "name": "chat"})
    found = chosen_digests(["first", "second", one.id])
    assert {digest.run_id for digest in found.digests} == {one.id, other.id}
    assert len(found.digests) == 2
    assert [digest.run_id for digest in chosen_digests(["second"]).digests] == [other.id]


@pytest.mark.usefixtures("several")
@pytest.mark.parametrize("command", [["instant"], ["trend", "--since", "all"]])
def test_runs_without_figures_are_named_with_the_reason(command: list[str], capsys: Captured) -> None:
    assert run(command) == 0
    told = capsys.readouterr()
    assert "run c is left out: invalid: the client was late (paceline runs show c)" in told.err
    assert "run d is left out: no request was measured, warm-up apart: it still goes on" in told.err
    assert "run e is left out: its run.json cannot be read" in told.err
    assert "tiny @ acme, chat, closed 8" in told.out
    assert max(len(line) for line in told.out.splitlines()) <= 80


@pytest.mark.usefixtures("several")
@pytest.mark.parametrize("command", [["instant"], ["trend", "--since", "all"]])
def test_one_workload_alone(command: list[str], capsys: Captured) -> None:
    assert run([*command, "--workload", "voice", "--json", "-"]) == 0
    told = capsys.readouterr()
    document = json.loads(told.out)
    assert [(one["workload"], one["load"]) for one in document["offers"]] == [("voice", "closed 1")]
    assert "run c" not in told.err
    assert run([*command, "--workload", "no-such"]) == 2


def test_instant_without_a_valid_run_fails(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    bad = AllDigests((digest(run_id="c", verdict="invalid", reasons=("the client was late",)),), ())
    monkeypatch.setattr(digests, "all_digests", lambda **_: bad)
    assert run(["instant"]) == 1
    assert "run c is left out" in capsys.readouterr().err
    assert not home.exists()


@pytest.mark.usefixtures("several")
def test_trend_looks_at_runs_of_its_time_alone(capsys: Captured) -> None:
    after = (STARTED_AT + timedelta(days=1)).strftime("%Y-%m-%d")
    assert run(["trend", "--since", after]) == 2
    told = capsys.readouterr()
    assert "no runs of that workload and load in that time" in told.err
    assert "run c" not in told.err


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["instant", "--mode", "raed"], "did you mean read?"),
        (["instant", "--mode", "sing"], "modes are: read, listen, type, wait"),
        (["trend", "--figure", "ttft_p50"], "did you mean ttft_p50_ms?"),
        (["trend", "--since", "soon"], "--since: 'soon' is no moment"),
        (["board", "--since", "soon"], "--since: 'soon' is no moment"),
        (["usage", "--since", "soon"], "--since: 'soon' is no moment"),
        (["usage", "--sort", "tok"], "--sort: 'tok' is none of the orders"),
    ],
)
@pytest.mark.usefixtures("home")
def test_what_there_is_not_is_refused(command: list[str], said: str, capsys: Captured) -> None:
    assert run(command) == 2
    assert said in capsys.readouterr().err

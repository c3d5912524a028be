"""What is said while a tuning goes on, and how it ends."""

import json
from pathlib import Path
from typing import Any, Literal

import pytest

from paceline.cli.main import run
from paceline.cli.tuning import run_tuning
from paceline.errors import ConfigError, RunError
from paceline.tuning import start, tune
from paceline.tuning.goal import parse_goal
from paceline.tuning.journal import Journal, list_tunings, open_tuning
from paceline.units import format_number
from tests.tuning.samples import SAME, Clock, PlannedBench, new_tuning, tuner_of

GOAL = parse_goal("min itl_ms")


@pytest.fixture(autouse=True)
def _world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PACELINE_HOME", str(tmp_path))
    monkeypatch.setattr(tune, "time", Clock(10.0))
    monkeypatch.setattr(tune, "sameness", lambda *_, **__: SAME)
    monkeypatch.setattr(tune, "with_settings", lambda plan, _: plan)
    monkeypatch.setattr(tune, "with_port", lambda plan: plan)


def tuned(home: Path, monkeypatch: pytest.MonkeyPatch, **changes: Any) -> Journal:
    """A tuning on a bench where one kind of drafts is twice as fast."""
    bench = PlannedBench(lambda one: 2.0 if one.get("spec-type") == "ngram-mod" else 1.0, GOAL, **changes)

    def tuner(journal: Journal, watch: tune.Watch) -> tune.Tuner:
        made = tuner_of(journal, bench, home)
        made.watch = watch
        return made

    monkeypatch.setattr(start, "tuner", tuner)
    return Journal.create(new_tuning(GOAL.text))


def test_each_round_says_what_it_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    journal = tuned(tmp_path, monkeypatch)
    run_tuning(journal)
    said = capsys.readouterr().err.splitlines()
    begin = next(place for place, line in enumerate(said) if line.startswith("round 1 of"))
    tuned_at = [place for place, line in enumerate(said) if place >= begin and "the tuned settings [" in line]
    rounds = [said[place + 1] for place in tuned_at]
    first = journal.tuning.rounds[0].tuned
    assert first is not None
    itl_ms = format_number(GOAL.middle(first.values.values()))
    assert rounds[0] == f"  itl_ms {itl_ms}"
    # No round says what the search saw, and each its own.
    assert not [line for line in rounds if "times as good" in line]
    assert len(set(rounds)) > 3
    assert any("times as good as the defaults by its" in line for line in said)


def test_what_ends_it_says_how_it_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    journal = tuned(tmp_path, monkeypatch, ends_at=3)
    with pytest.raises(KeyboardInterrupt):
        run_tuning(journal)
    assert f"paceline tune resume {journal.tuning.id} goes on" in capsys.readouterr().err
    assert open_tuning("latest").state == "interrupted"


def test_an_error_in_its_midst_says_that_nothing_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = tuned(tmp_path, monkeypatch)
    monkeypatch.setattr(tune.Tuner, "_confirm", lambda _: (_ for _ in ()).throw(RunError("no", "look")))
    with pytest.raises(RunError) as raised:
        run_tuning(journal)
    assert raised.value.hint == (
        f"look; what was measured is kept; paceline tune resume {journal.tuning.id} goes on"
    )


def test_one_that_cannot_go_on_is_not_told_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = tuned(tmp_path, monkeypatch)

    def changed(*_: object) -> None:
        raise ConfigError("the model changed since", "begin anew")

    monkeypatch.setattr(start, "tuner", changed)
    with pytest.raises(ConfigError) as raised:
        run_tuning(journal)
    assert raised.value.hint == "begin anew"


def test_too_small_a_budget_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tuned(tmp_path, monkeypatch)
    with pytest.raises(ConfigError, match="too small"):
        run_tuning(Journal.create(new_tuning(GOAL.text, budget_s=100.0, requests=None)))
    # The first was not begun, and stays.
    assert len(list_tunings()[0]) == 1


def test_shown_again_as_text_json_and_a_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run_tuning(tuned(tmp_path, monkeypatch))
    capsys.readouterr()
    assert run(["tune", "show", "--html", str(tmp_path / "page.html")]) == 0
    assert "The gain is real" in capsys.readouterr().out
    assert "The gain is real" in (tmp_path / "page.html").read_text()
    assert run(["tune", "show", "latest", "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["schema"] == "paceline.tuning/1"
    assert run(["tune", "list", "--json"]) == 0
    (listed,) = json.loads(capsys.readouterr().out)["tunings"]
    assert listed["state"] == "complete"


@pytest.mark.parametrize(("state", "code"), [("failed", 1), ("interrupted", 0)])
def test_the_exit_code_of_what_is_not_whole(state: Literal["failed", "interrupted"], code: int) -> None:
    with Journal.create(new_tuning()) as journal:
        assert run(["tune", "show"]) == 0
        journal.finish(state)
    assert run(["tune", "show"]) == code


def test_the_home_of_the_settings_file_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Journal.create(new_tuning(), at=tmp_path / "other").finish("complete")
    monkeypatch.delenv("PACELINE_HOME")
    file = tmp_path / "paceline.toml"
    file.write_text(f'[store]\nhome = "{tmp_path / "other"}"\n')
    assert run(["--config", str(file), "tune", "list"]) == 0
    assert "complete" in capsys.readouterr().out

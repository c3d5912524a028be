"""A whole tuning on a bench whose truth is known."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from paceline.engines.engine import Settings
from paceline.engines.profile import read_profile
from paceline.errors import ConfigError, RunError
from paceline.report.tuning_text import tunings_text
from paceline.tuning import tune
from paceline.tuning.goal import parse_goal
from paceline.tuning.journal import Journal, open_tuning
from paceline.tuning.trial import Measured
from tests.tuning.samples import SAME, Clock, PlannedBench, new_tuning, tuner_of

SPEED = {"ngram-mod": 2.0, "ngram-simple": 1.5}


def speculation(settings: Settings) -> float:
    """Twice as fast with one kind of drafts, and best at one length; one core is slower."""
    factor = SPEED.get(str(settings.get("spec-type")), 1.0)
    if settings.get("spec-ngram-mod-n-match") == 8:
        factor *= 1.3
    return factor * (0.6 if settings.get("threads") == 1 else 1.0)


def nothing(_: Settings) -> float:
    return 1.0


@pytest.fixture(autouse=True)
def _world(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tune, "time", Clock(10.0))
    monkeypatch.setattr(tune, "sameness", lambda *_, **__: SAME)
    monkeypatch.setattr(tune, "with_settings", lambda plan, _: plan)
    monkeypatch.setattr(tune, "with_port", lambda plan: plan)


def run(home: Path, bench: PlannedBench, **changes: Any) -> Journal:
    journal = Journal.create(new_tuning(bench.goal.text, **changes), at=home)
    with journal:
        tuner_of(journal, bench, home).run()
    return journal


def test_the_best_setting_is_found_confirmed_and_written(tmp_path: Path) -> None:
    bench = PlannedBench(speculation, parse_goal("min itl_ms"))
    tuning = run(tmp_path, bench).tuning
    assert tuning.state == "complete"
    assert tuning.result is not None
    assert tuning.result["real"]
    assert tuning.profile is not None
    profile = read_profile(Path(tuning.profile))
    assert profile.settings["spec-type"] == "ngram-mod"
    assert profile.settings["spec-ngram-mod-n-match"] == 8
    assert profile.gain.lo < 2.6 < profile.gain.hi
    assert profile.gain.lo > 2.3
    assert profile.sameness == SAME
    assert profile.tier == "fast"


def test_settings_that_are_all_alike_give_no_profile(tmp_path: Path) -> None:
    tuning = run(tmp_path, PlannedBench(nothing, parse_goal("min itl_ms"))).tuning
    assert tuning.state == "complete"
    assert tuning.profile is None
    assert tuning.result is not None
    assert not tuning.result["real"]
    assert not (tmp_path / "profiles").exists()
    assert tuning.sameness is None


def test_the_rounds_use_prompts_that_the_search_has_not_seen(tmp_path: Path) -> None:
    bench = PlannedBench(speculation, parse_goal("min itl_ms"))
    tuning = run(tmp_path, bench).tuning
    searched = {block.prompts for trial in tuning.trials for block in trial.blocks}
    rounds = [
        block.prompts for one in tuning.rounds for block in (one.default, one.tuned) if block is not None
    ]
    assert len(rounds) == 2 * len(tuning.rounds) >= 6
    assert not searched & set(rounds)
    # Both sides of a round have the same prompts, and no two rounds do.
    assert sorted(rounds) == sorted(2 * list(dict.fromkeys(rounds)))


def test_a_tuning_that_was_cut_off_goes_on_to_the_same_end(tmp_path: Path) -> None:
    goal = parse_goal("min itl_ms")
    whole = run(tmp_path / "whole", PlannedBench(speculation, goal)).tuning
    blocks = sum(len(trial.blocks) for trial in whole.trials)
    for ends_at in (1, blocks // 2, blocks + 3):
        home = tmp_path / str(ends_at)
        journal = Journal.create(new_tuning(goal.text), at=home)
        with pytest.raises(KeyboardInterrupt), journal:
            tuner_of(journal, PlannedBench(speculation, goal, ends_at=ends_at), home).run()
        assert open_tuning("latest", at=home).state == "interrupted"
        again = Journal.reopen("latest", at=home)
        with again:
            tuner_of(again, PlannedBench(speculation, goal), home).run()
        found = open_tuning("latest", at=home)
        assert found.state == "complete"
        assert [one.settings for one in found.trials] == [one.settings for one in whole.trials]
        assert [len(one.blocks) for one in found.trials] == [len(one.blocks) for one in whole.trials]
        assert found.result == whole.result


def test_settings_that_do_not_come_up_are_given_up_and_named(tmp_path: Path) -> None:
    def fatal(settings: Settings) -> float:
        return math.nan if settings.get("threads") == 2 else speculation(settings)

    tuning = run(tmp_path, PlannedBench(fatal, parse_goal("min itl_ms"))).tuning
    stopped = [one for one in tuning.trials if one.settings.get("threads") == 2]
    assert stopped
    assert all(one.stopped == "out of memory" for one in stopped)
    assert tuning.profile is not None


def test_defaults_that_do_not_run_end_it_with_the_reason(tmp_path: Path) -> None:
    bench = PlannedBench(lambda _: math.nan, parse_goal("min itl_ms"))
    with pytest.raises(RunError, match="out of memory"):
        run(tmp_path, bench, requests=None)
    assert open_tuning("latest", at=tmp_path).state == "failed"


def test_a_budget_that_is_too_small_is_refused_with_what_would_do(tmp_path: Path) -> None:
    bench = PlannedBench(speculation, parse_goal("min itl_ms"))
    with pytest.raises(ConfigError, match="too small") as raised:
        run(tmp_path, bench, requests=None, budget_s=100.0)
    assert raised.value.hint is not None
    assert "--budget 5m" in raised.value.hint


def test_a_block_has_as_many_requests_as_the_budget_leaves_room_for(tmp_path: Path) -> None:
    bench = PlannedBench(speculation, parse_goal("min itl_ms"))
    # A request takes 10 s here, and 28 blocks share half of the budget.
    tuning = run(tmp_path, bench, requests=None, budget_s=28 * 42 / 0.5).tuning
    assert tuning.requests == 4


def test_defaults_that_never_meet_the_limits_give_a_gain_without_a_ratio(tmp_path: Path) -> None:
    goal = parse_goal("max goodput @ ttft_ms<=500")
    bench = PlannedBench(lambda settings: speculation(settings) if settings.get("spec-type") else 0.0, goal)
    tuning = run(tmp_path, bench, tier="standard").tuning
    assert tuning.profile is not None
    assert read_profile(Path(tuning.profile)).gain.ratio == math.inf
    again = open_tuning("latest", at=tmp_path)
    assert again.result is not None
    assert again.result["gain"]["ratio"] is None
    assert "from none" in tunings_text([again], [])


def test_of_a_whole_load_the_rounds_are_the_curve(tmp_path: Path) -> None:
    goal = parse_goal("max goodput @ ttft_ms<=500")
    bench = PlannedBench(speculation, goal, levels=(1, 2, 4))
    tuning = run(tmp_path, bench, levels=[1, 2, 4], tier="standard").tuning
    assert tuning.result is not None
    assert tuning.result["real"]
    assert [point["concurrency"] for point in tuning.curves["tuned"]] == [1, 2, 4]
    assert not [name for _, _, name in bench.seen if name.startswith("curve")]


def test_a_workload_with_few_prompts_says_that_the_rounds_use_them_again(tmp_path: Path) -> None:
    goal = parse_goal("min itl_ms")
    few = run(tmp_path / "few", PlannedBench(speculation, goal, sets=4)).tuning
    assert few.notes == [
        "the workload has too few prompts: rounds have some that the search has used, too; what they show "
        "holds for these prompts, and others may gain less"
    ]
    assert run(tmp_path / "many", PlannedBench(speculation, goal, sets=1000)).tuning.notes == []


def test_answers_that_cannot_be_compared_cost_no_profile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any, **__: Any) -> None:
        raise RunError("the engine ended")

    monkeypatch.setattr(tune, "sameness", fails)
    tuning = run(tmp_path, PlannedBench(speculation, parse_goal("min itl_ms"))).tuning
    assert tuning.state == "complete"
    assert tuning.notes == ["greedy answers could not be held against standard's: the engine ended"]
    assert tuning.profile is not None
    assert read_profile(Path(tuning.profile)).sameness is None


def test_settings_that_only_answer_less_give_no_profile(tmp_path: Path) -> None:
    """Half of the tokens, and so an end twice as soon: the engine is no faster."""

    class Short(PlannedBench):
        def block(self, settings: Settings, prompts: int, name: str) -> Measured:
            measured = super().block(settings, prompts, name)
            tokens = 50.0 if settings.get("spec-type") == "ngram-mod" else 100.0
            point = {"attempted": 3, "ok": 3, "output_tok_s": tokens, "requests_s": 1.0}
            return replace(measured, curve=({"concurrency": 1, **point},))

    def by_length(settings: Settings) -> float:
        return 2.0 if settings.get("spec-type") == "ngram-mod" else 1.0

    said = "answers at the tuned settings have 50.0 tokens on average, 100 at the defaults"
    short = run(tmp_path / "e2e", Short(by_length, parse_goal("min e2e_ms"))).tuning
    assert short.profile is None
    assert short.result is not None
    assert said in short.result["sentence"]
    # By the token it is twice as fast; that it answers less is said.
    by_token = run(tmp_path / "itl", Short(by_length, parse_goal("min itl_ms"))).tuning
    assert by_token.profile is not None
    assert by_token.notes == [said]


def test_a_workload_that_gives_no_figure_is_refused_early(tmp_path: Path) -> None:
    """As of answers that are not streamed: no setting can have one."""

    class Silent(PlannedBench):
        def block(self, settings: Settings, prompts: int, name: str) -> Measured:
            return replace(super().block(settings, prompts, name), values={})

    bench = Silent(speculation, parse_goal("min itl_ms"))
    with pytest.raises(ConfigError, match="no request gave a value of itl_ms at the engine's defaults"):
        run(tmp_path, bench)
    assert len(bench.seen) == 2
    # Nor does it go on when it is resumed.
    with (
        pytest.raises(ConfigError, match="no request gave a value"),
        Journal.reopen("latest", at=tmp_path) as again,
    ):
        tuner_of(again, bench, tmp_path).run()
    assert len(bench.seen) == 2

"""Greedy answers of a tier beside standard's: counted by hand, and of stand-ins."""

from dataclasses import replace
from pathlib import Path

import pytest

from paceline.advisor.answers import Answer
from paceline.engines.plan import Asked, LaunchPlan
from paceline.engines.planning import plan_launch
from paceline.engines.sameness import Counted, count, kept_sameness, sameness
from tests.support.llama_standin import make_llama_server


def answer(text: str, kind: str = "answered") -> Answer:
    return Answer(0, 0, 0, kind, text, "ok", "stop", None, None, None)  # type: ignore[arg-type]


def both(first: str, second: str) -> list[Answer]:
    return [answer(first), answer(second)]


def test_answers_are_counted_prompt_by_prompt() -> None:
    a = {
        "same": both("one two three", "one two three"),
        "differs": both("one two three four", "one two three four"),
        "sooner": both("one two", "one two"),
        "unsteady": both("one", "two"),
        "failed": [answer("one"), answer("", "failed")],
        "once": [answer("one")],
        "empty": [answer("", "empty"), answer("", "empty")],
    }
    b = {
        **{name: list(answers) for name, answers in a.items()},
        "differs": both("one two three five", "one two three five"),
        "sooner": both("other", "other"),
        "only b": both("one", "one"),
    }
    # Of seven five are compared: `failed` and `once` have no two answers from a side.
    assert count(a, b) == Counted(5, differing=2, unrepeated=1, unrepeated_by_b=1, at=(0, 3))


@pytest.fixture
def plans(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[LaunchPlan, LaunchPlan]:
    """Of a stand-in that is fast, and says something else where its KV type is another."""
    monkeypatch.setenv("PACELINE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PACELINE_STANDIN_SPEED", '{"metrics=true": 100}')
    monkeypatch.setenv("PACELINE_STANDIN_OTHER_TEXT", "cache-type-k=q4_0")
    binary = make_llama_server(tmp_path)
    asked = Asked("org/model-gguf", binary=binary, settings={"metrics": True})
    tier = replace(asked, tier="fast", settings={"metrics": True, "cache-type-k": "q4_0"})
    home = tmp_path / "home"
    return plan_launch(asked, home=home), plan_launch(tier, home=home)


def test_a_tier_that_answers_otherwise_is_seen_and_remembered(
    plans: tuple[LaunchPlan, LaunchPlan], tmp_path: Path
) -> None:
    standard, tier = plans
    home = tmp_path / "home"
    assert kept_sameness(standard, tier, home=home, prompts=4, output_tokens=12) is None
    said: list[str] = []
    found = sameness(standard, tier, home=home, prompts=4, output_tokens=12, watch=said.append)
    assert (found.prompts, found.differing, found.unrepeated) == (4, 4, 0)
    assert found.first_difference == 0.0
    assert found.against == standard.settings
    assert any("greedy answers of fast" in text for text in said)
    # Its runs lie beside the user's own, which boards show.
    assert not (home / "runs").exists()
    assert {one.name for one in (home / "sameness" / "runs").iterdir()} == set(found.run_ids)
    # Once more: nothing is started, since nothing could be.
    gone = replace(tier, command=replace(tier.command, argv=("/nowhere",)))
    assert sameness(standard, gone, home=home, prompts=4, output_tokens=12) == found
    # Other settings are another question.
    other = replace(tier, settings={**tier.settings, "threads": 1})
    assert kept_sameness(standard, other, home=home, prompts=4, output_tokens=12) is None
    # A finding that was cut is none.
    (kept,) = (home / "sameness").glob("*.json")
    kept.write_text(kept.read_text()[:100])
    assert kept_sameness(standard, tier, home=home, prompts=4, output_tokens=12) is None

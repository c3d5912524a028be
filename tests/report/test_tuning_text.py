"""A tuning for the terminal: figures stand where they were measured, and nothing is called what it is not."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from paceline.engines.engine import Value
from paceline.engines.profile import Gain, gain_dict
from paceline.report.tuning_text import block_lines, settings_words, tuning_text, tunings_text
from paceline.tuning.goal import parse_goal
from paceline.tuning.journal import Block, Round, TrialEntry, Tuning
from paceline.tuning.leaders import leaders
from tests.tuning.samples import SAME, new_tuning

ITL = parse_goal("min itl_ms")
DRAFTS: dict[str, Value] = {"spec-type": "ngram-mod", "spec-ngram-mod-n-match": 16, "cache-ram": 0}


def block(*values: float, failure: str | None = None) -> Block:
    return Block(prompts=0, values=dict(enumerate(values)), failure=failure, seconds=9.0)


def found(**changes: Any) -> Tuning:
    """The defaults at 20 ms, a pick at 10 ms, one that failed; rounds at 22 and 11."""
    trials = [
        TrialEntry(number=0, settings={}, blocks=[block(20.0, 20.0), block(20.0, 20.0)]),
        TrialEntry(number=1, settings=DRAFTS, blocks=[block(10.0, 10.0)]),
        TrialEntry(
            number=2, settings={"threads": 1}, blocks=[block(failure="no memory")], stopped="no memory"
        ),
    ]
    rounds = [Round(order=["default", "tuned"], default=block(22.0), tuned=block(11.0)) for _ in range(3)]
    gain = gain_dict(Gain("itl_ms", 22.0, 11.0, 2.0, 1.9, 2.1, 3, 6))
    result = {"real": True, "sentence": "the gain is real", "gain": gain, "rounds_needed": None}
    return new_tuning(
        trials=trials, rounds=rounds, pick=1, result=result, sameness=SAME, state="complete", **changes
    )


def text_of(tuning: Tuning) -> str:
    return tuning_text(tuning, ITL, leaders(tuning, ITL))


def lines_of(text: str, beginning: str) -> Sequence[str]:
    return [line for line in text.splitlines() if line.startswith(beginning)]


def test_all_of_it_in_80_columns() -> None:
    text = text_of(found(profile="/home/profiles/tiny.json"))
    assert max(map(len, text.splitlines())) <= 80
    assert lines_of(text, "tried") == [
        "tried     3 settings in 4 blocks, 1 given up, 1 block failed, then 3 rounds",
    ]
    assert lines_of(text, "spec-type") == ["spec-type               the engine's  ngram-mod"]
    # A number that is 0 is a setting, and stands in the command.
    assert lines_of(text, "cache-ram") == ["cache-ram               the engine's  0"]
    assert "The gain is real." in text
    assert "Greedy answers: the same as standard in 16 of 16." in text
    assert "Serve it: paceline serve /models/tiny.gguf --tier fast" in text


def test_answers_that_say_nothing_are_not_the_same() -> None:
    unsteady = replace(SAME, unrepeated=4, unrepeated_by_tier=4)
    text = text_of(found().model_copy(update={"sameness": unsteady}))
    assert "the same as standard in 12 of 12; 4 more say nothing" in text


@pytest.mark.parametrize(
    ("levels", "said"),
    [
        ([1], "3 requests, one at a time"),
        ([4], "3 requests, 4 at a time"),
        ([1, 2], "3 requests and stream, at"),
    ],
)
def test_a_block_in_words(levels: list[int], said: str) -> None:
    (line,) = lines_of(text_of(found(levels=levels)), "block")
    assert said in line


def test_what_is_wanting_is_said() -> None:
    assert lines_of(text_of(found(notes=["no answers were held"])), "note") == [
        "note      no answers were held"
    ]


def test_a_path_is_quoted_where_a_shell_needs_it() -> None:
    assert "serve '/my models/a.gguf' --tier" in text_of(found(profile="/p.json", model="/my models/a.gguf"))


def test_without_a_profile_nothing_is_promised() -> None:
    assert "No profile was written" in text_of(found())
    assert "paceline tune resume" in text_of(found().model_copy(update={"state": "interrupted"}))


def test_a_block_of_the_search_says_its_figure_and_how_its_trial_compares() -> None:
    tuning = found()
    entry = tuning.trials[1]
    leader = next(one for one in leaders(tuning, ITL) if one.number == 1)
    said = block_lines(ITL, entry, block(12.0, 12.0), [leader])
    assert said.splitlines() == [
        "  itl_ms 12.0; 1.99 times as good as the defaults",
        "  with spec-type=ngram-mod spec-ngram-mod-n-match=16 cache-ram=0",
    ]
    # What its settings are is said once.
    again = block_lines(ITL, entry, block(12.0, 12.0), [replace(leader, blocks=2)])
    assert again == "  itl_ms 12.0; 1.99 times as good as the defaults by its 2 blocks"


def test_settings_are_said_by_what_is_not_as_in_trial_1() -> None:
    tuning = found()
    known = leaders(tuning, ITL)
    settings: dict[str, Value] = {**DRAFTS, "threads": 1, "spec-type": "ngram-simple"}
    del settings["spec-ngram-mod-n-match"]
    entry = tuning.trials[2].model_copy(update={"settings": settings})
    said = block_lines(ITL, entry, block(12.0), [replace(one, blocks=1) for one in known])
    assert said.splitlines()[1:] == [
        "  as trial 1, with spec-type=ngram-simple threads=1, without",
        "    spec-ngram-mod-n-match",
    ]


def test_a_block_of_a_round_says_its_own_figure_alone() -> None:
    tuning = found()
    assert block_lines(ITL, tuning.trials[1], block(11.0), ()) == "  itl_ms 11.0"
    assert block_lines(ITL, tuning.trials[0], block(22.0), ()) == "  itl_ms 22.0"
    assert block_lines(ITL, tuning.trials[0], block(), ()) == "  no figure"
    goodput = parse_goal("max goodput @ ttft_ms<=500")
    assert block_lines(goodput, tuning.trials[0], block(2.5), ()) == "  goodput 2.50 requests/s"
    failed = block(failure="gone\x1b[31m")
    assert block_lines(ITL, tuning.trials[2], failed, ()).startswith("  failed: gone")
    assert "\x1b" not in block_lines(ITL, tuning.trials[2], failed, ())


def test_settings_in_words() -> None:
    assert settings_words({}) == "none"
    assert settings_words({"a": None, "b": False, "c": True, "d": 0, "e": "on"}) == "c d=0 e=on"


def test_a_line_a_tuning() -> None:
    text = tunings_text([found(), new_tuning(state="interrupted")], ["broken"])
    assert [line.split()[-1] for line in text.splitlines()] == ["GAIN", "2x", "-", "unreadable"]
    assert tunings_text([], []) == "no tunings; make one: paceline tune MODEL"

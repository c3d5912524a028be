from pathlib import Path
from typing import cast

from paceline.engines.engine import Adapter, Failure
from paceline.engines.failure import EngineError, failure_of, last_lines
from tests.support.standin import StandIn

ADAPTER = cast(Adapter, StandIn())
LOG = Path("/logs/engine.log")


def test_what_the_adapter_knows_is_said_without_what_steers_a_terminal() -> None:
    found = failure_of(ADAPTER, "ended", "no such model\n", 1, LOG)
    assert found == Failure("the model is not there", "give another", lasting=True)


def test_else_the_last_lines_are_said_harmless() -> None:
    tail = "one\ntwo\n\x1b[31mthree\x1b[0m\r\n\n  four\x07 \n" + "z" * 300 + "\n\n"
    found = failure_of(ADAPTER, "ended before it was ready", tail, 3, LOG)
    assert found.message == (
        "llama.cpp ended before it was ready (exit code 3); it said last:\n"
        f"  three\n    four\N{REPLACEMENT CHARACTER}\n  {'z' * 197}..."
    )
    assert found.hint == "all that it said lies in /logs/engine.log"
    assert not found.lasting


def test_silence_is_said_and_a_kill_names_memory() -> None:
    found = failure_of(ADAPTER, "has ended", "\n \n", -9, LOG)
    assert found.message == "llama.cpp has ended (killed by SIGKILL); it said nothing"
    assert "memory" in found.hint


def test_an_engine_that_still_runs_has_no_exit_code() -> None:
    found = failure_of(ADAPTER, "did not answer within 5 s", "loading\n", None, LOG)
    assert found.message == "llama.cpp did not answer within 5 s; it said last:\n  loading"


def test_the_error_carries_all() -> None:
    error = EngineError(Failure("it is gone", "look", lasting=True), -9, "tail")
    assert (error.exit_code, error.message, error.hint) == (1, "it is gone", "look")
    assert (error.lasting, error.engine_exit_code, error.log_tail) == (True, -9, "tail")


def test_progress_bars_are_lines_and_titles_of_terminals_are_nothing() -> None:
    assert last_lines("10%\r50%\r90%\r", 2) == ["50%", "90%"]
    assert last_lines("\x1b]0;a title\x07words", 3) == ["words"]

from datetime import UTC, datetime

import pytest

from paceline.cli.commands.runs import _table
from paceline.store.runs import RunEntry


def entry(name: str | None) -> RunEntry:
    moment = datetime(2026, 11, 30, tzinfo=UTC)
    return RunEntry("20261130-092009-9xqk", name, moment, "http://127.0.0.1:56735/v1", "demo-8b", "complete")


NAMES = [None, "a", "llama-server-gemma3-270m", "gateway:local-a:chat", "gateway:openai-priority:completions"]


@pytest.mark.parametrize("name", NAMES)
def test_a_line_of_the_list_fits_the_terminal(name: str | None) -> None:
    lines = _table([entry(name)], 80)
    assert max(len(line) for line in lines) <= 80
    # The id says when a run began; a name is what it can be asked for by.
    assert ("STARTED" in lines[0]) == (name is None or len(name) < 5)
    assert lines[1].startswith("20261130-092009-9xqk  ")
    assert "demo-8b" in lines[1]
    if name is not None:
        assert f"  {name}  " in lines[1]
    else:
        assert "NAME" not in lines[0]


def test_a_name_that_has_no_room_leaves_some_to_the_model() -> None:
    lines = _table([entry("a" * 100)], 80)
    assert max(len(line) for line in lines) <= 80
    assert lines[1].endswith("...  demo-8b...")


def test_without_a_terminal_nothing_is_cut() -> None:
    line = _table([entry("llama-server-gemma3-270m")])[1]
    assert line.endswith("llama-server-gemma3-270m  demo-8b at http://127.0.0.1:56735/v1")

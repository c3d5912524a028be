"""Workload files against the reference engine: what was planned is what the engine was asked."""

from pathlib import Path
from typing import Any

import pytest

from paceline.measure.sim import SimProcess
from paceline.store.runs import open_run
from tests.e2e.conftest import Cli

FAST = """
tokenizer = "words"
exact_output = true
system = "Be kind."
[[call]]
name = "plan"
prompt_tokens = "uniform:30:60"
output_tokens = "uniform:3:9"
[[call]]
name = "look"
repeat = "uniform:2:4"
parallel = true
prompt_tokens = 12
output_tokens = "uniform:3:9"
wait_ms = 3
wait = "tool"
[[call]]
name = "answer"
prompt_tokens = 9
output_tokens = 5
[[call]]
name = "again"
repeat = 2
prompt_tokens = 7
output_tokens = 4
history = "none"
"""
SYSTEM_WORDS = 2


def measured(cli: Cli, url: str, *arguments: str) -> list[dict[str, Any]]:
    """Rows of the run, each with what the plan had for it under `asked`."""
    cli("measure", url, "--no-check", "-m", "truth", "--json", "-", *arguments).ended()
    run = open_run("latest")
    plan = {row["request_index"]: row for row in run.plan().to_pylist()}
    return [row | {"asked": plan[row["request_index"]]} for row in run.rows().to_pylist()]


@pytest.mark.parametrize("protocol", ["chat", "responses", "messages"])
def test_each_call_is_as_long_as_it_was_planned(
    cli: Cli, sim: SimProcess, tmp_path: Path, protocol: str
) -> None:
    file = tmp_path / "w.toml"
    file.write_text(FAST)
    rows = measured(cli, sim.url, "-w", str(file), "--protocol", protocol, "-c", "3", "--jobs", "5")
    assert {row["outcome"] for row in rows} == {"ok"}
    assert {row["session"] for row in rows} == {0, 1, 2, 3, 4}
    assert {row["asked"]["call"] for row in rows} == {"plan", "look", "answer", "again"}
    for row in rows:
        assert row["prompt_tokens"] == row["asked"]["prompt_tokens_asked"] + SYSTEM_WORDS
        assert row["completion_tokens"] == row["asked"]["output_tokens_asked"]


def test_calls_begin_when_what_they_wait_for_has_ended(cli: Cli, sim: SimProcess, tmp_path: Path) -> None:
    file = tmp_path / "w.toml"
    file.write_text(FAST)
    rows = measured(cli, sim.url, "-w", str(file), "-c", "2", "--jobs", "4")
    by_place = {(row["session"], row["step"]): row for row in rows}
    looks = 0
    for (session, _), row in by_place.items():
        for step in row["asked"]["after"]:
            before = by_place[session, step]
            assert row["intended_ns"] >= before["end_ns"] + (row["asked"]["wait_ms"] or 0) * 1e6
        if row["asked"]["call"] == "look":
            looks += 1
            assert row["asked"]["after"] == [0]
            assert row["asked"]["wait_kind"] == "tool"
    assert looks > 2 * 4 - 1


def test_a_voice_run_hangs_up_in_mid_sentence(cli: Cli, sim: SimProcess) -> None:
    waits = [f"call.{name}.wait_ms=1" for name in ("turn", "interrupted", "resume", "goodbye")]
    sets = [part for name in (*waits, "call.interrupted.hang_up_ms=30") for part in ("--set", name)]
    rows = measured(cli, sim.url, "-w", "voice", "--tokenizer", "words", *sets, "-c", "2", "--jobs", "3")
    by_call = {
        name: {row["outcome"] for row in rows if row["asked"]["call"] == name}
        for name in ("greet", "turn", "interrupted", "resume", "goodbye")
    }
    assert by_call.pop("interrupted") == {"hung_up"}
    assert set().union(*by_call.values()) == {"ok"}
    for row in rows:
        if row["outcome"] == "hung_up":
            assert row["hangup_ns"] is not None
            assert len(row["event_ns"]) < row["asked"]["output_tokens_asked"]


def test_images_are_taken(cli: Cli, sim: SimProcess, tmp_path: Path) -> None:
    file = tmp_path / "w.toml"
    file.write_text(
        'output_tokens = 3\n[[call]]\nname = "look"\nrepeat = 2\nprompt_tokens = 9\n'
        "images = { count = 2, width_px = 64, height_px = 48 }\n"
    )
    rows = measured(cli, sim.url, "-w", str(file), "--tokenizer", "words", "--jobs", "2")
    assert [row["outcome"] for row in rows] == ["ok"] * 4

"""`paceline serve` with a real engine and real weights."""

import json
import signal
import subprocess
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from paceline.engines.chat import has_chat_template
from paceline.engines.plan import Asked
from paceline.engines.planning import plan_launch
from paceline.engines.sameness import sameness
from tests.e2e.conftest import Cli, spawn
from tests.support.engine import Engine, find_engine
from tests.support.standin import is_free

pytestmark = [pytest.mark.engine, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def engine() -> Engine:
    found = find_engine()
    if not isinstance(found, Engine):
        pytest.skip(found)
    return found


def test_it_answers_at_the_address_that_it_prints_and_leaves_nothing(engine: Engine, cli: Cli) -> None:
    options = ("--binary", str(engine.binary), "--set", "threads=1", "--name", "gemma")
    process = spawn("serve", str(engine.model), *options)
    try:
        assert process.stdout is not None
        url, command = process.stdout.readline().strip(), process.stdout.readline().strip()
        asked = {"model": "gemma", "prompt": "One, two, three,", "max_tokens": 4, "temperature": 0}
        answer = httpx.post(f"{url}/completions", json=asked, timeout=60).json()
        assert "four" in answer["choices"][0]["text"]
        (entry,) = json.loads(cli("serve", "list", "--json").out)["servers"]
        assert (entry["state"], entry["command"]) == ("ready", command)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 0, said
    assert "--threads 1" in said
    assert is_free(httpx.URL(url).port or 0)
    # The command is whole: a shell starts the same engine by it.
    version = subprocess.run([command.split()[0], "--version"], capture_output=True, check=True)
    assert b"version" in version.stdout + version.stderr


def test_greedy_answers_of_a_coarser_cache_differ_and_those_of_fewer_slots_do_not(
    engine: Engine, tmp_path: Path
) -> None:
    settings = {"threads": 1, "ctx-size": 2_048}
    asked = Asked(str(engine.model), binary=engine.binary, settings=settings)
    standard = plan_launch(asked, home=tmp_path)
    # A base model, so that completions are asked, not a chat that the engine makes up.
    assert standard.facts is not None
    assert not has_chat_template(standard.facts)
    coarse = {"cache-type-k": "q4_0", "cache-type-v": "q4_0", "flash-attn": "on"}
    other = plan_launch(replace(asked, settings={**settings, **coarse}), home=tmp_path)
    one = plan_launch(replace(asked, settings={**settings, "parallel": 1}), home=tmp_path)
    differs = sameness(standard, other, home=tmp_path, prompts=3, output_tokens=12)
    same = sameness(standard, one, home=tmp_path, prompts=3, output_tokens=12)
    assert (differs.prompts, differs.unrepeated) == (3, 0)
    assert differs.differing > 0
    assert (same.prompts, same.differing, same.unrepeated) == (3, 0, 0)

"""The main job on a real engine with real weights, its figures checked against the server's own `timings`.

llama.cpp reports per request how long it took over the prompt (`prompt_ms`) and from there to the last token
(`predicted_ms`, over `predicted_n` tokens). It is skipped, and says so, where no engine is installed.
"""

import json
import re
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from paceline.store.runs import open_run
from tests.e2e.conftest import Cli
from tests.support.engine import Engine, find_engine, running

pytestmark = [pytest.mark.engine, pytest.mark.timeout(300)]

OUTPUT_TOKENS = 32


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    engine = find_engine()
    if not isinstance(engine, Engine):
        pytest.skip(engine)
    with running(engine, tmp_path_factory.mktemp("engine") / "server.log") as address:
        yield address


def test_figures_agree_with_the_engine_s_own_timings(server: str, cli: Cli) -> None:
    done = cli(
        *("measure", server, "--concurrency", "1", "--requests", "12", "--warmup", "2"),
        *("--prompt-tokens", "64", "--output-tokens", str(OUTPUT_TOKENS), "--timeout", "60s", "--json", "-"),
    )
    assert done.code == 0, done.err
    report = done.report
    assert report["outcomes"]["by_outcome"] == {"ok": 12}
    rows = open_run("latest").rows().to_pylist()
    assert len(rows) == 14
    decode_off, prompt_off = [], []
    for row in rows:
        timings = json.loads(row["server_timings"])
        events = row["event_ns"]
        assert timings["predicted_n"] == row["completion_tokens"]
        if len(events) < 3:
            continue  # the model may stop early
        decode_off.append((events[-1] - events[0]) / 1e6 / timings["predicted_ms"] - 1)
        prompt_off.append((events[0] - row["sent_ns"]) / 1e6 - timings["prompt_ms"])
    # The engine's clock starts after parsing and tokenising, so TTFT is the longer one, by little.
    assert min(prompt_off) > 0
    assert float(np.median(prompt_off)) < 60
    assert abs(float(np.median(decode_off))) < 0.1
    tpot = report["metrics"]["tpot_ms"]["p50"]["value"]
    own = float(np.median([json.loads(row["server_timings"])["predicted_per_token_ms"] for row in rows]))
    assert tpot == pytest.approx(own, rel=0.25)


@pytest.mark.parametrize("protocol", ["completions", "responses", "messages"])
def test_the_engine_s_other_protocols_are_read(server: str, cli: Cli, protocol: str) -> None:
    done = cli(
        *("measure", server, "--protocol", protocol, "--requests", "4", "--exact-output"),
        *("--prompt-tokens", "32", "--output-tokens", "12", "--timeout", "60s", "--json", "-"),
    ).ended()
    assert done.report["outcomes"]["by_outcome"] == {"ok": 4}
    for row in open_run("latest").rows().to_pylist():
        assert row["completion_tokens"] == 12
        assert row["prompt_tokens"] > 20
        assert row["end_marker"]
        assert 0 < len(row["event_ns"]) <= 12


def generated_tokens(server: str) -> float:
    """How many tokens the engine says that it has generated since it began."""
    with urllib.request.urlopen(f"{server}/metrics") as answer:
        found = re.search(r"^llamacpp:tokens_predicted_total (\S+)$", answer.read().decode(), re.MULTILINE)
    assert found is not None
    return float(found.group(1))


def test_a_caller_who_hangs_up_stops_the_engine(server: str, cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "talk.toml"
    path.write_text(
        'schema = "paceline.workload/1"\nprompt_tokens = "32"\nexact_output = true\n'
        '[[call]]\nname = "talk"\noutput_tokens = "1500"\nhang_up_ms = 300\n'
    )
    before = generated_tokens(server)
    done = cli("measure", server, "--workload", str(path), "--jobs", "4", "--json", "-").ended()
    rows = open_run("latest").rows().to_pylist()
    assert [row["outcome"] for row in rows] == ["hung_up"] * 4
    assert all(row["stopped_ns"] is not None and row["stopped_ns"] >= row["hangup_ns"] for row in rows)
    assert done.report["hangups"]["stopped"] == 4
    # By its own count the engine did not go on to the end: it has generated little more than was heard.
    heard = sum(len(row["event_ns"]) for row in rows)
    assert heard <= generated_tokens(server) - before < 0.5 * 4 * 1500


def test_a_conversation_is_carried_on_and_its_beginning_is_in_the_cache(
    server: str, cli: Cli, tmp_path: Path
) -> None:
    path = tmp_path / "chat.toml"
    path.write_text(
        'schema = "paceline.workload/1"\nprompt_tokens = "120"\noutput_tokens = "16"\nexact_output = true\n'
        '[[call]]\nname = "ask"\n[[call]]\nname = "more"\nrepeat = 3\nprompt_tokens = "20"\n'
    )
    cli("measure", server, "--workload", str(path), "--jobs", "3", "--json", "-").ended()
    rows = open_run("latest").rows().to_pylist()
    assert [row["outcome"] for row in rows] == ["ok"] * 12
    for row in rows:
        if row["step"] > 0:
            before = next(one for one in rows if one["request_index"] == row["request_index"] - 1)
            # Template tokens around the answer and the new turn come on top.
            assert row["prompt_tokens"] >= before["prompt_tokens"] + before["completion_tokens"]
            assert row["cached_tokens"] >= 0.9 * before["prompt_tokens"]


def test_a_wrong_path_is_said_before_load_begins(server: str, cli: Cli) -> None:
    done = cli("measure", f"{server}/nowhere", "--requests", "1")
    assert done.code == 2
    assert "404" in done.err

"""The main job on a real engine with real weights, its figures checked against the server's own `timings`.

llama.cpp reports per request how long it took over the prompt (`prompt_ms`) and from there to the last token
(`predicted_ms`, over `predicted_n` tokens). It is skipped, and says so, where no engine is installed.
"""

import json
from collections.abc import Iterator

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


def test_a_wrong_path_is_said_before_load_begins(server: str, cli: Cli) -> None:
    done = cli("measure", f"{server}/nowhere", "--requests", "1")
    assert done.code == 2
    assert "404" in done.err

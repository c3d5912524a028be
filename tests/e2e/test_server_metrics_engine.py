"""The metrics of a real engine beside what the client saw; skipped, and said so, where none is installed."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from paceline.stats.server import series_of
from paceline.store.runs import open_run
from tests.e2e.conftest import Cli
from tests.support.engine import Engine, find_engine, running

pytestmark = [pytest.mark.engine, pytest.mark.timeout(300)]
EVERY = ("--server-metrics-every", "100ms")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    engine = find_engine()
    if not isinstance(engine, Engine):
        pytest.skip(engine)
    with running(engine, tmp_path_factory.mktemp("engine") / "server.log") as address:
        yield address


def test_the_server_s_counts_are_the_client_s(server: str, cli: Cli) -> None:
    load = ("-c", "4", "-n", "12", "--prompt-tokens", "64", "--output-tokens", "32", "--timeout", "60s")
    report = cli("measure", server, *load, *EVERY, "--json", "-").ended().report
    rows = open_run("latest").rows().to_pylist()
    series = {one.name: one.value for one in series_of(open_run("latest").server())}
    told = report["server"]
    assert told["engine"] == "llama.cpp"
    # Two slots, and four callers.
    assert series["running_requests"].max() <= 2
    assert (series["running_requests"] + series["waiting_requests"]).max() == 4
    generated = series["generation_tokens_total"]
    assert generated[-1] - generated[0] == sum(row["completion_tokens"] for row in rows)
    prompts = series["prompt_tokens_total"]
    cached = sum(row["cached_tokens"] or 0 for row in rows)
    assert prompts[-1] - prompts[0] == sum(row["prompt_tokens"] for row in rows) - cached
    assert told["generated_tokens"]["agree"] is True


def test_a_hang_up_frees_the_engine_s_slot(server: str, cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "workload.toml"
    path.write_text(
        'schema = "paceline.workload/1"\nprompt_tokens = "32"\n[[call]]\nname = "talk"\n'
        'output_tokens = "800"\nhang_up_ms = 250\n'
        '[[call]]\nname = "again"\noutput_tokens = "800"\nhang_up_ms = 250\nwait_ms = 600\n'
    )
    report = (
        cli("measure", server, "--workload", str(path), "--jobs", "3", *EVERY, "--json", "-").ended().report
    )
    after = report["server"]["after_hangups"]
    assert report["hangups"]["n"] > 0
    assert after["why_not"] is None
    assert 1 <= after["n"] <= report["hangups"]["n"]
    assert 0 <= after["at_least_ms"]["p50"] <= after["at_most_ms"]["p50"]

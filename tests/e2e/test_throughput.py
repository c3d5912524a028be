"""Rates of a run in step against its own rows: the machine's speed is in both, and does not matter."""

from collections.abc import Iterable

import numpy as np
import pytest

from paceline.measure.sim import SimProcess
from paceline.store.runs import open_run
from tests.e2e.conftest import Cli

STREAMS, TOKENS = 32, 20


@pytest.fixture(scope="module")
def exact() -> Iterable[SimProcess]:
    """240 ms a request."""
    with SimProcess(["--ttft", "50ms", "--itl", "10ms", "--output-tokens", str(TOKENS)]) as engine:
        yield engine


@pytest.mark.parametrize("options", [(), ("--no-stream",)])
def test_whole_batches_make_what_the_rows_say(cli: Cli, exact: SimProcess, options: tuple[str, ...]) -> None:
    requests = 5 * STREAMS
    load = ("-c", str(STREAMS), "-n", str(requests), "--warmup", "0", "--output-tokens", str(TOKENS))
    done = cli(
        "measure", exact.url, "--prompt-tokens", "16", *load, *options, "--slo", "e2e_ms=60000", "--json", "-"
    )
    assert done.report["outcomes"]["ok"] == requests
    rows = open_run("latest").rows()
    sent, end = rows["sent_ns"].to_numpy(), rows["end_ns"].to_numpy()
    # Batches do not drift apart, so that the run is whole batches from the first send to the last end.
    by_rows = requests / float(end.max() - sent.min()) * 1e9
    found = done.report["throughput"]
    assert found["requests_s"] == pytest.approx(by_rows, rel=0.01)
    assert found["output_tok_s"] == pytest.approx(TOKENS * found["requests_s"])
    assert found["goodput_requests_s"] == found["requests_s"]
    assert found["requests_s"] == pytest.approx(STREAMS / float(np.mean(end - sent)) * 1e9, rel=0.02)

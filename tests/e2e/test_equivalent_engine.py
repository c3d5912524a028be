"""`paceline equivalent` on a real engine with real weights: with itself, and with a coarser cache."""

from pathlib import Path

import pytest

from tests.e2e.conftest import Cli
from tests.support.engine import Engine, find_engine, running

pytestmark = [pytest.mark.engine, pytest.mark.timeout(300)]

FEW = ("--prompts", "12", "--items", "0", "--prompt-tokens", "40", "--output-tokens", "24", "--json", "-")


@pytest.fixture(scope="module")
def engine() -> Engine:
    found = find_engine()
    if not isinstance(found, Engine):
        pytest.skip(found)
    return found


def test_one_engine_with_itself_and_with_a_coarser_cache(engine: Engine, cli: Cli, tmp_path: Path) -> None:
    with running(engine, tmp_path / "a.log") as a:
        alone = cli("equivalent", a, a, *FEW).ended().report
        # Values of a cache in four bits are another arithmetic on the same weights.
        coarse = ("-ctk", "q4_0", "-ctv", "q4_0", "-fa", "on")
        with running(engine, tmp_path / "b.log", *coarse) as b:
            other = cli("equivalent", a, b, *FEW, "--prompts", "10").ended().report
    # One at a time, llama.cpp repeats itself at temperature 0; so few prompts do not show more.
    assert alone["texts"]["a"]["value"] == alone["texts"]["ab"]["value"] == 1.0
    assert alone["verdict"]["outcome"] == "not enough data"
    assert alone["verdict"]["needs_more"] > 0
    assert alone["a"]["completion_tokens"] == pytest.approx(alone["b"]["completion_tokens"])
    assert other["texts"]["a"]["value"] == other["texts"]["b"]["value"] == 1.0
    assert other["texts"]["ab"]["value"] < 0.5
    assert other["verdict"]["outcome"] == "different"

"""The probe on a real engine, and a measurement that begins with what it found."""

import json
from collections.abc import Iterator

import pytest

from tests.e2e.conftest import Cli
from tests.support.engine import MODEL, Engine, find_engine, running

pytestmark = [pytest.mark.engine, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    engine = find_engine()
    if not isinstance(engine, Engine):
        pytest.skip(engine)
    with running(engine, tmp_path_factory.mktemp("engine") / "server.log") as address:
        yield address


def test_llama_server_is_found_to_be_what_it_is(server: str, cli: Cli) -> None:
    done = cli("probe", server, "--timeout", "60s", "--json", "-")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    answers = {name: one["answers"]["answer"] for name, one in found["protocols"].items()}
    # It embeds only where it is started to.
    assert answers == dict.fromkeys(answers, "yes") | {"openai-embeddings": "no"}
    assert (found["server"]["kind"], found["model"]) == ("llama.cpp", MODEL)
    features = found["features"]
    assert features["server_metrics"]["value"] == "/metrics"
    assert features["log_probabilities"]["answer"] == "yes"
    assert features["cache_reporting"]["value"] > 1000
    assert features["images"]["answer"] == "no"
    assert found["cost"]["requests"] <= 48


@pytest.mark.parametrize("protocol", ["completions", "responses", "messages"])
def test_each_protocol_is_measured(server: str, cli: Cli, protocol: str) -> None:
    sizes = ("--prompt-tokens", "32", "--output-tokens", "8", "--requests", "4", "--timeout", "60s")
    done = cli("measure", server, "--protocol", protocol, *sizes, "--json", "-")
    assert done.code == 0, done.err
    report = done.report
    assert report["run"]["protocol"].endswith(protocol)
    assert report["outcomes"]["by_outcome"] == {"ok": 4}
    assert report["tokens"]["completion"] <= 32

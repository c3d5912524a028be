"""What a probe has found is kept, and is what a measurement begins with."""

import json
from pathlib import Path
from typing import Any

import pytest

from paceline import _core
from paceline.endpoints.target import Target
from paceline.measure.job import Job, prepare
from paceline.measure.load_spec import LoadOptions, plan_load
from paceline.measure.probing import known_dialect, known_protocol, lookup, probe_endpoint
from paceline.protocols import DEFAULT_DIALECT, PROTOCOLS, Protocol
from paceline.store.probes import probe_file
from paceline.workloads.spec import WorkloadSpec
from tests.support.fake_server import NOT_FOUND, FakeServer, serving
from tests.support.five_protocols import Speaker


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PACELINE_HOME", str(tmp_path))


def target(url: str, **parts: Any) -> Target:
    return Target.parse(url, model="tiny", **parts)


def test_what_was_found_is_known_afterwards() -> None:
    speaker = Speaker(("anthropic-messages", "openai-completions"), refuses=("ignore_eos",), ends_early=1)
    with serving(FakeServer(on_request=speaker)) as server:
        assert lookup(target(server.url)) is None
        assert known_protocol(target(server.url)) is None
        found, path = probe_endpoint(target(server.url))
    assert path == probe_file(f"{server.url}/v1")
    assert lookup(target(server.url)) == found
    assert known_protocol(target(server.url)) == "anthropic-messages"
    messages = target(server.url).with_protocol("anthropic-messages")
    assert known_dialect(messages, "tiny").exact_output == "min_tokens"
    for model in ("large", None):
        assert known_dialect(messages, model) == DEFAULT_DIALECT


def test_a_named_protocol_is_not_replaced() -> None:
    with serving(FakeServer(on_request=Speaker(("openai-responses",)))) as server:
        probe_endpoint(target(server.url))
    assert known_protocol(target(server.url)) == "openai-responses"
    assert known_protocol(target(server.url, protocol="openai-chat")) is None
    assert known_protocol(target(f"{server.url}/v1/completions")) is None
    assert known_protocol(target(f"{server.url}/other")) is None


def test_an_endpoint_that_does_not_answer_is_not_kept() -> None:
    with serving(FakeServer(on_request=lambda *_: NOT_FOUND)) as server:
        found, path = probe_endpoint(target(server.url))
    assert (found.preferred, path) == (None, None)
    assert lookup(target(server.url)) is None


def test_a_damaged_probe_is_none() -> None:
    with serving(FakeServer(on_request=Speaker())) as server:
        _, path = probe_endpoint(target(server.url))
    assert path is not None
    path.write_text(path.read_text().replace('"yes"', '"perhaps"'))
    assert lookup(target(server.url)) is None
    assert known_dialect(target(server.url), "tiny") == DEFAULT_DIALECT


@pytest.mark.parametrize("protocol", ["openai-responses", "openai-embeddings"])
def test_a_measurement_begins_with_what_was_found(protocol: Protocol) -> None:
    load = plan_load(LoadOptions(requests=1))
    workload = WorkloadSpec.parse({"prompt_tokens": 8, "output_tokens": 4}, "test")
    with serving(FakeServer(on_request=Speaker((protocol,)))) as server:
        probe_endpoint(target(server.url))
        asked = len(server.bodies)
        prepared = prepare(Job(url=server.url, workload=workload, load=load, model="tiny"))
        # One question, in the protocol that was found.
        assert len(server.bodies) == asked + 1
    assert prepared.target.protocol == protocol
    assert prepared.load_target.streaming is (protocol != "openai-embeddings")


ENGINE = {
    "mode": "exact",
    "exact": {"ttft_us": 500, "itl_us": 200, "output_tokens": 4, "reasoning_tokens": 1, "prefix_cache": True},
    "metrics": "tgi",
    "rate_limit": {"requests_per_min": 600},
    "image_tokens": 77,
}


def test_the_reference_engine_is_found_to_be_what_it_is() -> None:
    engine = _core.Sim(json.dumps(ENGINE))
    url = engine.start()
    try:
        found, _ = probe_endpoint(Target.parse(url))
    finally:
        engine.stop()
    assert {name for name, one in found.protocols.items() if one.answers.answer == "yes"} == set(PROTOCOLS)
    assert (found.models, found.model, found.server.header) == (("truth",), "truth", "paceline-sim")
    assert found.server.kind == "paceline-sim"
    features = found.features
    assert features.images.value == 77
    assert features.exact_output.reason == "ignore_eos: 24 tokens in place of 4"
    assert features.reasoning.value == ["reasoning_content"]
    assert isinstance(features.cache_reporting.value, int)
    assert features.cache_reporting.value > 1000
    for name in ("per_chunk_usage", "token_ids", "log_probabilities", "keep_alive", "rate_limit_headers"):
        assert getattr(features, name).answer == "yes", name
    assert "x-ratelimit-limit-requests" in found.rate_limits
    # It runs by this machine's clock.
    assert found.clock_offset is not None
    assert abs(found.clock_offset.value_ms) <= found.clock_offset.uncertainty_ms + 1

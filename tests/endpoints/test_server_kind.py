"""What kind of server it is, by its metrics, its models, its headers."""

import json
from typing import Any

import pytest

from paceline.endpoints.bounded import BoundedClient, Budget
from paceline.endpoints.models import model_list
from paceline.endpoints.probe_record import Finding, Server
from paceline.endpoints.server_kind import server_kind
from paceline.endpoints.target import Target
from tests.support.fake_server import Answer, FakeServer, serving


def kind(path: str = "", **parts: Any) -> tuple[Server, Finding]:
    with serving(FakeServer(**parts)) as server:
        target = Target.parse(server.url + path)
        with BoundedClient(target, Budget()) as client:
            _, listing = model_list(client)
            return server_kind(client, listing)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("vllm:num_requests_running", "vllm"),
        ("sglang:num_running_reqs", "sglang"),
        ("llamacpp:requests_processing", "llama.cpp"),
        ("tgi_queue_size", "tgi"),
        ("trtllm_request_success_total", "tensorrt-llm"),
        ("nv_trt_llm_request_metrics", "tensorrt-llm"),
        ("nv_inference_count", "triton"),
        ("dynamo_frontend_inflight_requests", "dynamo"),
        ("process_cpu_seconds_total", None),
    ],
)
def test_metrics_tell_the_engine(name: str, found: str | None) -> None:
    text = f"# HELP {name} x\n# TYPE {name} gauge\n{name} 0\n".encode()
    server, metrics = kind(gets={"/metrics": Answer(body=text)})
    assert server.kind == found
    assert (metrics.answer, metrics.value) == ("yes", "/metrics")


def test_metrics_lie_beside_the_base_path_without_its_version() -> None:
    text = Answer(body=b"# TYPE vllm:x gauge\n")
    server, metrics = kind("/serve/v1", gets={"/serve/metrics": text})
    assert (server.kind, metrics.value) == ("vllm", "/serve/metrics")


@pytest.mark.parametrize("body", [b"<html>vllm:", b"", b"hello vllm: there"])
def test_a_page_is_no_metrics(body: bytes) -> None:
    server, metrics = kind(gets={"/metrics": Answer(body=body)})
    assert (server.kind, metrics.answer) == (None, "no")


def test_models_and_headers_tell_it_too() -> None:
    owned = Answer(body=json.dumps({"data": [{"id": "m", "owned_by": "sglang"}]}).encode())
    assert kind(gets={"/v1/models": owned})[0].kind == "sglang"
    assert kind(extra_headers={"openai-processing-ms": "12"})[0].kind == "openai"
    assert kind()[0] == Server(header=kind()[0].header)


def test_the_reference_engine_is_a_kind_of_its_own_whatever_its_metrics_are_called() -> None:
    listed = Answer(body=json.dumps({"data": [{"id": "m", "owned_by": "paceline-sim"}]}).encode())
    gets = {"/metrics": Answer(body=b"# TYPE vllm:x gauge\n"), "/v1/models": listed}
    server, metrics = kind(gets=gets, extra_headers={"server": "paceline-sim"})
    assert (server.kind, metrics.answer) == ("paceline-sim", "yes")
    assert server.evidence == ("its models are owned by paceline-sim", "its Server header")


@pytest.mark.parametrize("body", [b"[]", b'{"data": {}}', b'{"data": [3]}', b'{"data": [{"owned_by": []}]}'])
def test_a_list_that_makes_no_sense_tells_nothing(body: bytes) -> None:
    version = Answer(body=b'{"version": ["1"]}')
    server, _ = kind(gets={"/v1/models": Answer(body=body), "/version": version})
    assert (server.kind, server.version) == (None, None)

"""What kind of server an endpoint is, and whether its metrics are open.

Names of metrics: docs of vLLM (`vllm:`), SGLang (`sglang:`), llama.cpp's server (`llamacpp:`), TGI (`tgi_`),
TensorRT-LLM (`trtllm_`) and Triton (`nv_`), NVIDIA Dynamo (`dynamo_`).
"""

import re

from paceline.endpoints.bounded import BoundedClient
from paceline.endpoints.client import Reply
from paceline.endpoints.json_text import read_json
from paceline.endpoints.probe_record import Finding, Server
from paceline.endpoints.questions import no, unknown, yes
from paceline.errors import EndpointError

_METRICS = (
    ("vllm", r"vllm:"),
    ("sglang", r"sglang:"),
    ("llama.cpp", r"llamacpp:"),
    ("tgi", r"tgi_"),
    ("dynamo", r"dynamo_"),
    ("tensorrt-llm", r"trtllm_|nv_trt_llm_"),
    ("triton", r"nv_inference_"),
)
_SIM = "paceline-sim"
_SERVER_HEADER = (("llama.cpp", r"llama\.cpp"), (_SIM, _SIM), ("ollama", r"ollama"))
_OWNED_BY = {"vllm": "vllm", "sglang": "sglang", "llamacpp": "llama.cpp", "library": "ollama", _SIM: _SIM}
_OTHER_HEADERS = (
    ("openai", "openai-processing-ms"),
    ("anthropic", "anthropic-organization-id"),
    ("litellm", "x-litellm-version"),
)


def server_kind(client: BoundedClient, listing: Reply | None) -> tuple[Server, Finding]:
    """The kind by all that tells it, and whether there are Prometheus metrics. Two requests at most."""
    evidence: list[tuple[str, str]] = []
    root = re.sub(r"/v\d+$", "", client.target.base_path)
    metrics, kind = _metrics(client, f"{root}/metrics")
    if kind is not None:
        evidence.append((kind, f"its metrics at {root}/metrics"))
    if listing is not None:
        evidence += _owner(listing)
    header = next((one.headers["server"] for one in client.heard if "server" in one.headers), None)
    header = client.target.redact(header)[:100] if header else None
    evidence += [
        (kind, "its Server header")
        for kind, pattern in _SERVER_HEADER
        if header and re.search(pattern, header, re.IGNORECASE)
    ]
    evidence += [
        (kind, f"the header {name}")
        for kind, name in _OTHER_HEADERS
        if any(name in one.headers for one in client.heard)
    ]
    version = _version(client, f"{root}/version")
    kinds = [kind for kind, _ in evidence]
    # The reference engine speaks for others: its metrics have their names.
    found = _SIM if _SIM in kinds else next(iter(kinds), None)
    # One that speaks for another kind is a gateway's or a mistake; it is not used.
    reasons = tuple(dict.fromkeys(reason for kind, reason in evidence if kind == found))
    return Server(kind=found, version=version, header=header, evidence=reasons), metrics


def _metrics(client: BoundedClient, path: str) -> tuple[Finding, str | None]:
    try:
        reply = client.get(path, accept="text/plain")
    except EndpointError as error:
        return unknown(error.message.removeprefix(f"{client.target.display}: ")), None
    if reply.status != 200:
        return no(f"{path} answers with status {reply.status}"), None
    for kind, prefix in _METRICS:
        if re.search(rf"^(# (HELP|TYPE) )?({prefix})", reply.body, re.MULTILINE):
            return yes(f"those of {kind}", path), kind
    if re.search(r"^# TYPE \w", reply.body, re.MULTILINE):
        return yes("of no engine that is known", path), None
    return no(f"{path} is no Prometheus text"), None


def _owner(listing: Reply) -> list[tuple[str, str]]:
    try:
        data = read_json(listing.body)
    except ValueError:
        return []
    listed = data.get("data") if isinstance(data, dict) else None
    first = listed[0] if isinstance(listed, list) and listed else None
    owner = first.get("owned_by") if isinstance(first, dict) else None
    known = _OWNED_BY.get(owner) if isinstance(owner, str) else None
    return [(known, f"its models are owned by {owner}")] if known else []


def _version(client: BoundedClient, path: str) -> str | None:
    try:
        reply = client.get(path)
        data = read_json(reply.body) if reply.status == 200 else None
    except (EndpointError, ValueError):
        return None
    version = data.get("version") if isinstance(data, dict) else None
    return client.target.redact(version)[:60] if isinstance(version, str) else None

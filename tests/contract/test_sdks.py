"""The official packages' parsers and our reader, on the same bytes.

Texts by kind, finish reason and usage are equal. The bytes come from recorded and written responses, from the
reference engine, and from a llama-server where one is installed.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from paceline import _core
from paceline.protocols import PROTOCOLS, Protocol
from tests.support.engine import MODEL, Engine, find_engine, running
from tests.support.sdks import CONTENT, REASONING, TOOL_CALL, Read, Refused, ours, question, replayed, theirs

DATA = Path(__file__).resolve().parents[2] / "crates" / "paceline-wire" / "tests" / "data"
RECORDED = sorted(path for path in DATA.iterdir() if path.suffix in (".sse", ".json"))
VARIANTS = [
    (protocol, streaming)
    for protocol, info in PROTOCOLS.items()
    for streaming in ((True, False) if info.streams else (False,))
]


def protocol_of(path: Path) -> Protocol:
    return next(name for name in PROTOCOLS if path.name.startswith(name))


def agree(found: Read, expected: Read) -> None:
    """Ours and theirs. Packages without a field for something say nothing of it."""
    if found.mixed:
        # Their order is the reader's own.
        assert sorted(found.mixed + "".join(found.texts)) == sorted("".join(expected.texts))
    else:
        assert found.texts == expected.texts
    assert found.kinds & 7 == expected.kinds
    assert found.finish == expected.finish
    assert (found.prompt_tokens, found.completion_tokens) == (
        expected.prompt_tokens,
        expected.completion_tokens,
    )
    assert (found.cached_tokens or 0) == (expected.cached_tokens or 0)


def raw(url: str, protocol: Protocol, streaming: bool, model: str, tokens: int = 8) -> bytes:
    """The very bytes of an answer."""
    body = question(protocol, streaming, model, tokens)
    answer = httpx.post(f"{url}/v1{PROTOCOLS[protocol].path}", json=body, timeout=60, trust_env=False)
    assert answer.status_code == 200, answer.text
    return answer.content


def cross_check(protocol: Protocol, streaming: bool, body: bytes) -> Read:
    """Both read the same, and find nothing wrong."""
    found, outcome = ours(protocol, streaming, body)
    assert outcome == "ok"
    agree(found, replayed(protocol, streaming, body))
    return found


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.name)
def test_recorded_and_written_responses(path: Path) -> None:
    protocol, streaming = protocol_of(path), path.suffix == ".sse"
    body = path.read_bytes()
    if ".error." in path.name:
        assert ours(protocol, streaming, body)[1] == "error_in_stream"
        with pytest.raises(Refused):
            replayed(protocol, streaming, body)
        return
    cross_check(protocol, streaming, body)


TIMES = {"ttft_us": 500, "itl_us": 200}
SHAPES: dict[str, dict[str, Any]] = {
    "plain": {"output_tokens": 6},
    "thinks": {"output_tokens": 6, "reasoning_tokens": 3},
    "calls a tool": {"output_tokens": 6, "tool_tokens": 2},
}


@pytest.fixture(scope="module", params=SHAPES)
def engine(request: pytest.FixtureRequest) -> Iterator[tuple[str, str]]:
    sim = _core.Sim(json.dumps({"mode": "exact", "exact": {**TIMES, **SHAPES[request.param]}}))
    try:
        yield f"http://{sim.start()}", request.param
    finally:
        sim.stop()


@pytest.mark.parametrize(("protocol", "streaming"), VARIANTS)
def test_the_reference_engine(engine: tuple[str, str], protocol: Protocol, streaming: bool) -> None:
    url, shape = engine
    body = raw(url, protocol, streaming, "truth")
    found = cross_check(protocol, streaming, body)
    assert found.prompt_tokens is not None
    if protocol != "openai-embeddings":
        assert found.completion_tokens is not None
        more = {"plain": 0, "thinks": REASONING, "calls a tool": TOOL_CALL}[shape]
        assert found.kinds == CONTENT | (more if protocol != "openai-completions" else 0)
    # It also takes what the package itself sends: its headers, its fields.
    direct = theirs(protocol, streaming, url, question(protocol, streaming, "truth"))
    assert direct.completion_tokens == found.completion_tokens
    assert direct.finish == found.finish


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    found = find_engine()
    if not isinstance(found, Engine):
        pytest.skip(found)
    with running(found, tmp_path_factory.mktemp("engine") / "server.log") as address:
        yield address


@pytest.mark.engine
@pytest.mark.timeout(300)
def test_a_real_engine_that_embeds(tmp_path: Path) -> None:
    found = find_engine()
    if not isinstance(found, Engine):
        pytest.skip(found)
    with running(found, tmp_path / "server.log", "--embeddings", "--pooling", "last") as address:
        read = cross_check("openai-embeddings", False, raw(address, "openai-embeddings", False, MODEL))
        direct = theirs("openai-embeddings", False, address, question("openai-embeddings", False, MODEL))
    assert direct.vectors == 1
    assert direct.prompt_tokens == read.prompt_tokens


@pytest.mark.engine
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("protocol", "streaming"), [one for one in VARIANTS if one[0] != "openai-embeddings"]
)
def test_a_real_engine(llama: str, protocol: Protocol, streaming: bool) -> None:
    found = cross_check(protocol, streaming, raw(llama, protocol, streaming, MODEL))
    assert found.completion_tokens is not None
    assert found.completion_tokens <= 8
    direct = theirs(protocol, streaming, llama, question(protocol, streaming, MODEL))
    assert direct.prompt_tokens == found.prompt_tokens

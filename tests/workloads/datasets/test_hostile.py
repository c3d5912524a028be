"""Whatever a file holds: jobs, or an error in words. Nothing else comes out of a reader."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from paceline.errors import ConfigError
from paceline.protocols import DEFAULT_DIALECT, PROTOCOLS
from paceline.workloads.datasets.source import DataSource
from paceline.workloads.datasets.spec import DataSpec
from paceline.workloads.jobs import JobBatches, JobSource
from paceline.workloads.spec import WorkloadSpec
from paceline.workloads.traces.source import TraceSource
from paceline.workloads.traces.spec import TraceSpec
from tests.support.traces import mooncake_rows

ROUNDS = 60
WORKLOAD = WorkloadSpec.parse({"tokenizer": "words", "streaming": False})
SEEDS: dict[str, bytes] = {
    "text": b"one two\r\nthree\n\nfour\n",
    "blocks": b"one two\r\nthree\n\nfour\n",
    "jsonl": b'{"prompt": "a", "n": 3}\n{"messages": [{"role": "user", "content": "x"}]}\n"s"\n',
    "json": b'[{"conversations": [{"from": "human", "value": "q"}]}, 5, {"conversations": "a, b, c, d"}]',
    "csv": b'id,prompt,n\n1,"a ""b""\nc",3\n2,x,4\n',
    "azure": b"TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6,7,4\n2023-11-16 18:15:47,9,1\n",
    "mooncake": "".join(json.dumps(row) + "\n" for row in mooncake_rows(3, block=16)).encode(),
}
PIECES = [
    b"", b"\0", b"\xff", b"\xef\xbb\xbf", b"\r\n", b"\n\n", b'"', b"\\", b"{", b"}", b"[", b"]", b",", b":",
    b"-1", b"1e999", b"NaN", b"null", b"true", b'"\\ud800"', b"9" * 400, b"[" * 2000, b"\xe2\x80\xa8",
]  # fmt: skip


def mangled(rng: random.Random, data: bytes) -> bytes:
    out = bytearray(data)
    for _ in range(rng.randrange(1, 4)):
        at, end = sorted(rng.randrange(len(out) + 1) for _ in range(2))
        out[at : end if rng.random() < 0.3 else at] = rng.choice(PIECES)
    return bytes(out)


def value(rng: random.Random, depth: int = 0) -> Any:
    """Some JSON, with the names that readers look for."""
    kinds = 9 if depth < 4 else 7
    match rng.randrange(kinds):
        case 0:
            return None
        case 1:
            return rng.choice([True, False])
        case 2:
            return rng.choice([0, 1, -1, 5, 2**70, 10**400, 1_700_000_000, 0.5, 1e300])
        case 3 | 4 | 5:
            return rng.choice(
                [
                    "",
                    " ",
                    "x y",
                    "user",
                    "assistant",
                    "system",
                    "text",
                    "tool",
                    "\ud800",
                    "[{",
                    "{",
                    "2023-01-01",
                    "é",
                ]
            )
        case 6:
            return [
                {"role": rng.choice(["user", "assistant", "tool"]), "content": rng.choice(["a", "b c", ""])}
            ]
        case 7:
            return [value(rng, depth + 1) for _ in range(rng.randrange(3))]
        case _:
            names = [
                "prompt", "messages", "conversations", "role", "content", "from", "value", "body", "request",
                "response", "usage", "completion_tokens", "max_tokens", "timestamp", "session_id", "metadata",
                "type", "text", "image_url", "url", "source", "tool_calls", "system", "input", "tools",
            ]  # fmt: skip
            return {rng.choice(names): value(rng, depth + 1) for _ in range(rng.randrange(6))}


def used(found: JobSource) -> int:
    """Jobs of a source, each written for a protocol that has a place for everything."""
    batches = JobBatches(found, "m", "openai-chat", DEFAULT_DIALECT, WORKLOAD)
    return batches.take(30)[0].num_rows


@pytest.mark.parametrize("kind", list(SEEDS))
def test_mangled_files(tmp_path: Path, kind: str) -> None:
    rng = random.Random(kind)
    read = refused = 0
    for place in range(ROUNDS):
        path = tmp_path / f"{place}"
        path.write_bytes(mangled(rng, SEEDS[kind]))
        try:
            if kind in ("azure", "mooncake"):
                trace = TraceSpec.model_validate({"path": str(path), "format": kind, "block_tokens": 16})
                read += used(TraceSource(trace, WORKLOAD))
            else:
                data = DataSpec.model_validate({"path": str(path), "format": kind, "on_end": "stop"})
                read += used(DataSource(data, WORKLOAD))
        except ConfigError:
            refused += 1
    assert read > 0
    assert refused < ROUNDS


@pytest.mark.parametrize("rows", [None, "prompt", "conversation", "log"])
def test_rows_of_any_shape(tmp_path: Path, rows: str | None) -> None:
    rng = random.Random(str(rows))
    read = refused = 0
    for place in range(ROUNDS):
        path = tmp_path / f"{place}.jsonl"
        path.write_text("".join(json.dumps(value(rng)) + "\n" for _ in range(60)))
        spec = {"path": str(path), "rows": rows, "on_end": "stop", "image_column": rng.choice([None, "url"])}
        spec |= {
            "answers": rng.choice(["model", "recorded"]),
            "output_lengths": rng.choice(["workload", "recorded"]),
        }
        try:
            read += used(DataSource(DataSpec.model_validate(spec), WORKLOAD))
        except ConfigError:
            refused += 1
    assert read > 0
    assert refused < ROUNDS


def test_every_protocol_takes_what_a_conversation_says(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    talk = [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "b"},
        {"role": "user", "content": "c"},
    ]
    path.write_text(json.dumps({"messages": talk}))
    for protocol in PROTOCOLS:
        found = DataSource(DataSpec(path=str(path), on_end="stop"), WORKLOAD)
        batch, _ = JobBatches(found, "m", protocol, DEFAULT_DIALECT, WORKLOAD).take(5)
        assert batch.num_rows == 2

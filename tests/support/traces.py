"""Traces for tests: small ones made from a seed, and the published ones where they are at hand.

The published traces are looked for in PACELINE_TEST_TRACES, else in `shared/traces` beside the checkout.
"""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

AZURE = "AzureLLMInferenceTrace_conv.csv"
MOONCAKE = "mooncake_conversation_head3000.jsonl"
_FOLDER = os.environ.get("PACELINE_TEST_TRACES") or Path(__file__).parents[3] / "shared" / "traces"


def published(name: str) -> Path:
    """A published trace; the test is skipped, and says so, where it is not at hand."""
    path = Path(_FOLDER) / name
    if not path.is_file():
        pytest.skip(f"no {name}: set PACELINE_TEST_TRACES to the folder of the traces")
    return path


def mooncake_rows(n: int, seed: int = 1, block: int = 512, most_output: int = 300) -> list[dict[str, Any]]:
    """Requests of some conversations that grow: bursts, shared prefixes, a last block that is not full."""
    rng = np.random.default_rng(seed)
    talks: dict[int, tuple[list[int], int]] = {}
    next_id = 1
    time_ms = 0
    rows = []
    for _ in range(n):
        time_ms += int(rng.choice([0, 0, rng.exponential(2000)]))
        talk = int(rng.integers(0, max(2, n // 4)))
        ids, full = talks.get(talk, ([0], 1))
        more = int(rng.integers(0, 3))
        ids = ids[:full] + list(range(next_id, next_id + more))
        next_id += more
        full = len(ids)
        tokens = full * block
        rest = int(rng.integers(0, block))
        if rest:
            ids = [*ids, next_id]
            next_id += 1
            tokens += rest
        talks[talk] = (ids, full)
        rows.append(
            {
                "timestamp": time_ms,
                "input_length": tokens,
                "output_length": int(rng.integers(1, most_output)),
                "hash_ids": ids,
            }
        )
    return rows


def write_mooncake(path: Path, rows: list[dict[str, Any]]) -> Path:
    """The rows as a file."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def write_azure(path: Path, rows: list[tuple[str, int, int]]) -> Path:
    """Rows of instant, input and output as a file."""
    lines = [f"{when},{tokens},{answer}\r\n" for when, tokens, answer in rows]
    path.write_text("TIMESTAMP,ContextTokens,GeneratedTokens\r\n" + "".join(lines))
    return path

"""The row that Rust makes is the row that Python expects: schema, and each field through a real run."""

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from paceline import _core
from paceline.store.schema import ROW_SCHEMA

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    log = tmp_path_factory.mktemp("truth") / "truth.jsonl"
    config = {
        "truth_log": str(log),
        "exact": {
            "ttft_us": 2_000,
            "itl_us": 1_000,
            "output_tokens": 6,
            "reasoning_tokens": 2,
            "usage": "final",
        },
    }
    sim = _core.Sim(json.dumps(config))
    yield sim.start(), log
    sim.stop()


def run(
    address: str, requests: int, *, streaming: bool = True, **more: Any
) -> tuple[dict[str, Any], pa.Table]:
    host, port = address.rsplit(":", 1)
    target = {
        "scheme": "http",
        "host": host,
        "port": int(port),
        "path": "/v1/chat/completions",
        "addresses": [address],
        "headers": [],
        "protocol": "openai-chat",
        "streaming": streaming,
    }
    spec = {
        "schema": "paceline.load/1",
        "target": target,
        "arrival": {"kind": "closed", "concurrency": 2},
        "seed": 1,
        "segment": 3,
        "max_requests": requests,
        "warmup_requests": 1,
        "timeout_ns": 20_000_000_000,
        "threads": 1,
    }
    body = {
        "model": "truth",
        "messages": [{"role": "user", "content": "one two three"}],
        "stream": streaming,
        "max_tokens": 6,
    }
    if streaming:
        body["stream_options"] = {"include_usage": True}
    load = _core.LoadRun(json.dumps(spec | more))
    load.push(pa.record_batch({"body": pa.array([json.dumps(body).encode()] * requests, pa.binary())}))
    load.close_input()
    load.start()
    batches = []
    while True:
        text, batch = load.poll()
        batches += [batch] if batch is not None else []
        progress = json.loads(text)
        if progress["state"] in ("done", "failed"):
            return progress, pa.Table.from_batches(batches)
        time.sleep(0.01)


def test_the_schema_is_the_store_s(engine: tuple[str, Path]) -> None:
    _, rows = run(engine[0], 1)
    assert rows.schema == ROW_SCHEMA


def test_the_contract_page_lists_each_column() -> None:
    page = (ROOT / "docs/design/0001-border-and-row.md").read_text()
    table = page.split("## The row")[1].split("\n## ")[0]
    named = set()
    for cells in re.findall(r"^\| ([a-z_, ]+) \| [a-z0-9_<>?]+ \|", table, flags=re.MULTILINE):
        named |= {name.strip() for name in cells.split(",")} - {"column"}
    assert named == set(ROW_SCHEMA.names)


def test_each_field_of_a_streamed_answer_comes_through(engine: tuple[str, Path]) -> None:
    progress, table = run(engine[0], 4)
    assert progress["outcomes"] == {"ok": 4}
    rows = sorted(table.to_pylist(), key=lambda row: row["request_index"])
    assert [row["request_index"] for row in rows] == [0, 1, 2, 3]
    assert sorted(row["phase"] for row in rows) == ["measure"] * 3 + ["warmup"]
    for row in rows:
        assert row["segment"] == 3
        assert row["status"] == 200
        assert row["outcome"] == "ok"
        assert row["error"] is None
        assert row["end_marker"] is True
        assert row["finish_reason"] in ("stop", "length")
        assert row["response_id"].startswith("chatcmpl-sim-")
        assert row["server_model"] == "truth"
        assert row["prompt_tokens"] == 3
        assert row["completion_tokens"] == len(row["event_ns"]) == 6
        assert row["reasoning_tokens"] == 2
        assert row["event_kind"] == [2, 2, 1, 1, 1, 1]
        assert sum(row["event_bytes"]) > 0
        assert sum(row["event_bytes"]) == len(row["text"].encode())
        assert len(row["text"].split()) == 6
        assert row["streaming"] is True
        assert row["kernel_stamped"] is True
        # An answer may arrive before the write call has returned: `written_ns` has no order with it.
        assert row["sent_ns"] <= row["written_ns"]
        assert row["sent_ns"] <= row["headers_ns"] <= row["event_ns"][0]
        assert row["event_ns"] == sorted(row["event_ns"])
        assert row["event_ns"][-1] <= row["end_ns"]
        assert (row["connect_ns"] is None) == row["connection_reused"]
        assert row["tls_ns"] is None
        assert row["bytes_received"] > 0
        assert row["events"] > 6


def test_a_whole_answer_is_one_event(engine: tuple[str, Path]) -> None:
    progress, table = run(engine[0], 2, streaming=False)
    assert progress["outcomes"] == {"ok": 2}
    for row in table.to_pylist():
        assert (len(row["event_ns"]), row["streaming"], row["completion_tokens"]) == (1, False, 6)
        assert row["event_ns"][0] == row["end_ns"]


def test_a_bad_specification_or_batch_is_a_value_error_that_names_the_field(engine: tuple[str, Path]) -> None:
    with pytest.raises(ValueError, match="colour"):
        run(engine[0], 1, colour="blue")
    with pytest.raises(ValueError, match="timeout_ns"):
        run(engine[0], 1, timeout_ns=0)
    with pytest.raises(ValueError, match="max_requests"):
        run(engine[0], 1, max_requests=None)
    with pytest.raises(ValueError, match="ttft"):
        _core.Sim(json.dumps({"exact": {"ttft": 1}}))

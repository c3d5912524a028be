"""`_core.observe`: one response read for Python as the load generator reads it."""

import json
from pathlib import Path
from typing import Any

import pytest

from paceline import _core
from paceline.protocols import PROTOCOLS
from paceline.store.schema import ROW_SCHEMA

DATA = Path(__file__).resolve().parents[2] / "crates" / "paceline-wire" / "tests" / "data"
EVENT = b'data: {"id":"c","choices":[{"delta":{"content":"hi"}}]}\n\n'


def observe(
    protocol: str, streaming: bool, chunks: list[bytes], status: int = 200, content_type: str | None = None
) -> dict[str, Any]:
    row = json.loads(_core.observe(protocol, streaming, status, content_type, chunks))
    assert isinstance(row, dict)
    return row


def test_it_has_the_names_of_the_row() -> None:
    row = observe("openai-chat", True, [EVENT])
    assert set(row) <= set(ROW_SCHEMA.names)
    assert {"outcome", "status", "text", "event_ns", "cache_write_tokens", "server_model"} <= set(row)


def test_instants_are_the_numbers_of_the_chunks() -> None:
    row = observe(
        "openai-chat", True, [EVENT[:10], EVENT[10:], b": ping\n\n", EVENT + EVENT, b"data: [DONE]\n\n"]
    )
    assert row["event_ns"] == [1, 3, 3]
    assert row["event_coalesced"] == [False, True, True]
    assert (row["outcome"], row["text"], row["end_ns"], row["end_marker"]) == ("ok", "hihihi", 4, True)


def test_the_body_ends_after_the_last_chunk() -> None:
    assert observe("openai-chat", True, [EVENT])["outcome"] == "truncated"
    assert observe("openai-chat", True, [])["outcome"] == "empty"
    row = observe("openai-chat", True, [b'{"error":{"message":"no"}}'], status=404)
    assert (row["outcome"], row["error"], row["status"]) == ("http_error", "HTTP 404: no", 404)
    row = observe("openai-chat", True, [b"<html>"], content_type="text/html")
    assert row["error"].startswith("the answer is not an event stream (content-type: text/html)")


@pytest.mark.parametrize("path", sorted(DATA.glob("*.llama.*")), ids=lambda path: path.name)
def test_every_protocol_is_read(path: Path) -> None:
    protocol = path.name.split(".")[0]
    row = observe(protocol, path.suffix == ".sse", [path.read_bytes()])
    assert (row["outcome"], row["error"]) == ("ok", None)
    assert row["text"] or row["event_kind"] == [8]


def test_both_sides_know_the_same_protocols() -> None:
    for protocol in PROTOCOLS:
        assert observe(protocol, True, [])["status"] == 200
        assert observe(protocol, True, [])["streaming"] is PROTOCOLS[protocol].streams


def test_an_unknown_protocol_is_refused() -> None:
    with pytest.raises(ValueError, match='there is no protocol "openai"'):
        _core.observe("openai", True, 200, None, [])

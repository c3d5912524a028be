"""A side of a race, fed as the reader feeds it."""

import base64
import json
from typing import Any

import pytest

from paceline.dashboard.race_side import MOST_BYTES, Side
from paceline.endpoints.target import Target
from paceline.endpoints.tiny import Tiny
from paceline.protocols import Message, Protocol
from tests.dashboard.served import lane

MS = 1_000_000
START_NS = 5_000_000_000
SECRET = "sk-verysecretkey"


def side(protocol: Protocol = "openai-chat", **fields: Any) -> Side:
    target = Target.parse("http://127.0.0.1:9/v1", model="tiny", protocol=protocol)
    target = Target(**{**vars(target), "api_key": SECRET})
    tiny = Tiny(protocol, "tiny", streaming=True, messages=(Message("user", "Hello"),), limit=64)
    return Side(
        0, lane("http://127.0.0.1:9/v1", protocol=protocol, target=target), target, tiny, 30.0, **fields
    )


def sent(one: Side, **more: Any) -> Side:
    one.take({"kind": "sent", "ns": START_NS, "connect_ns": 3 * MS, "tls_ns": None, **more})
    return one


def head(one: Side, status: int = 200, kind: str = "text/event-stream") -> Side:
    one.take({"kind": "head", "ns": START_NS + 50 * MS, "status": status, "content_type": kind})
    return one


def body(one: Side, at_ms: float, data: bytes) -> None:
    ns = START_NS + round(at_ms * MS)
    one.take({"kind": "body", "ns": ns, "data": base64.b64encode(data).decode()})


def end(one: Side, at_ms: float, outcome: str | None = None, error: str | None = None) -> None:
    ns = START_NS + round(at_ms * MS)
    one.take({"kind": "end", "ns": ns, "outcome": outcome, "error": error, "hint": None})


def event(document: dict[str, Any]) -> bytes:
    return f"data: {json.dumps(document, ensure_ascii=False)}\n\n".encode()


def token(text: str, **delta: str) -> bytes:
    return event({"id": "x", "choices": [{"delta": {"content": text, **delta} if text else delta}]})


def finished() -> bytes:
    usage = {"prompt_tokens": 7, "completion_tokens": 6, "prompt_tokens_details": {"cached_tokens": 2}}
    return event({"choices": [{"delta": {}, "finish_reason": "stop"}], "usage": usage}) + b"data: [DONE]\n\n"


def test_before_anything_came() -> None:
    one = side()
    assert one.progress(START_NS) == {"lane": 0, "state": "connecting", "ms": 0.0, "events": []}
    sent(one)
    waiting = one.progress(START_NS + 20 * MS)
    assert (waiting["state"], waiting["ms"], waiting["events"]) == ("waiting", 20.0, [])


def test_each_event_has_the_instant_of_the_bytes_that_completed_it() -> None:
    one = head(sent(side()))
    whole = token("Grüß")
    # Cut within a letter: the event is complete with the second piece.
    body(one, 100, whole[:47])
    assert one.progress(START_NS + 101 * MS)["events"] == []
    body(one, 120, whole[47:] + token(" dich"))
    seen = one.progress(START_NS + 130 * MS)
    assert seen["events"] == [[120.0, "answer", "Grüß"], [120.0, "answer", " dich"]]
    assert (seen["state"], seen["ttft_ms"], seen["tokens"], seen["tok_s"]) == ("streaming", 120.0, 2, None)
    body(one, 220, token(" !"))
    again = one.progress(START_NS + 230 * MS)
    assert again["events"] == [[220.0, "answer", " !"]]
    # Two tokens after the first event, in 100 ms.
    assert again["tok_s"] == pytest.approx(20.0)
    assert again["approximate"]


def test_the_meters_count_what_the_server_counts() -> None:
    one = head(sent(side()))
    for place in range(3):
        chunk = {"id": "x", "choices": [{"delta": {"content": " ab"}, "token_ids": [1, 2]}]}
        body(one, 100 + 50 * place, event(chunk))
    seen = one.progress(START_NS + 300 * MS)
    assert (seen["tokens"], seen["approximate"]) == (6, False)
    assert seen["tok_s"] == pytest.approx(4 / 0.1)


def test_kinds_of_text_are_told_apart() -> None:
    one = head(sent(side()))
    body(one, 100, token("", reasoning_content="hm") + token("yes"))
    assert [kind for _, kind, _ in one.progress(START_NS + 200 * MS)["events"]] == ["reasoning", "answer"]


def test_the_end_is_the_end_marker_and_figures_are_a_runs() -> None:
    one = head(sent(side()))
    body(one, 100, token("a"))
    assert not one.close_at_marker()
    body(one, 150, token(" b"))
    body(one, 200, token(" c"))
    body(one, 210, finished())
    assert one.close_at_marker()
    assert not one.close_at_marker()
    # What comes when it has ended is nobody's.
    body(one, 900, token("late"))
    figures = one.figures()
    assert figures.ok
    assert (figures.ttft_ms, figures.e2e_ms, figures.connect_ms) == (100.0, 200.0, 3.0)
    # Usage says six tokens in three events: two in the first, four after it, in 100 ms.
    assert figures.tokens == 6
    assert figures.output_tok_s == pytest.approx(40.0)
    assert (figures.prompt_tokens, figures.cached_tokens, figures.finish_reason) == (7, 2, "stop")
    assert figures.longest_stall_ms == 50.0
    assert one.progress(START_NS + 999 * MS)["ms"] == 210.0


@pytest.mark.parametrize(
    ("outcome", "error", "said"),
    [
        ("timeout", "not at its end within 30 s", "not at its end within 30 s"),
        ("truncated", "odd words", "the connection was closed before the answer was complete"),
    ],
)
def test_a_side_that_does_not_come_to_its_end(outcome: str, error: str, said: str) -> None:
    one = head(sent(side()))
    body(one, 100, token("a"))
    body(one, 150, token("b"))
    end(one, 500, outcome, error)
    figures = one.figures()
    assert (figures.outcome, figures.error, figures.ttft_ms) == (outcome, said, None)
    assert figures.tokens == 2


def test_no_connection() -> None:
    one = side()
    end(one, 5, "connect_error", "connection refused: nothing listens there")
    assert one.progress(START_NS)["state"] == "ended"
    figures = one.figures()
    assert (figures.outcome, figures.error) == ("connect_error", "connection refused: nothing listens there")


def test_a_refusal_in_words_without_the_key() -> None:
    one = head(sent(side()), 401, "application/json")
    body(one, 60, json.dumps({"error": {"message": f"bad key {SECRET}"}}).encode())
    end(one, 61)
    figures = one.figures()
    assert figures.outcome == "http_error"
    assert figures.error is not None
    assert "bad key" in figures.error
    assert SECRET not in figures.error
    assert SECRET not in repr(one)


def test_a_key_that_the_server_says_back_is_not_shown() -> None:
    one = head(sent(side()))
    body(one, 100, token(f"you are {SECRET}!"))
    assert one.progress(START_NS + 110 * MS)["events"] == [[100.0, "answer", "you are [redacted]!"]]
    for number, piece in enumerate(("and ", SECRET[:2], SECRET[2:9], SECRET[9:], " it is")):
        body(one, 200 + number, token(piece))
        shown = one.progress(START_NS + 300 * MS)["events"]
        # What could become the key waits for the next piece.
        assert bool(shown) == (number in (0, 1, 3, 4))
        assert [text for _, _, text in shown] == {
            0: ["and "],
            1: ["sk"],
            3: ["[redacted]", ""],
            4: [" it is"],
        }.get(number, [])


def test_an_error_in_the_stream_goes_before_the_broken_connection() -> None:
    one = head(sent(side()))
    body(one, 100, token("a") + event({"error": {"message": "out of memory"}}))
    end(one, 120, "truncated", "closed")
    assert (one.figures().outcome, "out of memory" in str(one.figures().error)) == ("error_in_stream", True)


def test_a_refused_field_is_left_out_and_it_is_asked_again() -> None:
    one = head(sent(side()), 400, "application/json")
    assert "stream_options" in json.loads(one.order()["body"])
    body(one, 60, json.dumps({"error": {"message": "unknown field stream_options"}}).encode())
    end(one, 61)
    assert one.ask_again()
    assert "stream_options" not in json.loads(one.order()["body"])
    assert (one.sent_ns, one.end, one.chunks) == (None, None, [])
    sent(one)
    head(one)
    body(one, 80, token("a"))
    body(one, 90, token("b"))
    body(one, 95, finished())
    assert one.close_at_marker()
    assert one.figures().ttft_ms == 80.0
    assert "asked twice" in one.notes[0]


def test_a_refusal_about_something_else_is_its_end() -> None:
    one = head(sent(side()), 400, "application/json")
    body(one, 60, b'{"error": {"message": "prompt too long"}}')
    end(one, 61)
    assert not one.ask_again()


@pytest.mark.parametrize(
    ("protocol", "path", "header"),
    [
        ("openai-chat", "/v1/chat/completions", ["authorization", f"Bearer {SECRET}"]),
        ("openai-completions", "/v1/completions", ["authorization", f"Bearer {SECRET}"]),
        ("openai-responses", "/v1/responses", ["authorization", f"Bearer {SECRET}"]),
        ("anthropic-messages", "/v1/messages", ["x-api-key", SECRET]),
    ],
)
def test_the_order_of_each_protocol(protocol: Protocol, path: str, header: list[str]) -> None:
    order = side(protocol).order()
    assert order["path"] == path
    assert header in order["headers"]
    written = json.loads(order["body"])
    assert (written["model"], written["stream"]) == ("tiny", True)
    assert 64 in written.values()
    assert order["most_bytes"] == MOST_BYTES

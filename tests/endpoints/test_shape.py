"""Documents that the load generator reads, and those that it does not."""

import re
from typing import Any

import pytest

from paceline.endpoints.shape import error_in, malformed, read_json


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"choices": None, "usage": [1], "id": None},
        {"choices": [{"index": 0, "delta": None, "finish_reason": None}]},
        {"choices": [{"delta": {"content": "\U0001f600", "tool_calls": [{"function": {"arguments": ""}}]}}]},
        {"choices": [{"delta": {"content": [{"type": "thinking", "thinking": [{"text": "hm"}]}]}}]},
        {"choices": [{"text": "a", "message": 3}], "unknown": {"\ud800": 1}},
        {"error": "out of memory", "choices": [{"delta": 3}]},
    ],
)
def test_what_can_be_read(document: Any) -> None:
    assert malformed(document, streaming=True) is None


@pytest.mark.parametrize(
    ("document", "why"),
    [
        ([], "it is a list, not an object"),
        (None, "it is null, not an object"),
        ({"choices": {}}, "choices is an object, not a list"),
        ({"choices": [1]}, r"choices\[0\] is a number, not an object"),
        ({"id": True}, "id is true or false, not a string"),
        ({"choices": [{"finish_reason": {"type": "stop"}}]}, r"choices\[0\]\.finish_reason is an object"),
        ({"choices": [{"delta": []}]}, r"choices\[0\]\.delta is a list"),
        ({"choices": [{"delta": {"content": "\ud800"}}]}, r"delta\.content holds half of a surrogate"),
        ({"choices": [{"delta": {"content": [{"text": 1}]}}]}, r"content\[0\]\.text is a number"),
        ({"choices": [{"delta": {"tool_calls": [{"function": {"arguments": {}}}]}}]}, "arguments is an"),
    ],
)
def test_what_cannot_be_read_is_named(document: Any, why: str) -> None:
    said = malformed(document, streaming=True)
    assert said is not None
    assert re.search(why, said)


def test_a_whole_answer_has_a_message_in_place_of_a_delta() -> None:
    document = {"choices": [{"message": 1, "delta": {}}]}
    assert malformed(document, streaming=True) is None
    assert malformed(document, streaming=False) == "choices[0].message is a number, not an object"


@pytest.mark.parametrize("text", ["[" * 100_000 + "]" * 100_000, '{"a": NaN}', "-Infinity", "{", ""])
def test_what_is_not_json(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_json(text)


@pytest.mark.parametrize(
    ("document", "error"),
    [
        ({"error": {"message": "no"}}, {"message": "no"}),
        ({"object": "error", "message": "no"}, "no"),
        ({"choices": [{"error": "gone"}]}, "gone"),
        ({"choices": [{"finish_reason": "abort"}]}, "a choice ended with finish_reason 'abort'"),
        ({"detail": "no"}, {"detail": "no"}),
        ({"type": "error"}, {"type": "error"}),
        ({"error": None, "choices": [{"finish_reason": "stop"}]}, None),
        ({"choices": [], "usage": {}, "detail": "x"}, None),
        ({"type": "ping"}, None),
    ],
)
def test_errors_are_known_by_any_of_their_forms(document: dict[str, Any], error: Any) -> None:
    assert error_in(document) == error

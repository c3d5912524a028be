"""Judging answers, without a server."""

import json

import pytest

from paceline.endpoints.answer import Answer, error_text, read_answer
from paceline.endpoints.client import Reply
from paceline.endpoints.target import Target
from paceline.errors import EndpointError
from paceline.measure.border import core_observe

TARGET = Target.parse("http://h", headers=["x-key: secret-value"])


def reply(body: str, kind: str = "text/event-stream") -> Reply:
    return Reply(200, {"content-type": kind}, (body.encode(),), 1.0)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ('{"error": {"message": "no  such\\nthing"}}', "no such thing"),
        ('{"error": "plain"}', "plain"),
        ('{"message": "outer"}', "outer"),
        ('{"detail": "Not Found"}', "Not Found"),
        ('{"detail": [{"msg": "field required"}]}', '[{"msg": "field required"}]'),
        ('{"error": {"code": 3}}', '{"code": 3}'),
        ("<html>\n bad gateway", "<html> bad gateway"),
        ("", ""),
    ],
)
def test_the_message_is_found_in_the_shapes_that_servers_use(body: str, said: str) -> None:
    assert error_text(body, TARGET) == said


def test_a_long_page_is_cut() -> None:
    assert len(error_text("x" * 10_000, TARGET)) == 200


@pytest.mark.parametrize("before", [60, 72, 190, 196, 390, 396])
@pytest.mark.parametrize("shape", ["SAID", '{"error": {"message": "SAID"}}', '{"detail": [{"msg": "SAID"}]}'])
def test_a_secret_at_the_cut_is_not_shown_in_part(shape: str, before: int) -> None:
    body = shape.replace("SAID", "x" * before + " secret-value")
    assert "secr" not in error_text(body, TARGET)
    with pytest.raises(EndpointError) as caught:
        read_answer(reply(body), TARGET, streaming=True, reader=core_observe)
    assert "secr" not in f"{caught.value.message}{caught.value.hint}"


@pytest.mark.parametrize(
    "choice",
    [
        {"delta": {"content": "a"}},
        {"delta": {"reasoning_content": "a"}},
        {"delta": {"reasoning": "a"}},
        {"delta": {"tool_calls": [{"function": {"arguments": "{"}}]}},
    ],
)
def test_every_kind_of_token_counts(choice: object) -> None:
    body = "data: " + json.dumps({"model": "m", "choices": [choice]}) + "\n\ndata: [DONE]\n\n"
    assert read_answer(reply(body), TARGET, streaming=True, reader=core_observe) == Answer(
        "m", usage=False, generated=True
    )


def test_role_usage_comments_and_the_end_marker_are_no_tokens() -> None:
    body = (
        ": hello\n\n"
        'data: {"choices": [{"delta": {"role": "assistant", "content": ""}}]}\n\n'
        'data: {"choices": [], "usage": {"completion_tokens": 0}}\n\n'
        "data: [DONE]\n\n"
    )
    assert read_answer(reply(body), TARGET, streaming=True, reader=core_observe) == Answer(
        None, usage=True, generated=False
    )


def test_what_the_server_says_back_is_redacted() -> None:
    for streaming in (True, False):
        with pytest.raises(EndpointError) as caught:
            read_answer(reply("got secret-value", "text/plain"), TARGET, streaming, core_observe)
        assert "secret-value" not in caught.value.message
        assert "[redacted]" in caught.value.message

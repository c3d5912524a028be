"""Turns as data sets and the three protocols write them."""

import json
from typing import Any

import pytest

from paceline.workloads.datasets.messages import PART_LEFT_OUT, TOOL_CALLS, TOOL_RESULT, read_turns
from paceline.workloads.datasets.record import Said
from paceline.workloads.read_report import RowError

PNG = "data:image/png;base64,AAAA"


def test_both_ways_to_write_a_turn() -> None:
    said, changes = read_turns([{"from": "human", "value": "q"}, {"from": "gpt", "value": "a"}], "c")
    assert said == [Said("user", "q"), Said("assistant", "a")]
    assert changes == set()
    assert read_turns([{"role": "USER", "content": "q"}, {"role": "developer", "content": "s"}], "c")[0] == [
        Said("user", "q"),
        Said("system", "s"),
    ]
    assert read_turns(json.dumps([{"role": "user", "content": "q"}]), "c")[0] == [Said("user", "q")]


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image_url", "image_url": {"url": PNG}},
        {"type": "input_image", "image_url": PNG},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
    ],
)
def test_pictures_of_the_three_protocols(part: dict[str, Any]) -> None:
    said, changes = read_turns([{"role": "user", "content": [{"type": "text", "text": "see"}, part]}], "c")
    assert said == [Said("user", "see", (PNG,))]
    assert changes == set()


def test_what_is_changed_is_told() -> None:
    call = [{"id": "1", "function": {"name": "f", "arguments": "{}"}}]
    said, changes = read_turns(
        [
            {
                "role": "user",
                "content": [
                    {"type": "input_audio", "input_audio": {}},
                    {"type": "image_url", "image_url": {"url": "data:image/svg+xml,<svg/>"}},
                    {"type": "text", "text": "x"},
                ],
            },
            {"role": "assistant", "content": None, "tool_calls": call},
            {"role": "tool", "content": "42"},
            {"role": "assistant", "content": ""},
        ],
        "c",
    )
    assert said == [Said("user", "x"), Said("assistant", json.dumps(call)), Said("user", "42")]
    assert changes == {PART_LEFT_OUT, TOOL_CALLS, TOOL_RESULT}


def test_tools_of_the_messages_protocol() -> None:
    said, changes = read_turns(
        [
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "1", "name": "f", "input": {"a": 1}}],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "1", "content": "42"},
                ],
            },
        ],
        "c",
    )
    assert [json.loads(said[0].text), said[1].text] == [{"name": "f", "input": {"a": 1}}, "42"]
    assert changes == {TOOL_CALLS, TOOL_RESULT}


@pytest.mark.parametrize(
    ("turns", "reason"),
    [
        (5, "`c` is no list of turns"),
        ("hello", "`c` is no list of turns"),
        ("[" * 100_000, "`c` is no list of turns"),
        ([], "`c` has no turn with text"),
        (["hello"], "a turn is no object"),
        ([{"content": "x"}], "a turn has no known role"),
        ([{"role": "wizard", "content": "x"}], "a turn has no known role"),
        ([{"role": 5, "content": "x"}], "a turn has no known role"),
        ([{"role": "user", "content": 5}], "a turn's content is neither text nor a list of parts"),
        ([{"role": "user", "content": [5]}], "a part of a turn is no object"),
        ([{"role": "user", "content": "\ud800"}], "not text: has half of a surrogate pair"),
    ],
)
def test_what_is_no_turn(turns: Any, reason: str) -> None:
    with pytest.raises(RowError) as error:
        read_turns(turns, "c")
    assert error.value.reason == reason

"""`[[call]]`: what hangs together and what does not."""

from typing import Any

import pytest
from pydantic import ValidationError

from paceline.workloads.calls import CallSpec, check_calls


def calls(*given: dict[str, Any]) -> tuple[CallSpec, ...]:
    return tuple(CallSpec.model_validate(one) for one in given)


def test_the_defaults_are_one_more_turn_of_the_conversation() -> None:
    call = CallSpec(name="a")
    assert (str(call.repeat), call.parallel, call.after, call.history) == ("1", False, None, "all")
    assert (call.prompt_tokens, call.output_tokens, str(call.wait_ms), call.hang_up_ms) == (
        None,
        None,
        "0",
        None,
    )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (({"name": "a"}, {"name": "a"}), "two calls 'a'"),
        (({"name": "a", "after": ["b"]}, {"name": "b"}), "the calls before it are: none"),
        (({"name": "a", "after": ["a"]},), "'a' is after 'a'"),
        (({"name": "a"}, {"name": "b", "after": ["a", "c"]}), "'b' is after 'c'; the calls before it are: a"),
        (({"name": "a", "repeat": 1000}, {"name": "b", "repeat": "uniform:1:25"}), "1,025 calls"),
    ],
)
def test_calls_that_cannot_be_put_in_order(given: tuple[dict[str, Any], ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_calls(calls(*given))


def test_the_most_calls_and_several_that_are_awaited() -> None:
    check_calls(calls({"name": "a", "repeat": 1000}, {"name": "b", "repeat": "choice:3,24", "after": []}))
    check_calls(calls({"name": "a"}, {"name": "b", "after": []}, {"name": "c", "after": ["a", "b"]}))


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": "two words"},
        {"name": ""},
        {"name": "a.b"},
        {"name": "a", "repeat": "normal:3:1"},
        {"name": "a", "repeat": "lognormal:3:1"},
        {"name": "a", "repeat": 0},
        {"name": "a", "wait": "nap"},
        {"name": "a", "history": "some"},
        {"name": "a", "repeat_prompt": 1.5},
        {"name": "a", "images": {"count": 99}},
        {"name": "a", "images": {"width_px": 9999}},
        {"name": "a", "hang_up_ms": -1},
        {"name": "a", "colour": 1},
    ],
)
def test_what_is_no_call_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        CallSpec.model_validate(wrong)

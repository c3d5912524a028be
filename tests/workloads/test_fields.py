from typing import Any

import pytest

from paceline.errors import ConfigError
from paceline.workloads.fields import with_fields

WORKLOAD = {
    "prompt_tokens": "512",
    "call": [{"name": "plan"}, {"name": "step", "repeat": "30"}],
    "data": None,
}


def test_fields_are_set_at_any_depth_and_the_given_workload_stays() -> None:
    found = with_fields(
        WORKLOAD,
        [
            "prompt_tokens=uniform:1:9",
            "call.step.repeat=3",
            "extra.top_k=40",
            "data.path=a=b.jsonl",
            "stream=true",
        ],
    )
    assert found == {
        "prompt_tokens": "uniform:1:9",
        "call": [{"name": "plan"}, {"name": "step", "repeat": 3}],
        "extra": {"top_k": 40},
        "data": {"path": "a=b.jsonl"},
        "stream": True,
    }
    assert WORKLOAD["call"] == [{"name": "plan"}, {"name": "step", "repeat": "30"}]


@pytest.mark.parametrize(
    ("workload", "setting"),
    [
        ({"call": [{"name": "a", "prompt_tokens": "3"}]}, "prompt_tokens=5"),
        ({"call": [{"name": "a", "output_tokens": "3"}]}, "output_tokens=5"),
        ({"trace": {"path": "t"}}, "output_tokens=5"),
        ({"data": {"path": "d"}}, "prompt_tokens=5"),
    ],
)
def test_a_field_that_would_change_nothing_is_refused(workload: dict[str, Any], setting: str) -> None:
    with pytest.raises(ConfigError, match="would change nothing"):
        with_fields(workload, [setting])


def test_a_field_that_some_call_takes_over_is_taken() -> None:
    workload = {"call": [{"name": "a", "prompt_tokens": "3"}, {"name": "b", "prompt_tokens": None}]}
    assert with_fields(workload, ["prompt_tokens=5"])["prompt_tokens"] == 5
    assert with_fields({"data": {"path": "d"}}, ["output_tokens=5"])["output_tokens"] == 5


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("prompt_tokens", "is not NAME=VALUE"),
        ("=3", "is not NAME=VALUE"),
        ("call.stop.repeat=3", "there is no call 'stop'"),
        ("prompt_tokens.x=3", "no field"),
        ("prompt_tokens.x.y=3", "nothing can be set there"),
        ("call.=3", "no field"),
        ("call.step=3", "no field"),
    ],
)
def test_what_is_no_field_is_said(setting: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        with_fields(WORKLOAD, [setting])

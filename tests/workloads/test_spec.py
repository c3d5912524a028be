"""`paceline.workload/1`: what it takes, what it refuses, and that it comes back as it was written."""

import json
from typing import Any

import pytest
from pydantic import ValidationError

from paceline.errors import ConfigError
from paceline.workloads.spec import WorkloadSpec


def test_the_defaults() -> None:
    spec = WorkloadSpec()
    assert spec.unique_prefix
    assert spec.streaming
    assert (str(spec.prompt_tokens), str(spec.output_tokens), spec.max_tokens) == ("512", "128", None)


def test_it_is_read_back_as_it_was_written() -> None:
    call = {
        "name": "ask",
        "repeat": "uniform:2:4",
        "parallel": True,
        "after": [],
        "prompt_tokens": "40",
        "output_tokens": "20",
        "wait_ms": "0.5",
        "wait": "tool",
        "history": "none",
        "hang_up_ms": "lognormal:900:0.3",
        "repeat_prompt": 0.5,
        "images": {"count": 2, "width_px": 64, "height_px": 32},
    }
    data = {
        "schema": "paceline.workload/1",
        "name": "mine",
        "about": "What I do.",
        "prompt_tokens": "lognormal:512:0.5",
        "output_tokens": None,
        "max_tokens": 64,
        "exact_output": True,
        "shared_prefix_tokens": 100,
        "cached_share": 0.0,
        "unique_prefix": False,
        "prefix_salt": 5,
        "system": "Be kind.",
        "tokenizer": "words",
        "seed": 12,
        "temperature": 0.0,
        "streaming": True,
        "stream_usage": False,
        "extra": {"ignore_eos": True, "stop": ["x"]},
        "slo": {"ttft_ms": 500.0},
        "job_slo": {"job_ms": 9000.0},
        "reading_tok_s": 4.0,
        "jobs_per_day": 300.0,
        "worth_usd_per_hour": 60.0,
        "call": [call],
        "data": None,
        "trace": None,
        "probe": None,
        "equivalence": None,
    }
    spec = WorkloadSpec.parse(data)
    assert spec.to_dict() == data
    assert WorkloadSpec.parse(json.loads(json.dumps(spec.to_dict()))) == spec


def test_a_spec_that_was_stored_before_there_were_jobs_is_read() -> None:
    stored: dict[str, Any] = {
        "schema": "paceline.workload/1",
        "prompt_tokens": "512",
        "output_tokens": "128",
        "max_tokens": None,
        "shared_prefix_tokens": 0,
        "unique_prefix": True,
        "prefix_salt": 7,
        "system": None,
        "tokenizer": None,
        "seed": 1,
        "temperature": None,
        "streaming": True,
        "stream_usage": True,
        "extra": {},
    }
    assert WorkloadSpec.parse(stored) == WorkloadSpec(prefix_salt=7, seed=1)


def test_lengths_may_be_numbers() -> None:
    assert WorkloadSpec.parse({"prompt_tokens": 7}).to_dict()["prompt_tokens"] == "7"


@pytest.mark.parametrize(
    ("data", "message", "hint"),
    [
        ({"promt_tokens": 1}, "unknown key `promt_tokens`", "did you mean `prompt_tokens`?"),
        ({"colour": 1}, "unknown key `colour`", "keys are: schema, name, about, prompt_tokens"),
        ({"prompt_tokens": "uniform:9:3"}, "`prompt_tokens`: the lower end 9", "uniform:LOW:HIGH"),
        ({"prompt_tokens": 0}, "`prompt_tokens`: 0 is not between", "write"),
        ({"output_tokens": [3]}, "`output_tokens`: [3] is not a length", "lognormal:MEDIAN"),
        ({"schema": "paceline.workload/9"}, "`schema`", ""),
        ({"max_tokens": 0}, "`max_tokens`", ""),
        ({"shared_prefix_tokens": -1}, "`shared_prefix_tokens`", ""),
        ({"seed": -1}, "`seed`", ""),
        ({"temperature": float("nan")}, "`temperature`", ""),
        ({"extra": {"stream": True}}, "`stream` is set by streaming", ""),
        ({"extra": {"n": 2}}, "`n` cannot be measured", ""),
        ({"extra": {"x": {1, 2}}}, "not JSON", ""),
        ({"extra": {"max_output_tokens": 3}}, "`max_output_tokens` is set by", ""),
        ({"cached_share": 1.0}, "`cached_share`", ""),
        ({"cached_share": 0.5, "shared_prefix_tokens": 5}, ": `cached_share` and", ""),
        ({"slo": {"ttft_ms": 0}}, "`slo.ttft_ms`", ""),
        ({"job_slo": {"jobms": 5}}, "`job_slo.jobms", ""),
        ({"worth_usd_per_hour": "x"}, "`worth_usd_per_hour`", ""),
        ({"streaming": False, "call": [{"name": "a", "hang_up_ms": 5}]}, "`streaming` is false", ""),
        ({"output_tokens": None, "call": [{"name": "a", "repeat_prompt": 1}]}, "give `output_tokens`", ""),
    ],
)
def test_what_is_wrong_is_named_with_a_hint(data: dict[str, Any], message: str, hint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        WorkloadSpec.parse(data, "workload.toml")
    assert caught.value.message.startswith("workload.toml: ")
    assert message in caught.value.message
    assert hint in (caught.value.hint or "")


def test_all_mistakes_are_named_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        WorkloadSpec.parse({"seeed": 1, "prompt_tokens": "x", "max_tokens": -1})
    for part in ("`seeed`", "`prompt_tokens`", "`max_tokens`"):
        assert part in caught.value.message


def test_a_fresh_workload_differs_in_its_salt_alone() -> None:
    spec = WorkloadSpec(seed=4)
    first, second = spec.fresh(), spec.fresh()
    assert len({spec.prefix_salt, first.prefix_salt, second.prefix_salt}) == 3
    assert first.model_copy(update={"prefix_salt": 0}) == spec
    assert WorkloadSpec.parse(first.to_dict()) == first


def test_it_cannot_change_after_a_run_was_made_of_it() -> None:
    with pytest.raises(ValidationError):
        WorkloadSpec().seed = 3

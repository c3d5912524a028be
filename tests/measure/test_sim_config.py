import json
from pathlib import Path
from typing import Any

import pytest

from paceline import _core
from paceline.errors import ConfigError
from paceline.measure.sim_config import FAULT_KINDS, METRICS, SimOptions, parse_fault, sim_config


def test_nothing_said_is_the_engines_own_default() -> None:
    assert sim_config(SimOptions()) == {"listen": "127.0.0.1:0", "seed": 1, "mode": "exact", "exact": {}}


@pytest.mark.parametrize(
    ("options", "place", "expected"),
    [
        ({"ttft": "50ms", "itl": "0", "stalls": ("10:500ms",)}, "exact",
         {"ttft_us": 50_000, "itl_us": 0, "stalls": [{"after_tokens": 10, "stall_us": 500_000}]}),
        ({"tokens_per_event": 4, "output_tokens": 8, "reasoning_tokens": 2, "tool_tokens": 2}, "exact",
         {"tokens_per_event": 4, "output_tokens": 8, "reasoning_tokens": 2, "tool_tokens": 2}),
        ({"role_first": False, "usage": "each", "token_ids": True, "empty_first_events": 2}, "exact",
         {"role_first": False, "usage": "each", "token_ids": True, "empty_first_events": 2}),
        ({"prefix_cache": True, "prefix_cache_blocks": 9, "ttft_per_uncached_token": "125us"}, "exact",
         {"prefix_cache": True, "prefix_cache_blocks": 9, "ttft_us_per_uncached_token": 125}),
        ({"cached_tokens": 12}, "exact", {"cached_tokens": 12}),
        ({"server_model": "small", "service_tier": "echo", "speed": "standard"}, "exact",
         {"server_model": "small", "service_tier": "echo", "speed": "standard"}),
        ({"mode": "engine", "slots": 4, "prefill_tok_s": 1e4, "prefill_base": "1ms",
          "decode_step_base": "7ms",
          "decode_step_per_seq": "250us", "spec_burst": "4:0.6", "queue_limit": 9, "prefix_cache": False,
          "prefix_cache_blocks": 5, "cached_prefill_share": 0.1, "output_tokens": 8, "reasoning_tokens": 2},
         "engine",
         {"slots": 4, "prefill_tok_s": 1e4, "prefill_base_us": 1_000, "decode_step_base_us": 7_000,
          "decode_step_per_seq_us": 250, "spec_burst": {"max_tokens": 4, "acceptance": 0.6}, "queue_limit": 9,
          "prefix_cache": False, "prefix_cache_blocks": 5, "cached_prefill_share": 0.1, "output_tokens": 8,
          "reasoning_tokens": 2}),
    ],
)  # fmt: skip
def test_flags_become_keys_that_the_engine_takes(
    options: dict[str, Any], place: str, expected: dict[str, Any]
) -> None:
    config = sim_config(SimOptions(**options))
    assert config[place] == expected
    _core.Sim(json.dumps(config))


def test_flags_of_the_whole_engine_are_keys_of_the_document() -> None:
    config = sim_config(
        SimOptions(
            metrics="llama.cpp", rate_limit="requests=60,tokens=900", cancel_delay="5ms",
            ignore_half_close=True, image_tokens=100, embedding_dimensions=8,
        )
    )  # fmt: skip
    assert config.items() >= {
        "metrics": "llama.cpp", "rate_limit": {"requests_per_min": 60, "tokens_per_min": 900},
        "cancel_delay_us": 5_000, "ignore_half_close": True, "image_tokens": 100, "embedding_dimensions": 8,
    }.items()  # fmt: skip
    _core.Sim(json.dumps(config))


def test_a_timeline_is_read_from_its_file(tmp_path: Path) -> None:
    stages = [{"at_ms": 5, "exact": {"ttft_us": 9}}, {"after_requests": 3, "fault": None}]
    path = tmp_path / "stages.json"
    path.write_text(json.dumps(stages))
    config = sim_config(SimOptions(timeline=path))
    assert config["timeline"] == stages
    _core.Sim(json.dumps(config))


@pytest.mark.parametrize(("text", "named"), [("{", "is not JSON"), ("{}", "is not a list")])
def test_a_file_that_is_no_timeline_is_named(tmp_path: Path, text: str, named: str) -> None:
    path = tmp_path / "stages.json"
    path.write_text(text)
    with pytest.raises(ConfigError) as error:
        sim_config(SimOptions(timeline=path))
    assert named in error.value.message
    assert str(path) in error.value.message


@pytest.mark.parametrize("name", METRICS)
def test_every_flavour_of_metrics_is_one_of_the_engines(name: str) -> None:
    _core.Sim(json.dumps(sim_config(SimOptions(metrics=name))))


@pytest.mark.parametrize("kind", FAULT_KINDS)
def test_every_kind_of_fault_is_one_of_the_engines(kind: str) -> None:
    config = sim_config(SimOptions(fault=f"{kind}:after_events=2,share=0.5"))
    assert config["fault"] == {"kind": kind, "after_events": 2, "share": 0.5}
    _core.Sim(json.dumps(config))


def test_the_listed_kinds_are_all_that_the_engine_has() -> None:
    with pytest.raises(ValueError, match="gremlin") as error:
        _core.Sim(json.dumps({"fault": {"kind": "gremlin"}}))
    assert [kind for kind in FAULT_KINDS if f"`{kind}`" not in str(error.value)] == []
    assert str(error.value).count("`") == 2 * (len(FAULT_KINDS) + 1)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"mode": "turbo"}, "turbo"),
        ({"port": 70_000}, "70000"),
        ({"mode": "engine", "itl": "5ms"}, "--itl"),
        ({"slots": 4}, "--slots"),
        ({"mode": "engine", "ttft_per_uncached_token": "5us"}, "--ttft-per-uncached-token"),
        ({"mode": "engine", "cached_tokens": 5}, "--cached-tokens"),
        ({"timeline": Path("/no/such.json")}, "--timeline"),
        ({"metrics": "triton"}, "triton"),
        ({"rate_limit": "60"}, "requests=NUMBER"),
        ({"rate_limit": "requests=few"}, "requests=NUMBER"),
        ({"mode": "exact", "decode_step_base": "5ms"}, "--decode-step-base"),
        ({"ttft": "50"}, "--ttft"),
        ({"stalls": ("500ms",)}, "TOKENS:DURATION"),
        ({"mode": "engine", "spec_burst": "fast"}, "TOKENS:ACCEPTANCE"),
        ({"fault": "gremlin"}, "gremlin"),
        ({"fault": "cut:after_events"}, "NAME=NUMBER"),
        ({"fault": "cut:after_events=few"}, "NAME=NUMBER"),
        ({"tls_cert": Path("/no/such.pem")}, "--tls-cert"),
    ],
)
def test_what_cannot_be_meant_is_named(options: dict[str, Any], named: str) -> None:
    with pytest.raises(ConfigError) as error:
        sim_config(SimOptions(**options))
    assert named in error.value.message


def test_a_fault_may_have_no_parameters() -> None:
    assert parse_fault("empty") == {"kind": "empty"}


def test_known_answers_are_read_from_their_file(tmp_path: Path) -> None:
    answers = [{"prompt": "3 + 4?", "answer": "Answer: 7"}, {"prompt_sha256": "0" * 64, "answer": "x"}]
    path = tmp_path / "answers.jsonl"
    path.write_text("\n".join(json.dumps(one) for one in answers) + "\n\n")
    config = sim_config(SimOptions(answers=path, quality=0.8))
    assert (config["answers"], config["quality"]) == (answers, 0.8)
    _core.Sim(json.dumps(config))


@pytest.mark.parametrize(
    ("text", "options", "named"),
    [
        ('{"prompt": "a", "answer": "b"}\n{', {}, "line 2 is not JSON"),
        ("[" * 100_000, {}, "is not JSON"),
        (None, {"quality": 0.5}, "--answers"),
        (None, {"answers": Path("/no/such.jsonl")}, "--answers"),
    ],
)
def test_answers_that_cannot_be_read_are_named(
    tmp_path: Path, text: str | None, options: dict[str, Any], named: str
) -> None:
    path = tmp_path / "answers.jsonl"
    if text is not None:
        path.write_text(text)
        options = {"answers": path, **options}
    with pytest.raises(ConfigError) as error:
        sim_config(SimOptions(**options))
    assert named in f"{error.value.message} {error.value.hint}"


def test_the_engine_refuses_answers_that_make_no_sense() -> None:
    for config, named in (
        ({"answers": [{"answer": "b"}]}, "prompt_sha256"),
        ({"answers": [{"prompt": "a", "answer": "b"}], "exact": {"output_tokens": 1}}, "words"),
        ({"quality": 2}, "quality"),
    ):
        with pytest.raises(ValueError, match=named):
            _core.Sim(json.dumps(config))

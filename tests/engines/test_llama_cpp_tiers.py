"""Tiers follow the machine, the model and the build; each setting says why."""

from dataclasses import replace
from pathlib import Path

import pytest

from paceline.engines import llama_cpp_tiers
from paceline.engines.llama_cpp_memory import needs_bytes
from paceline.engines.llama_cpp_options import Options, read_help
from paceline.engines.llama_cpp_tiers import tier_settings
from paceline.engines.machine import Gpu, Machine
from paceline.weights.model import ModelFacts
from paceline.weights.read import read_model
from tests.engines.test_llama_cpp_options import HELP, OLDER
from tests.support.models import write_gguf

GIB = 1 << 30
SMALL = Machine(2, 24 * GIB, 20 * GIB)
BIG = Machine(64, 512 * GIB, 500 * GIB)
ACCELERATED = Machine(16, 128 * GIB, 120 * GIB, (Gpu("H200", 140 * GIB, 139 * GIB, "9.0"),))


@pytest.fixture(scope="module")
def options() -> Options:
    found = read_help(HELP.read_text())
    assert found is not None
    return found


@pytest.fixture(autouse=True)
def kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llama_cpp_tiers, "huge_pages", lambda: True)


@pytest.fixture
def facts(tmp_path: Path) -> ModelFacts:
    return read_model(write_gguf(tmp_path / "model.gguf"))


def test_standard_is_for_many_at_once(options: Options, facts: ModelFacts) -> None:
    made = tier_settings("standard", facts, SMALL, options)
    assert made.values["parallel"] == 4
    # Four requests of the whole 2,048 tokens that the model was trained for.
    assert made.values["ctx-size"] == 4 * 2048
    assert made.values["kv-unified"] is True
    assert made.values["cont-batching"] is True
    assert made.values["threads"] == 2
    assert made.values["metrics"] is True
    assert "spec-type" not in made.values
    assert tier_settings("standard", facts, BIG, options).values["parallel"] == 16


def test_fast_is_for_one_stream(options: Options, facts: ModelFacts) -> None:
    made = tier_settings("fast", facts, SMALL, options)
    assert made.values["parallel"] == 1
    assert made.values["ctx-size"] == 2048
    assert made.values["spec-type"] == "ngram-mod"
    # Answers are to stay: the cache is as exact as by default.
    assert (made.values["cache-type-k"], made.values["cache-type-v"]) == ("f16", "f16")
    assert tier_settings("ultra", facts, SMALL, options) == made


def test_with_a_sliding_window_fast_has_the_slots_of_standard(options: Options, facts: ModelFacts) -> None:
    sliding = replace(facts, sliding_window=512, sliding=(True, False))
    for machine in (SMALL, BIG, ACCELERATED):
        standard = tier_settings("standard", sliding, machine, options).values
        fast = tier_settings("fast", sliding, machine, options).values
        for name in ("parallel", "kv-unified", "ctx-size"):
            assert fast[name] == standard[name]


def test_no_tier_changes_how_prompts_are_split(options: Options, facts: ModelFacts) -> None:
    for tier in ("standard", "fast"):
        for machine in (SMALL, ACCELERATED):
            made = tier_settings(tier, facts, machine, options).values
            assert not {"batch-size", "ubatch-size"} & set(made)


def test_every_setting_says_why(options: Options, facts: ModelFacts) -> None:
    for tier in ("standard", "fast", "ultra"):
        for machine in (SMALL, BIG, ACCELERATED):
            made = tier_settings(tier, facts, machine, options)
            assert set(made.why) == set(made.values)
            assert all(made.why.values())
            assert all(name in options for name in made.values)


def test_the_models_own_heads_draft(options: Options, facts: ModelFacts) -> None:
    made = tier_settings("fast", replace(facts, extra_heads=1), SMALL, options)
    assert made.values["spec-type"] == "draft-mtp"
    assert "spec-ngram-mod-n-max" not in made.values


def test_memory_bounds_the_context_and_with_it_the_slots(options: Options, facts: ModelFacts) -> None:
    # A cache of 1 MiB a token.
    wide = replace(facts, kv_heads=(64, 64), key_dim=2048, value_dim=2048, context_tokens=131_072)
    machine = Machine(16, 16 * GIB, 5 * GIB)
    made = tier_settings("standard", wide, machine, options)
    cells = made.values["ctx-size"]
    assert isinstance(cells, int)
    assert 1 << 20 < needs_bytes(wide, made.values) <= 0.8 * 5 * GIB
    assert cells >= 2048
    assert made.values["parallel"] == max(1, cells // 2048)
    assert "memory holds no more" in made.why["ctx-size"]
    assert made.needs_bytes == needs_bytes(wide, made.values)


def test_a_model_that_a_gpu_holds_goes_there_whole(options: Options, facts: ModelFacts) -> None:
    assert tier_settings("fast", facts, ACCELERATED, options).values["gpu-layers"] == "all"
    little = replace(ACCELERATED, gpus=(Gpu("small", GIB, facts.weight_bytes, "8.6"),))
    # Else the engine finds how many layers fit.
    assert "gpu-layers" not in tier_settings("fast", facts, little, options).values


def test_weights_lie_in_huge_pages_where_the_kernel_has_them(
    monkeypatch: pytest.MonkeyPatch, options: Options, facts: ModelFacts
) -> None:
    older = read_help(OLDER)
    for tier in ("standard", "fast"):
        assert tier_settings(tier, facts, SMALL, options).values["load-mode"] == "none"
        assert tier_settings(tier, facts, SMALL, older).values["no-mmap"] is True
        # The weights are not in this memory.
        assert "load-mode" not in tier_settings(tier, facts, ACCELERATED, options).values
    monkeypatch.setattr(llama_cpp_tiers, "huge_pages", lambda: False)
    assert "load-mode" not in tier_settings("fast", facts, SMALL, options).values


def test_prompts_are_kept_in_a_part_of_what_is_left(options: Options, facts: ModelFacts) -> None:
    # An eighth of 24 GiB is 3 GiB, the power of two below is 2 GiB.
    assert tier_settings("fast", facts, SMALL, options).values["cache-ram"] == 2048
    # The default, which needs not be said.
    assert "cache-ram" not in tier_settings("fast", facts, BIG, options).values
    assert tier_settings("fast", facts, Machine(2, GIB, 1 << 20), options).values["cache-ram"] == 0


def test_an_older_build_gets_what_it_has(facts: ModelFacts) -> None:
    older = read_help(OLDER)
    assert older is not None
    # Its flash attention is a switch, and `all` layers a number.
    assert tier_settings("fast", facts, ACCELERATED, older).values == {
        "gpu-layers": 999,
        "flash-attn": True,
    }


def test_a_build_that_tells_nothing_gets_what_all_have(facts: ModelFacts) -> None:
    made = tier_settings("fast", facts, SMALL, None)
    assert made.values["parallel"] == 1
    assert "spec-type" not in made.values
    assert "no-mmap" not in made.values


def test_a_model_that_is_a_name_has_no_context_set(options: Options) -> None:
    made = tier_settings("standard", None, SMALL, options)
    assert "ctx-size" not in made.values
    assert made.needs_bytes is None

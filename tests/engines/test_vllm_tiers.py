"""What the tiers set on vLLM."""

import pytest

from paceline.engines.python_options import options_of
from paceline.engines.vllm_tiers import cpu_settings, gpu_settings
from paceline.errors import ConfigError
from tests.support.big_models import GIB, machine, model

DRAFT = "speculative-config"


def test_standard_is_for_many_streams() -> None:
    made = gpu_settings("standard", model(16 * 10**9), machine(1, 80))
    assert made.values == {"performance-mode": "throughput", "max-num-seqs": 107}
    # (80 GiB x (0.92 - 0.06) - 16 GB) / (4096 tokens x 131,072 bytes).
    assert made.values["max-num-seqs"] == int((80 * GIB * 0.86 - 16 * 10**9) / (4096 * 131_072))


def test_standard_copies_a_small_model_over_the_gpus() -> None:
    made = gpu_settings("standard", model(16 * 10**9), machine(4, 80))
    assert made.values["data-parallel-size"] == 4
    assert "tensor-parallel-size" not in made.values


def test_many_slots_are_left_to_vllm() -> None:
    assert "max-num-seqs" not in gpu_settings("standard", model(2 * 10**9), machine(1, 180)).values


def test_fast_is_for_one_stream() -> None:
    made = gpu_settings("fast", model(16 * 10**9), machine(2, 80))
    assert made.values == {
        "performance-mode": "interactivity",
        "tensor-parallel-size": 2,
        "max-num-seqs": 8,
        f"{DRAFT}.method": "ngram",
        f"{DRAFT}.num_speculative_tokens": 8,
        f"{DRAFT}.prompt_lookup_max": 5,
        f"{DRAFT}.prompt_lookup_min": 2,
    }


@pytest.mark.parametrize(("heads", "tokens"), [(1, 2), (3, 3)])
def test_own_heads_draft_where_the_model_has_them(heads: int, tokens: int) -> None:
    values = gpu_settings("fast", model(16 * 10**9, extra_heads=heads), machine(1, 80)).values
    assert values[f"{DRAFT}.method"] == "mtp"
    assert values[f"{DRAFT}.num_speculative_tokens"] == tokens
    assert f"{DRAFT}.prompt_lookup_max" not in values


def test_ultra_begins_as_fast_with_fewer_streams() -> None:
    fast = gpu_settings("fast", model(16 * 10**9), machine(2, 80)).values
    ultra = gpu_settings("ultra", model(16 * 10**9), machine(2, 80)).values
    assert ultra == {**fast, "max-num-seqs": 2}


def test_context_that_fits_and_what_it_needs() -> None:
    made = gpu_settings("standard", model(16 * 10**9), machine(1, 24))
    # 24 GiB x 0.86 - 16 GB = 6.16 GB: 47,000 tokens of 131,072 bytes, in steps of 256.
    tokens = int((24 * GIB * 0.86 - 16 * 10**9) / 131_072) // 256 * 256
    assert made.values["max-model-len"] == tokens
    assert made.needs_bytes == 16 * 10**9 + tokens * 131_072


def test_memory_that_others_use_is_left_to_them() -> None:
    made = gpu_settings("standard", model(16 * 10**9), machine(1, 80, free_gib=60))
    assert made.values["gpu-memory-utilization"] == 0.73
    assert "60.0 GiB of 80.0 GiB free" in made.why["gpu-memory-utilization"]


def test_a_model_that_is_not_here_yet() -> None:
    assert gpu_settings("standard", None, machine(2, 80)).values == {
        "performance-mode": "throughput",
        "tensor-parallel-size": 2,
    }


def test_no_gpu() -> None:
    with pytest.raises(ConfigError, match="vLLM is built for GPUs, and this machine shows none") as error:
        gpu_settings("standard", None, machine(0))
    assert "llama.cpp" in str(error.value.hint)


def test_on_processors_kv_by_memory() -> None:
    made = cpu_settings("fast", model(2 * 10**9), machine(0, memory_gib=64))
    assert made.values["kv-cache-memory-bytes"] == 131_072 * 131_072
    assert made.needs_bytes == 2 * 10**9 + 131_072 * 131_072
    small = cpu_settings("standard", model(2 * 10**9), machine(0, memory_gib=8))
    context = int((8 * GIB * 0.85 - 2 * 10**9) / 131_072) // 256 * 256
    assert small.values["max-model-len"] == context


def test_on_processors_too_large() -> None:
    with pytest.raises(ConfigError, match=r"big does not fit: its weights take 14\.9 GiB, and 8\.00 GiB of"):
        cpu_settings("standard", model(16 * 10**9), machine(0, memory_gib=8))


def test_each_setting_is_an_option_of_the_release_and_has_a_reason() -> None:
    options = options_of("vllm")
    for one in (model(16 * 10**9), model(16 * 10**9, extra_heads=1), None):
        for tier in ("standard", "fast", "ultra"):
            for here in (machine(1, 24), machine(4, 80, free_gib=60)):
                made = gpu_settings(tier, one, here)
                assert set(made.why) == set(made.values)
                for name, value in made.values.items():
                    option = options.find(name.partition(".")[0])
                    assert option is not None, name
                    assert not option.choices or value in option.choices

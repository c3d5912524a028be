"""What the keys of GGUF say of models of many families; patterns as llama.cpp has them."""

from pathlib import Path
from typing import Any

import pytest

from paceline.weights.model import ModelFacts, ModelFileError
from paceline.weights.read import read_model
from tests.support.models import (
    BOOL,
    F32_TENSOR,
    Q8_0_TENSOR,
    U32,
    TensorSpec,
    Typed,
    llama_keys,
    numbers,
    write_gguf,
)


def facts_of(
    tmp_path: Path, architecture: str, layers: int = 12, tensors: Any = None, **more: Any
) -> ModelFacts:
    keys = {"general.architecture": architecture}
    base: dict[str, Any] = {"block_count": layers, "embedding_length": 64, "attention__head_count": 4}
    for key, value in (base | more).items():
        keys[f"{architecture}.{key.replace('__', '.')}"] = value
    tensors = tensors or [("token_embd.weight", (96, 64), Q8_0_TENSOR)]
    return read_model(write_gguf(tmp_path / "a.gguf", keys, tensors))


def full(facts: ModelFacts) -> list[int]:
    return [layer for layer, slides in enumerate(facts.sliding) if not slides]


def test_heads_and_dims_by_default(tmp_path: Path) -> None:
    facts = facts_of(tmp_path, "llama")
    assert facts.kv_heads == (4,) * 12
    assert (facts.key_dim, facts.value_dim) == (16, 16)
    assert facts.sliding_window is None
    assert (facts.experts, facts.experts_used, facts.extra_heads, facts.latent_dim) == (0, 0, 0, 0)
    assert facts.vocabulary == 96


@pytest.mark.parametrize(
    ("architecture", "window", "expected"),
    [
        ("gemma2", 4096, [1, 3, 5, 7, 9, 11]),
        ("gemma3", 512, [5, 11]),
        ("gemma3n", 512, [4, 9]),
        ("gpt-oss", 128, [1, 3, 5, 7, 9, 11]),
        ("llama4", 8192, [3, 7, 11]),
        ("smallthinker", 4096, [0, 4, 8]),
        ("olmo2", 4096, [3, 7, 11]),
    ],
)
def test_layers_that_see_all(tmp_path: Path, architecture: str, window: int, expected: list[int]) -> None:
    facts = facts_of(tmp_path, architecture, attention__sliding_window=window)
    assert facts.sliding_window == window
    assert full(facts) == expected


@pytest.mark.parametrize("architecture", ["phi3", "qwen2", "exaone4", "llama"])
def test_windows_that_llama_cpp_does_not_heed(tmp_path: Path, architecture: str) -> None:
    facts = facts_of(tmp_path, architecture, attention__sliding_window=2048)
    assert facts.sliding_window is None
    assert full(facts) == list(range(12))


def test_patterns_that_the_file_gives(tmp_path: Path) -> None:
    listed = numbers(BOOL, True, True, False)
    facts = facts_of(
        tmp_path, "gemma4", 6, attention__sliding_window=512, attention__sliding_window_pattern=listed
    )
    assert full(facts) == [2, 5]
    facts = facts_of(
        tmp_path, "anything", 6, attention__sliding_window=512, attention__sliding_window_pattern=3
    )
    assert full(facts) == [2, 5]


def test_gemma_4_has_heads_of_its_own_where_it_slides(tmp_path: Path) -> None:
    facts = facts_of(
        tmp_path,
        "gemma4",
        6,
        attention__sliding_window=512,
        attention__sliding_window_pattern=numbers(BOOL, True, True, False),
        attention__head_count_kv=numbers(U32, 2, 2, 1, 2, 2, 1),
        attention__key_length=512,
        attention__value_length=512,
        attention__key_length_swa=256,
        attention__value_length_swa=256,
        attention__shared_kv_layers=2,
    )
    assert (facts.key_dim, facts.sliding_dims, facts.shared_kv_layers) == (512, (256, 256), 2)
    assert facts.kv_heads == (2, 2, 1, 2, 2, 1)


def test_latent_attention_of_deepseek(tmp_path: Path) -> None:
    facts = facts_of(
        tmp_path,
        "deepseek2",
        62,
        attention__head_count=128,
        attention__head_count_kv=1,
        attention__key_length=576,
        attention__value_length=512,
        attention__key_length_mla=192,
        attention__value_length_mla=128,
        attention__kv_lora_rank=512,
        nextn_predict_layers=1,
        expert_count=256,
        expert_used_count=8,
    )
    assert (facts.layers, facts.extra_heads) == (61, 1)
    assert (facts.key_dim, facts.value_dim, facts.latent_dim) == (576, 512, 512)
    assert facts.kv_heads == (1,) * 61
    assert (facts.experts, facts.experts_used) == (256, 8)
    assert facts.indexer is None


def test_sparse_attention(tmp_path: Path) -> None:
    facts = facts_of(
        tmp_path,
        "deepseek32",
        attention__indexer__top_k=2048,
        attention__indexer__head_count=64,
        attention__indexer__key_length=128,
    )
    assert facts.indexer == (2048, 64, 128)


def test_deepseek_as_it_was_before_latents_were_kept(tmp_path: Path) -> None:
    facts = facts_of(
        tmp_path,
        "deepseek2",
        attention__key_length=192,
        attention__value_length=128,
        attention__kv_lora_rank=512,
    )
    assert (facts.latent_dim, facts.kv_heads[0], facts.key_dim) == (0, 4, 192)


def test_recurrent_layers_keep_a_state_and_no_cache(tmp_path: Path) -> None:
    tensors: list[TensorSpec] = [("token_embd.weight", (96, 64), Q8_0_TENSOR)]
    tensors += [(f"blk.{layer}.ssm_conv1d.weight", (64, 4), F32_TENSOR) for layer in (0, 1, 2, 4, 5, 6)]
    facts = facts_of(
        tmp_path,
        "qwen3next",
        8,
        tensors,
        attention__head_count_kv=2,
        ssm__conv_kernel=4,
        ssm__inner_size=4096,
        ssm__state_size=128,
        ssm__group_count=16,
    )
    assert facts.kv_heads == (0, 0, 0, 2, 0, 0, 0, 2)
    # Of a layer: 3 x (4096 + 2 x 16 x 128) of the convolution, 128 x 4096 of the state, in f32.
    assert facts.state_bytes == 6 * 4 * (3 * 8192 + 524_288)


def test_a_model_of_short_convolutions(tmp_path: Path) -> None:
    tensors: list[TensorSpec] = [("token_embd.weight", (96, 64), Q8_0_TENSOR)]
    tensors += [(f"blk.{layer}.shortconv.conv.weight", (64, 3), F32_TENSOR) for layer in (0, 1, 3)]
    facts = facts_of(
        tmp_path, "lfm2", 4, tensors, attention__head_count_kv=numbers(U32, 0, 0, 2, 0), shortconv__l_cache=3
    )
    assert facts.kv_heads == (0, 0, 2, 0)
    assert facts.state_bytes == 3 * 4 * 64 * 2


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"general.type": "adapter"}, "LoRA adapter"),
        ({"general.type": "imatrix"}, "importance matrix"),
        ({"general.architecture": "clip"}, "projector"),
        ({"general.architecture": ""}, "no general.architecture"),
        ({"llama.block_count": 1 << 30}, "block_count cannot be"),
        ({"llama.block_count": Typed(5, -1)}, "block_count cannot be -1"),
        ({"llama.block_count": "two"}, "block_count cannot be 'two'"),
        ({"llama.block_count": Typed(6, float("nan"))}, "block_count cannot be nan"),
        ({"llama.attention.head_count_kv": numbers(U32, 1)}, "for 1 layers of 2"),
        ({"llama.nextn_predict_layers": 3}, "nextn_predict_layers cannot be 3"),
    ],
)
def test_files_that_are_no_language_model(tmp_path: Path, more: dict[str, Any], words: str) -> None:
    with pytest.raises(ModelFileError) as caught:
        read_model(write_gguf(tmp_path / "a.gguf", llama_keys() | more))
    assert words in caught.value.message
    assert caught.value.hint


def test_a_header_without_the_shape(tmp_path: Path) -> None:
    keys = llama_keys()
    del keys["llama.block_count"]
    with pytest.raises(ModelFileError, match=r"no llama\.block_count"):
        read_model(write_gguf(tmp_path / "a.gguf", keys))


def test_a_vocabulary_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.gguf"
    from tests.support.models import gguf_bytes

    path.write_bytes(gguf_bytes(llama_keys(), []))
    with pytest.raises(ModelFileError, match="holds no weights"):
        read_model(path)


def test_the_name_is_the_headers_or_the_files(tmp_path: Path) -> None:
    assert facts_of(tmp_path, "llama").name == "a"
    keys = llama_keys()
    del keys["general.name"]
    keys["general.basename"] = " base "
    assert read_model(write_gguf(tmp_path / "b.gguf", keys)).name == "base"

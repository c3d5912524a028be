"""Bytes and operations of a step, against figures worked out by hand and by chance."""

import random
from dataclasses import replace
from pathlib import Path

import pytest

from paceline.weights.model import ModelFacts
from paceline.weights.read import read_model
from paceline.weights.work import token_work
from tests.support.engine import find_engine
from tests.support.models import (
    F16_TENSOR,
    F32_TENSOR,
    Q8_0_TENSOR,
    llama_config,
    llama_keys,
    llama_tensors,
    llama_weights,
    write_gguf,
    write_safetensors,
)

# Numbers of one layer's matrices: queries, output, keys, values, up, down.
LAYER = 2 * 64 * 64 + 2 * 32 * 64 + 2 * 128 * 64
NORMS_BYTES = 3 * 64 * 4


@pytest.fixture
def facts(tmp_path: Path) -> ModelFacts:
    return read_model(write_gguf(tmp_path / "a.gguf"))


def test_a_dense_model_with_a_head_of_its_own(facts: ModelFacts) -> None:
    work = token_work(facts, context_tokens=100)
    assert work.dense_bytes == 2 * LAYER // 32 * 34 + NORMS_BYTES
    assert work.head_bytes == 96 * 64 * 2
    # Of the table one row: 64 numbers are two blocks.
    assert work.row_bytes == 68
    assert work.dense_operations == 2 * 2 * LAYER
    assert work.head_operations == 2 * 96 * 64
    assert work.attention_operations == 2 * 2 * 4 * 100 * 32
    assert (work.kv_read_bytes, work.kv_written_bytes) == (2 * 100 * 128, 256)
    assert (work.expert_bytes, work.expert_operations, work.extra_head_bytes) == (0, 0, 0)
    assert work.token_bytes == work.dense_bytes + work.head_bytes + 68 + 25_600 + 256
    assert work.token_operations == 4 * LAYER + 2 * 96 * 64 + 51_200
    assert work.kind == "int8"


def test_a_tied_table_is_read_whole_and_once(tmp_path: Path) -> None:
    tied = read_model(write_gguf(tmp_path / "a.gguf", tensors=llama_tensors(head=False)))
    work = token_work(tied, context_tokens=0)
    assert work.head_bytes == 96 * 64 // 32 * 34
    assert work.row_bytes == 0
    assert work.head_operations == 2 * 96 * 64
    assert work.token_bytes == tied.weight_bytes + 256


def test_a_tied_head_that_the_file_holds_twice_is_read_once(tmp_path: Path) -> None:
    path = write_safetensors(tmp_path / "m", llama_config(tie_word_embeddings=True), llama_weights())
    work = token_work(read_model(path), context_tokens=0)
    assert (work.head_bytes, work.row_bytes) == (96 * 64 * 2, 0)


def test_steps_of_many_tokens_and_streams(facts: ModelFacts) -> None:
    work = token_work(facts, context_tokens=100)
    once = work.dense_bytes + work.head_bytes
    assert work.step_bytes(1, 8) == once + 8 * (68 + 256 + 25_600)
    # Of drafts the weights and the stream's cache are read once for all.
    assert work.step_bytes(5, 1) == once + 5 * (68 + 256) + 25_600
    assert work.step_operations(5, 2) == 10 * work.token_operations
    each = work.token_operations - work.head_operations
    assert work.prompt_operations(1000) == 1000 * each + work.head_operations


def moe(tmp_path: Path, experts: int = 8, used: int = 2) -> ModelFacts:
    keys = llama_keys(expert_count=experts, expert_used_count=used)
    tensors = llama_tensors()
    for layer in range(2):
        tensors += [
            (f"blk.{layer}.ffn_gate_inp.weight", (experts, 64), F32_TENSOR),
            (f"blk.{layer}.ffn_up_exps.weight", (experts, 32, 64), Q8_0_TENSOR),
            (f"blk.{layer}.ffn_down_exps.weight", (experts, 64, 32), Q8_0_TENSOR),
        ]
    return read_model(write_gguf(tmp_path / "moe.gguf", keys, tensors))


def test_experts(tmp_path: Path) -> None:
    work = token_work(moe(tmp_path), context_tokens=0)
    assert work.expert_bytes == 2 * 8 * 2 * 32 * 64 // 32 * 34
    assert work.expert_operations == 2 * 2 * 2 * (2 * 32 * 64)
    assert work.dense_operations == 2 * 2 * (LAYER + 8 * 64)
    one = work.step_bytes(1)
    assert one == work.dense_bytes + work.head_bytes + work.expert_bytes / 4 + 68 + 256
    assert work.experts_touched(1) == pytest.approx(2 / 8)
    assert work.experts_touched(2) == pytest.approx(1 - (6 / 8) ** 2)


def test_experts_touched_against_a_draw_by_chance(tmp_path: Path) -> None:
    chance = random.Random(7)
    work = token_work(moe(tmp_path), context_tokens=0)
    rounds = 4000
    touched = sum(
        len({expert for _ in range(5) for expert in chance.sample(range(8), 2)}) for _ in range(rounds)
    )
    assert work.experts_touched(5) == pytest.approx(touched / rounds / 8, abs=0.01)


def test_all_experts_count_where_their_number_is_not_said(tmp_path: Path) -> None:
    unsaid = replace(moe(tmp_path), experts=0, experts_used=0)
    work = token_work(unsaid, context_tokens=0)
    assert work.experts_touched(1) == 1.0
    assert work.expert_operations == 2 * 2 * 8 * (2 * 32 * 64)


def test_layers_that_draft_are_in_no_step(tmp_path: Path) -> None:
    keys = llama_keys(block_count=3, nextn_predict_layers=1)
    extra = [
        ("blk.2.nextn.eh_proj.weight", (64, 128), F16_TENSOR),
        ("blk.2.nextn.embed_tokens.weight", (96, 64), F16_TENSOR),
    ]
    drafting = read_model(write_gguf(tmp_path / "a.gguf", keys, llama_tensors() + extra))
    plain = token_work(read_model(write_gguf(tmp_path / "b.gguf")), context_tokens=10)
    work = token_work(drafting, context_tokens=10)
    assert work.token_bytes == plain.token_bytes
    assert (work.extra_head_bytes, work.extra_head_operations) == (64 * 128 * 2, 2 * 64 * 128)


@pytest.mark.parametrize(
    ("dtype", "config", "expected"),
    [
        ("BF16", {}, "bf16"),
        ("F16", {}, "f16"),
        ("F32", {}, "f32"),
        ("F8_E4M3", {"quantization_config": {"quant_method": "fp8"}}, "fp8"),
        ("I8", {"quantization_config": {"quant_method": "compressed-tensors"}}, "int8"),
        ("U8", {"quantization_config": {"quant_method": "modelopt", "quant_algo": "NVFP4"}}, "fp4"),
        # Four bits are widened to what the activations are in.
        ("U8", {"quantization_config": {"quant_method": "bitsandbytes"}}, "bf16"),
    ],
)
def test_kinds_of_numbers(tmp_path: Path, dtype: str, config: dict[str, object], expected: str) -> None:
    path = write_safetensors(tmp_path / "m", llama_config(**config), llama_weights(dtype))
    assert token_work(read_model(path), context_tokens=1).kind == expected


def test_a_gguf_of_plain_numbers(tmp_path: Path) -> None:
    tensors = [
        (name, shape, F16_TENSOR if len(shape) > 1 else F32_TENSOR) for name, shape, _ in llama_tensors()
    ]
    assert (
        token_work(read_model(write_gguf(tmp_path / "a.gguf", tensors=tensors)), context_tokens=1).kind
        == "f16"
    )


def test_types_of_the_cache(facts: ModelFacts) -> None:
    assert token_work(facts, context_tokens=10, kv_type="q8_0").kv_written_bytes == 2 * 2 * 34
    work = token_work(facts, context_tokens=10, kv_type="f16", value_type="q8_0")
    assert (work.key_type, work.value_type, work.kv_written_bytes) == ("f16", "q8_0", 2 * (64 + 34))
    with pytest.raises(ValueError, match="'auto'"):
        token_work(facts, context_tokens=10, kv_type="auto")
    with pytest.raises(ValueError, match="-1 tokens"):
        token_work(facts, context_tokens=-1)


def test_states_are_read_and_written(facts: ModelFacts) -> None:
    work = token_work(replace(facts, state_bytes=1000), context_tokens=0)
    assert work.step_bytes(1, 3) - token_work(facts, context_tokens=0).step_bytes(1, 3) == 3 * 2000


ENGINE = find_engine()


@pytest.mark.engine
@pytest.mark.skipif(isinstance(ENGINE, str), reason=str(ENGINE))
def test_gemma_worked_out_by_hand() -> None:
    assert not isinstance(ENGINE, str)
    work = token_work(read_model(ENGINE.model), context_tokens=1000)
    # Tied: 262,144 x 640 numbers of q8_0 are the head, and every byte of the weights is read in a step.
    assert work.head_bytes == 262_144 * 640 // 32 * 34
    assert work.head_operations == 2 * 262_144 * 640
    # A layer: queries and output 640 x 1024 each, keys and values 640 x 256 each, three of 640 x 2048.
    assert work.dense_operations == 2 * 18 * (2 * 640 * 1024 + 2 * 640 * 256 + 3 * 640 * 2048)
    # 15 layers see 512 tokens, 3 see 1000; each keeps 2 x 256 numbers of two bytes.
    assert work.kv_read_bytes == (15 * 512 + 3 * 1000) * 1024
    assert work.token_bytes == 246_587_904 + work.kv_read_bytes + 18 * 1024
    assert work.kind == "int8"

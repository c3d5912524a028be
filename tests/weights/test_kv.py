"""The KV cache of one stream, against figures worked out by hand."""

from dataclasses import replace
from pathlib import Path

import pytest

from paceline.weights.kv import attention_operations, cell_bytes, cells, kv_bytes, read_bytes, written_bytes
from paceline.weights.model import ModelFacts
from paceline.weights.read import read_model
from tests.support.models import write_gguf


@pytest.fixture
def facts(tmp_path: Path) -> ModelFacts:
    """Two layers, 4 heads, 2 KV heads of 16 numbers."""
    return read_model(write_gguf(tmp_path / "a.gguf"))


def test_every_layer_keeps_the_whole_context(facts: ModelFacts) -> None:
    # 2 layers x 100 tokens x 2 heads x (16 + 16) numbers x 2 bytes.
    assert kv_bytes(facts, 100, "f16", "f16") == 2 * 100 * 2 * 32 * 2
    assert written_bytes(facts, "f16", "f16") == 2 * 2 * 32 * 2


def test_types_of_keys_and_values(facts: ModelFacts) -> None:
    # A layer's keys are 32 numbers: one block of q8_0 (34 bytes), of q4_0 (18).
    assert cell_bytes(facts, 0, "q8_0", "q4_0") == 34 + 18
    assert cell_bytes(facts, 0, "fp8", "fp8") == 64


def test_sliding_layers_keep_their_window_only(facts: ModelFacts) -> None:
    sliding = replace(facts, sliding_window=30, sliding=(True, False))
    assert [cells(sliding, layer, 100) for layer in (0, 1)] == [30, 100]
    assert [cells(sliding, layer, 20) for layer in (0, 1)] == [20, 20]
    assert kv_bytes(sliding, 100, "f16", "f16") == (30 + 100) * 128
    assert attention_operations(sliding, 100) == 2 * 4 * 32 * (30 + 100)


def test_sliding_layers_may_have_dims_of_their_own(facts: ModelFacts) -> None:
    sliding = replace(facts, sliding_window=30, sliding=(True, False), sliding_dims=(8, 8))
    assert kv_bytes(sliding, 100, "f16", "f16") == 30 * 64 + 100 * 128
    assert attention_operations(sliding, 100) == 2 * 4 * (30 * 16 + 100 * 32)


def test_latents_are_kept_once(facts: ModelFacts) -> None:
    # DeepSeek V3: 512 + 64 numbers a layer and token, 61 layers: 68.6 KiB a token in bf16.
    deepseek = replace(
        facts,
        layers=61,
        heads=128,
        kv_heads=(1,) * 61,
        key_dim=576,
        value_dim=512,
        latent_dim=512,
        sliding=(False,) * 61,
    )
    assert written_bytes(deepseek, "bf16", "bf16") == 61 * 576 * 2 == 70_272
    assert attention_operations(deepseek, 1000) == 61 * 1000 * 128 * 2 * (576 + 512)


def test_sparse_attention_reads_what_its_indexer_picks(facts: ModelFacts) -> None:
    # Of 100 tokens 30 are picked, by keys of 8 numbers, one byte each, over 3 heads.
    sparse = replace(facts, indexer=(30, 3, 8))
    assert kv_bytes(sparse, 100, "f16", "f16") == 2 * 100 * (128 + 8)
    assert read_bytes(sparse, 100, "f16", "f16") == 2 * (30 * 128 + 100 * 8)
    assert read_bytes(facts, 100, "f16", "f16") == kv_bytes(facts, 100, "f16", "f16")
    assert attention_operations(sparse, 100) == 2 * (2 * 4 * 30 * 32 + 2 * 3 * 8 * 100)


def test_layers_that_share_a_cache_read_it_and_write_none(facts: ModelFacts) -> None:
    shared = replace(facts, shared_kv_layers=1)
    assert kv_bytes(shared, 100, "f16", "f16") == kv_bytes(facts, 100, "f16", "f16")
    assert written_bytes(shared, "f16", "f16") * 2 == written_bytes(facts, "f16", "f16")


def test_layers_without_a_cache(facts: ModelFacts) -> None:
    hybrid = replace(facts, kv_heads=(0, 2))
    assert kv_bytes(hybrid, 100, "f16", "f16") == 100 * 128
    assert attention_operations(hybrid, 100) == 2 * 4 * 32 * 100


def test_an_unknown_type(facts: ModelFacts) -> None:
    with pytest.raises(ValueError, match="'auto'"):
        kv_bytes(facts, 10, "auto", "f16")

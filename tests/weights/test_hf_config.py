"""Configurations of many families, as their makers published them; what does not bear on the shape is left
out."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from paceline.weights.hf_config import config_shape
from paceline.weights.model import ModelFileError, Tensor

HEAD = (Tensor("lm_head.weight", "bf16", (96, 64), 96 * 64 * 2),)


def shape(config: dict[str, Any], tensors: Sequence[Tensor] = HEAD) -> dict[str, Any]:
    return config_shape(Path("/models/name/config.json"), config, tensors)


def full(found: dict[str, Any]) -> list[int]:
    return [layer for layer, slides in enumerate(found["sliding"]) if not slides]


LLAMA_3_8B = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 4096,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "max_position_embeddings": 8192,
    "vocab_size": 128_256,
    "tie_word_embeddings": False,
}


def test_llama() -> None:
    found = shape(LLAMA_3_8B)
    assert (found["name"], found["architecture"], found["layers"], found["heads"]) == (
        "name",
        "llama",
        32,
        32,
    )
    assert (found["kv_heads"], found["key_dim"], found["value_dim"]) == ((8,) * 32, 128, 128)
    assert (found["vocabulary"], found["context_tokens"]) == (128_256, 8192)
    assert found["sliding_window"] is None
    assert not found["tied_embeddings"]


def test_qwen_3_has_a_head_dim_of_its_own_and_ties_its_embeddings() -> None:
    found = shape(
        {
            "model_type": "qwen3",
            "hidden_size": 1024,
            "num_hidden_layers": 28,
            "num_attention_heads": 16,
            "num_key_value_heads": 8,
            "head_dim": 128,
            "max_position_embeddings": 40_960,
            "vocab_size": 151_936,
            "sliding_window": None,
            "use_sliding_window": False,
            "tie_word_embeddings": True,
        }
    )
    assert found["key_dim"] == 128
    assert found["tied_embeddings"]
    assert found["sliding_window"] is None


def test_qwen_2_slides_only_where_it_is_told_to() -> None:
    base = {
        "model_type": "qwen2",
        "hidden_size": 64,
        "num_hidden_layers": 4,
        "num_attention_heads": 4,
        "sliding_window": 32_768,
        "max_window_layers": 2,
    }
    assert shape(base | {"use_sliding_window": False})["sliding_window"] is None
    assert full(shape(base | {"use_sliding_window": True})) == [0, 1]


def test_mistral_slides_everywhere() -> None:
    found = shape(LLAMA_3_8B | {"model_type": "mistral", "sliding_window": 4096})
    assert found["sliding_window"] == 4096
    assert all(found["sliding"])


def test_mixtral() -> None:
    found = shape(
        LLAMA_3_8B
        | {"model_type": "mixtral", "num_local_experts": 8, "num_experts_per_tok": 2, "sliding_window": None}
    )
    assert (found["experts"], found["experts_used"]) == (8, 2)


def test_gemma_2_slides_every_other_layer() -> None:
    found = shape(
        {
            "model_type": "gemma2",
            "hidden_size": 2304,
            "num_hidden_layers": 26,
            "num_attention_heads": 8,
            "num_key_value_heads": 4,
            "head_dim": 256,
            "sliding_window": 4096,
        },
        (),
    )
    assert full(found) == list(range(1, 26, 2))
    assert found["tied_embeddings"]


def test_gemma_3_leaves_to_the_class_what_is_its_default() -> None:
    # text_config of google/gemma-3-4b-it, whole.
    found = shape(
        {
            "model_type": "gemma3",
            "architectures": ["Gemma3ForConditionalGeneration"],
            "text_config": {
                "hidden_size": 2560,
                "intermediate_size": 10_240,
                "model_type": "gemma3_text",
                "num_hidden_layers": 34,
                "rope_scaling": {"factor": 8.0, "rope_type": "linear"},
                "sliding_window": 1024,
            },
            "vision_config": {"hidden_size": 1152, "num_hidden_layers": 27},
        },
        (),
    )
    assert (found["layers"], found["embedding"], found["heads"]) == (34, 2560, 8)
    assert (found["kv_heads"], found["key_dim"]) == ((4,) * 34, 256)
    assert (found["sliding_window"], full(found)) == (1024, [5, 11, 17, 23, 29])
    assert found["architecture"] == "gemma3_text"


def test_gpt_oss() -> None:
    found = shape(
        {
            "model_type": "gpt_oss",
            "hidden_size": 2880,
            "num_hidden_layers": 4,
            "num_attention_heads": 64,
            "num_key_value_heads": 8,
            "head_dim": 64,
            "num_local_experts": 32,
            "num_experts_per_tok": 4,
            "experts_per_token": 4,
            "sliding_window": 128,
            "layer_types": ["sliding_attention", "full_attention"] * 2,
        }
    )
    assert (found["sliding_window"], full(found)) == (128, [1, 3])
    assert (found["experts"], found["experts_used"]) == (32, 4)


DEEPSEEK_V3 = {
    "model_type": "deepseek_v3",
    "hidden_size": 7168,
    "num_hidden_layers": 61,
    "num_attention_heads": 128,
    "num_key_value_heads": 128,
    "kv_lora_rank": 512,
    "qk_rope_head_dim": 64,
    "qk_nope_head_dim": 128,
    "v_head_dim": 128,
    "n_routed_experts": 256,
    "n_shared_experts": 1,
    "num_experts_per_tok": 8,
    "num_nextn_predict_layers": 1,
    "vocab_size": 129_280,
}


def test_deepseek_v3() -> None:
    extra = Tensor("model.layers.61.eh_proj.weight", "fp8_e4m3", (7168, 14_336), 7168 * 14_336)
    found = shape(DEEPSEEK_V3, (*HEAD, extra))
    assert (found["latent_dim"], found["key_dim"], found["value_dim"]) == (512, 576, 512)
    assert found["kv_heads"] == (1,) * 61
    assert (found["experts"], found["experts_used"]) == (256, 8)
    assert found["extra_heads"] == 1
    assert found["indexer"] is None
    sparse = {"index_topk": 2048, "index_n_heads": 64, "index_head_dim": 128}
    assert shape(DEEPSEEK_V3 | sparse)["indexer"] == (2048, 64, 128)
    # A file from which they were taken out cannot draft with them.
    assert shape(DEEPSEEK_V3)["extra_heads"] == 0


def test_qwen_3_next_keeps_a_state_in_three_of_four_layers() -> None:
    extra = Tensor("mtp.layers.0.mlp.gate.weight", "bf16", (512, 2048), 512 * 2048 * 2)
    found = shape(
        {
            "model_type": "qwen3_next",
            "hidden_size": 2048,
            "num_hidden_layers": 48,
            "num_attention_heads": 16,
            "num_key_value_heads": 2,
            "head_dim": 256,
            "full_attention_interval": 4,
            "linear_conv_kernel_dim": 4,
            "linear_key_head_dim": 128,
            "linear_num_key_heads": 16,
            "linear_num_value_heads": 32,
            "linear_value_head_dim": 128,
            "num_experts": 512,
            "num_experts_per_tok": 10,
        },
        (*HEAD, extra),
    )
    assert found["kv_heads"] == (0, 0, 0, 2) * 12
    # A layer: 32 heads of 128 x 128, and three steps of 2 x 16 x 128 + 32 x 128 numbers, in f32.
    assert found["state_bytes"] == 36 * 4 * (524_288 + 3 * 8192)
    assert found["extra_heads"] == 1


def test_llama_4_attends_in_chunks() -> None:
    found = shape(
        {
            "model_type": "llama4",
            "text_config": {
                "model_type": "llama4_text",
                "hidden_size": 5120,
                "num_hidden_layers": 8,
                "num_attention_heads": 40,
                "num_key_value_heads": 8,
                "head_dim": 128,
                "attention_chunk_size": 8192,
                "num_local_experts": 16,
                "num_experts_per_tok": 1,
            },
        }
    )
    assert (found["sliding_window"], full(found)) == (8192, [3, 7])
    assert (found["experts"], found["experts_used"]) == (16, 1)


def test_gemma_4_has_heads_of_its_own_where_it_sees_all() -> None:
    found = shape(
        {
            "model_type": "gemma4",
            "text_config": {
                "hidden_size": 2816,
                "num_hidden_layers": 6,
                "num_attention_heads": 16,
                "num_key_value_heads": 8,
                "num_global_key_value_heads": 2,
                "head_dim": 256,
                "global_head_dim": 512,
                "sliding_window": 1024,
                "num_kv_shared_layers": 0,
                "layer_types": ["sliding_attention"] * 5 + ["full_attention"],
            },
        },
        (),
    )
    assert (found["key_dim"], found["sliding_dims"]) == (512, (256, 256))
    assert found["kv_heads"] == (8, 8, 8, 8, 8, 2)


def test_older_words_of_gpt_2_and_falcon() -> None:
    found = shape({"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "n_positions": 1024}, ())
    assert (found["layers"], found["key_dim"], found["context_tokens"]) == (12, 64, 1024)
    falcon = {"hidden_size": 4544, "num_hidden_layers": 32, "num_attention_heads": 71, "multi_query": True}
    assert shape(falcon)["kv_heads"] == (1,) * 32


def test_the_name_in_the_hubs_cache() -> None:
    path = Path("/cache/hub/models--org--Some-Model/snapshots/abc123/config.json")
    assert config_shape(path, LLAMA_3_8B, HEAD)["name"] == "Some-Model"
    assert shape(LLAMA_3_8B | {"_name_or_path": "org/Another"})["name"] == "Another"


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"num_hidden_layers": None}, "no num_hidden_layers"),
        ({"num_hidden_layers": 10**9}, "num_hidden_layers cannot be 1000000000"),
        ({"num_hidden_layers": -1}, "cannot be -1"),
        ({"hidden_size": "wide"}, "cannot be 'wide'"),
        ({"num_attention_heads": 3.5}, "cannot be 3.5"),
        ({"num_key_value_heads": True}, "cannot be True"),
        ({"num_local_experts": 8}, "no num_experts_per_tok"),
    ],
)
def test_configurations_of_no_language_model(more: dict[str, Any], words: str) -> None:
    with pytest.raises(ModelFileError) as caught:
        shape(LLAMA_3_8B | more)
    assert words in caught.value.message
    assert caught.value.hint

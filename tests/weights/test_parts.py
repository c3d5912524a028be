"""What a tensor is for, by the names of published models."""

from pathlib import Path

import pytest

from paceline.weights.model import ModelFacts, Tensor
from paceline.weights.parts import Part, is_main_table, is_matrix, part_of
from paceline.weights.read import read_model
from tests.support.models import write_gguf


@pytest.fixture
def facts(tmp_path: Path) -> ModelFacts:
    # Of two layers, so that layer 2 is one that drafts.
    return read_model(write_gguf(tmp_path / "a.gguf"))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("token_embd.weight", "table"),
        ("per_layer_token_embd.weight", "table"),
        ("position_embd.weight", "table"),
        ("output.weight", "head"),
        ("output_norm.weight", "dense"),
        ("rope_freqs.weight", "dense"),
        ("blk.0.attn_output.weight", "dense"),
        ("blk.1.ffn_gate_inp.weight", "dense"),
        ("blk.1.ffn_up_shexp.weight", "dense"),
        ("blk.1.ffn_up_exps.weight", "expert"),
        ("blk.1.ffn_gate_up_exps.weight", "expert"),
        ("blk.2.ffn_up_exps.weight", "extra_expert"),
        ("blk.2.nextn.eh_proj.weight", "extra"),
        ("blk.2.nextn.embed_tokens.weight", "other"),
        ("v.blk.0.attn_q.weight", "other"),
        ("mm.0.weight", "other"),
        ("model.embed_tokens.weight", "table"),
        ("model.language_model.embed_tokens.weight", "table"),
        ("model.language_model.embed_tokens_per_layer.weight", "table"),
        ("transformer.wte.weight", "table"),
        ("lm_head.weight", "head"),
        ("lm_head.qweight", "head"),
        ("language_model.lm_head.weight", "head"),
        ("model.norm.weight", "dense"),
        ("model.layers.0.mlp.gate.weight", "dense"),
        ("model.layers.0.mlp.shared_experts.up_proj.weight", "dense"),
        ("model.layers.0.mlp.shared_expert.up_proj.weight", "dense"),
        ("model.layers.0.mlp.experts.17.up_proj.weight", "expert"),
        ("model.layers.0.mlp.experts.gate_up_proj_blocks", "expert"),
        ("model.layers.0.block_sparse_moe.experts.3.w1.weight", "expert"),
        ("model.layers.2.eh_proj.weight", "extra"),
        ("model.layers.2.mlp.experts.17.up_proj.weight", "extra_expert"),
        ("model.layers.2.embed_tokens.weight", "other"),
        ("mtp.layers.0.mlp.experts.5.up_proj.weight", "extra_expert"),
        ("mtp.fc.weight", "extra"),
        ("model.visual.blocks.7.attn.qkv.weight", "other"),
        ("vision_tower.vision_model.encoder.layers.9.mlp.fc1.weight", "other"),
        ("multi_modal_projector.linear_1.weight", "other"),
        ("model.vision_embedder.patch.weight", "other"),
        ("audio_tower.layers.3.fc1.weight", "other"),
    ],
)
def test_part_of(facts: ModelFacts, name: str, expected: Part) -> None:
    assert part_of(facts, Tensor(name, "bf16", (8, 8), 128)) == expected


@pytest.mark.parametrize(
    ("name", "shape", "expected"),
    [
        ("blk.0.attn_q.weight", (64, 64), True),
        ("blk.0.ffn_up_exps.weight", (8, 64, 64), True),
        ("blk.0.ffn_up_exps.bias", (8, 64), False),
        ("blk.0.attn_norm.weight", (64,), False),
        ("l.q_proj.qweight", (64, 64), True),
        ("l.q_proj.scales", (64, 64), False),
        ("l.q_proj.qzeros", (64, 64), False),
        ("l.q_proj.weight_scale_inv", (64, 64), False),
        ("l.q_proj.weight_packed", (64, 64), True),
        ("m.experts.gate_up_proj", (8, 64, 64), True),
        ("m.experts.gate_up_proj_blocks", (8, 64, 2, 32), True),
        ("m.experts.gate_up_proj_scales", (8, 64, 2), False),
        ("m.experts.gate_up_proj_bias", (8, 64), False),
    ],
)
def test_is_matrix(name: str, shape: tuple[int, ...], expected: bool) -> None:
    assert is_matrix(Tensor(name, "bf16", shape, 0)) is expected


def test_the_main_table() -> None:
    assert is_main_table(Tensor("model.embed_tokens.weight", "bf16", (8, 8), 0))
    assert not is_main_table(Tensor("position_embd.weight", "bf16", (8, 8), 0))
    assert not is_main_table(Tensor("model.embed_tokens_per_layer.weight", "bf16", (8, 8), 0))

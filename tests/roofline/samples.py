"""Models and machines by hand, in round numbers."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from paceline.roofline.rates import Rates
from paceline.weights.model import ModelFacts, Tensor
from paceline.weights.work import Work

# A dense model of 7 thousand million numbers in 16 bits each, of which 0.5 thousand million are its head.
# 512 KiB of KV a token: 32 layers, 32 heads of 128, keys and values, 2 bytes.
SEVEN_B = Work(
    context_tokens=0,
    key_type="f16",
    value_type="f16",
    kind="bf16",
    experts=0,
    experts_used=0,
    dense_bytes=13_000_000_000,
    head_bytes=1_000_000_000,
    row_bytes=0,
    expert_bytes=0,
    kv_read_bytes=0,
    kv_written_bytes=0,
    state_bytes=0,
    extra_head_bytes=0,
    dense_operations=13_000_000_000,
    expert_operations=0,
    head_operations=1_000_000_000,
    attention_operations=0,
    extra_head_operations=0,
)
KV_BYTES_A_TOKEN = 524_288


def at_context(tokens: int) -> Work:
    """The same with so much before a token: 4 operations for each number of its keys."""
    return replace(
        SEVEN_B,
        context_tokens=tokens,
        kv_read_bytes=tokens * KV_BYTES_A_TOKEN,
        attention_operations=tokens * KV_BYTES_A_TOKEN,
    )


def rates(
    bandwidth_bytes_s: float = 3.5e12,
    arithmetic: float | None = 980e12,
    *,
    kind: str = "bf16",
    cache_bytes: int = 0,
) -> Rates:
    """An accelerator of 3.5 TB/s and 980 Top/s, unless said otherwise."""
    return Rates(
        device="gpu",
        bandwidth_bytes_s=bandwidth_bytes_s,
        by_kernel={"read": bandwidth_bytes_s},
        arithmetic_s={} if arithmetic is None else {kind: arithmetic},
        threads=1,
        memory_bytes=80 * 2**30,
        measured_at=datetime(2026, 11, 30, tzinfo=UTC),
        source="stated",
        cache_bytes=cache_bytes,
    )


def facts() -> ModelFacts:
    """A model of two layers whose head is apart from its table, in bf16: 4.92 M numbers."""
    sides = {
        "token_embd.weight": (2000, 512),
        "output.weight": (2000, 512),
        "blk.0.attn_q.weight": (512, 512),
        "blk.0.attn_k.weight": (128, 512),
        "blk.0.attn_v.weight": (128, 512),
        "blk.0.attn_output.weight": (512, 512),
        "blk.0.ffn_up.weight": (1024, 512),
        "blk.0.ffn_down.weight": (512, 1024),
        "blk.1.ffn_up.weight": (1024, 512),
        "blk.1.ffn_down.weight": (512, 1024),
    }
    tensors = tuple(
        Tensor(name=name, type="bf16", shape=shape, bytes=2 * shape[0] * shape[1])
        for name, shape in sides.items()
    )
    return ModelFacts(
        path=Path("tiny.gguf"),
        files=(Path("tiny.gguf"),),
        format="gguf",
        name="tiny",
        architecture="llama",
        layers=2,
        embedding=512,
        heads=8,
        kv_heads=(2, 2),
        key_dim=64,
        value_dim=64,
        context_tokens=4096,
        vocabulary=2000,
        experts=0,
        experts_used=0,
        sliding_window=None,
        sliding=(False, False),
        extra_heads=0,
        tied_embeddings=False,
        tensors=tensors,
        file_bytes=sum(tensor.bytes for tensor in tensors),
        fingerprint="0123456789abcdef",
    )

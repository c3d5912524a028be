"""Models and machines of real sizes, for what is planned by headers alone."""

from pathlib import Path
from typing import Any

from paceline.engines.machine import Gpu, Machine
from paceline.weights.model import ModelFacts, Tensor

GIB = 1 << 30


def model(weight_bytes: int, **more: Any) -> ModelFacts:
    """A dense model in safetensors: 32 layers, 32 heads, 8 KV heads of 128 (131,072 bytes of KV a token)."""
    fields: dict[str, Any] = {
        "path": Path("/models/big"),
        "files": (),
        "format": "safetensors",
        "name": "big",
        "architecture": "llama",
        "layers": 32,
        "embedding": 4096,
        "heads": 32,
        "kv_heads": (8,) * 32,
        "key_dim": 128,
        "value_dim": 128,
        "context_tokens": 131_072,
        "vocabulary": 128_256,
        "experts": 0,
        "experts_used": 0,
        "sliding_window": None,
        "sliding": (False,) * 32,
        "extra_heads": 0,
        "tied_embeddings": False,
        "tensors": (Tensor("model.embed_tokens.weight", "bf16", (weight_bytes // 2,), weight_bytes),),
        "file_bytes": weight_bytes,
        "fingerprint": "0" * 16,
    }
    return ModelFacts(**(fields | more))


def machine(
    gpus: int = 1, gib: float = 80, *, free_gib: float | None = None, memory_gib: float = 256
) -> Machine:
    """A machine with so many equal GPUs."""
    one = Gpu("NVIDIA H100", int(gib * GIB), int((gib - 0.5 if free_gib is None else free_gib) * GIB), "9.0")
    return Machine(32, int(memory_gib * GIB), int(memory_gib * GIB), (one,) * gpus)

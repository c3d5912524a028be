"""Writes small models of both formats: real headers, weights of zeros."""

import json
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

# Number of a value's type in GGUF -> letter of `struct`.
_LETTERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
U32, F32, BOOL, TEXT, LIST, U64 = 4, 6, 7, 8, 9, 10
# Of a tensor's type: its number, numbers a block, bytes a block.
F32_TENSOR, F16_TENSOR, Q8_0_TENSOR, Q4_K_TENSOR = (0, 1, 4), (1, 1, 2), (8, 32, 34), (12, 256, 144)

TensorSpec = tuple[str, Sequence[int], tuple[int, int, int]]


class Typed:
    """A value with its GGUF type; for a list the type of its items."""

    def __init__(self, kind: int, value: Any, item: int = 0) -> None:
        self.kind, self.value, self.item = kind, value, item


def texts(*words: str) -> Typed:
    return Typed(LIST, words, TEXT)


def numbers(kind: int, *values: Any) -> Typed:
    return Typed(LIST, values, kind)


def _text(text: str, order: str) -> bytes:
    data = text.encode()
    return struct.pack(f"{order}Q", len(data)) + data


def _value(value: Any, order: str) -> bytes:
    if not isinstance(value, Typed):
        value = Typed(TEXT, value) if isinstance(value, str) else Typed(U32, value)
    return struct.pack(f"{order}I", value.kind) + _payload(value, order)


def _payload(value: Typed, order: str) -> bytes:
    if value.kind == TEXT:
        return _text(value.value, order)
    if value.kind == LIST:
        head = struct.pack(f"{order}IQ", value.item, len(value.value))
        return head + b"".join(_payload(Typed(value.item, item), order) for item in value.value)
    return struct.pack(order + _LETTERS[value.kind], value.value)


def gguf_bytes(
    keys: Mapping[str, Any],
    tensors: Sequence[TensorSpec],
    *,
    version: int = 3,
    order: str = "<",
    align: int = 32,
) -> bytes:
    """A whole file. Shapes of tensors are given outermost side first."""
    head = b"GGUF" + struct.pack(f"{order}IQQ", version, len(tensors), len(keys))
    for key, value in keys.items():
        head += _text(key, order) + _value(value, order)
    place = 0
    for name, shape, (number, block, size) in tensors:
        head += _text(name, order) + struct.pack(f"{order}I", len(shape))
        head += b"".join(struct.pack(f"{order}Q", side) for side in reversed(shape))
        head += struct.pack(f"{order}IQ", number, place)
        elements = 1
        for side in shape:
            elements *= side
        place += -(-(elements // block * size) // align) * align
    head += bytes(-len(head) % align)
    return head + bytes(place)


def llama_keys(**more: Any) -> dict[str, Any]:
    """A dense model of two layers; names with `__` for dots come beneath the architecture."""
    keys: dict[str, Any] = {
        "general.architecture": "llama",
        "general.name": "Small",
        "llama.block_count": 2,
        "llama.embedding_length": 64,
        "llama.attention.head_count": 4,
        "llama.attention.head_count_kv": 2,
        "llama.context_length": 2048,
        "tokenizer.ggml.tokens": texts(*(f"w{place}" for place in range(96))),
    }
    return keys | {f"llama.{key.replace('__', '.')}": value for key, value in more.items()}


def llama_tensors(head: bool = True) -> list[TensorSpec]:
    """Its weights: an embedding table of 96 words, two layers, an output head."""
    tensors: list[TensorSpec] = [("token_embd.weight", (96, 64), Q8_0_TENSOR)]
    for layer in range(2):
        tensors += [
            (f"blk.{layer}.attn_norm.weight", (64,), F32_TENSOR),
            (f"blk.{layer}.attn_q.weight", (64, 64), Q8_0_TENSOR),
            (f"blk.{layer}.attn_k.weight", (32, 64), Q8_0_TENSOR),
            (f"blk.{layer}.attn_v.weight", (32, 64), Q8_0_TENSOR),
            (f"blk.{layer}.attn_output.weight", (64, 64), Q8_0_TENSOR),
            (f"blk.{layer}.ffn_up.weight", (128, 64), Q8_0_TENSOR),
            (f"blk.{layer}.ffn_down.weight", (64, 128), Q8_0_TENSOR),
        ]
    tensors.append(("output_norm.weight", (64,), F32_TENSOR))
    return [*tensors, ("output.weight", (96, 64), F16_TENSOR)] if head else tensors


def write_gguf(path: Path, keys: Mapping[str, Any] | None = None, tensors: Any = None, **form: Any) -> Path:
    """A small model, by default a dense one of two layers."""
    path.write_bytes(gguf_bytes(llama_keys() if keys is None else keys, tensors or llama_tensors(), **form))
    return path


_BITS = {"F32": 32, "BF16": 16, "F16": 16, "F8_E4M3": 8, "I32": 32, "I8": 8, "U8": 8, "I64": 64}


def safetensors_bytes(tensors: Mapping[str, tuple[str, Sequence[int]]]) -> bytes:
    """A whole file: name -> (dtype, shape)."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    place = 0
    for name, (dtype, shape) in tensors.items():
        elements = 1
        for side in shape:
            elements *= side
        size = elements * _BITS[dtype] // 8
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [place, place + size]}
        place += size
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + bytes(place)


def write_safetensors(
    folder: Path,
    config: Mapping[str, Any],
    tensors: Mapping[str, tuple[str, Sequence[int]]],
    *,
    shards: int = 1,
) -> Path:
    """A folder with a configuration and weights, in one file or in shards with their index."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    if shards == 1:
        (folder / "model.safetensors").write_bytes(safetensors_bytes(tensors))
        return folder
    names = list(tensors)
    weight_map: dict[str, str] = {}
    for shard in range(shards):
        file = f"model-{shard + 1:05d}-of-{shards:05d}.safetensors"
        own = names[shard::shards]
        (folder / file).write_bytes(safetensors_bytes({name: tensors[name] for name in own}))
        weight_map |= dict.fromkeys(own, file)
    (folder / "model.safetensors.index.json").write_text(
        json.dumps({"metadata": {}, "weight_map": weight_map})
    )
    return folder


def llama_config(**more: Any) -> dict[str, Any]:
    """A dense model of two layers in Transformers' words."""
    config: dict[str, Any] = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 2048,
        "vocab_size": 96,
        "torch_dtype": "bfloat16",
    }
    return config | more


def llama_weights(
    dtype: str = "BF16", layers: int = 2, head: bool = True
) -> dict[str, tuple[str, Sequence[int]]]:
    """Its weights."""
    weights: dict[str, tuple[str, Sequence[int]]] = {"model.embed_tokens.weight": ("BF16", (96, 64))}
    for layer in range(layers):
        begin = f"model.layers.{layer}"
        weights |= {
            f"{begin}.input_layernorm.weight": ("BF16", (64,)),
            f"{begin}.self_attn.q_proj.weight": (dtype, (64, 64)),
            f"{begin}.self_attn.k_proj.weight": (dtype, (32, 64)),
            f"{begin}.self_attn.v_proj.weight": (dtype, (32, 64)),
            f"{begin}.self_attn.o_proj.weight": (dtype, (64, 64)),
            f"{begin}.mlp.up_proj.weight": (dtype, (128, 64)),
            f"{begin}.mlp.down_proj.weight": (dtype, (64, 128)),
        }
    weights["model.norm.weight"] = ("BF16", (64,))
    if head:
        weights["lm_head.weight"] = ("BF16", (96, 64))
    return weights

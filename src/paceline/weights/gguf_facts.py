"""What a GGUF header's keys say of the model. The keys: ggml/docs/gguf.md and gguf-py/gguf/constants.py."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paceline.weights.gguf import GgufHeader, LongList, Value
from paceline.weights.model import ModelFileError, Tensor

_MOST_LAYERS = 4096
_MOST = 1 << 32
# Where a file does not say which layers slide, llama.cpp knows it by the architecture (src/models/*.cpp): of
# so many layers in a row the last sees all, the others the window.
_PERIODS = {
    "gemma2": 2,
    "gemma3": 6,
    "gemma-embedding": 6,
    "gemma3n": 5,
    "gpt-oss": 2,
    "cohere2": 4,
    "exaone4": 4,
    "exaone-moe": 4,
    "olmo2": 4,
    "llama4": 4,
    "afmoe": 4,
    "plamo3": 8,
}
# As above, but the first of the row is the one that sees all.
_PERIODS_FULL_FIRST = {"smallthinker": 4}
_WINDOWS = {"gemma2": 4096, "llama4": 8192, "smallthinker": 4096}
# Recurrent layers with one of attention after each so many (key `full_attention_interval`).
_INTERVALS = {"qwen3next": 4, "qwen35": 4, "qwen35moe": 4}


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of one model, checked as they are asked for. Raises ModelFileError for what cannot be."""

    path: Path
    architecture: str
    found: Mapping[str, Value]

    def integer(self, key: str, default: int | None = None, most: int = _MOST) -> int:
        """A whole number from 0 to `most`; of a list the largest. Without a default it must be there."""
        value = self.found.get(f"{self.architecture}.{key}")
        if value is None and default is not None:
            return default
        if value is None:
            raise ModelFileError(
                f"{self.path}: the header has no {self.architecture}.{key}",
                "give the model itself, not an adapter or a projector; else convert it again",
            )
        numbers = value if isinstance(value, tuple) and value else (value,)
        return max(self._checked(key, number, most) for number in numbers)

    def each_layer(self, key: str, layers: int, default: int) -> tuple[int, ...]:
        """One whole number a layer, from a list or from one number for all."""
        value = self.found.get(f"{self.architecture}.{key}", default)
        numbers = value if isinstance(value, tuple) else (value,) * layers
        if len(numbers) < layers:
            raise ModelFileError(
                f"{self.path}: {self.architecture}.{key} is for {len(numbers)} layers of {layers}",
                "convert the weights again",
            )
        return tuple(self._checked(key, number, _MOST) for number in numbers[:layers])

    def has(self, key: str) -> bool:
        """Whether the key is there."""
        return f"{self.architecture}.{key}" in self.found

    def raw(self, key: str) -> Value | None:
        """The value as it is."""
        return self.found.get(f"{self.architecture}.{key}")

    def _checked(self, key: str, value: Any, most: int) -> int:
        if not isinstance(value, int) or not 0 <= value <= most:
            raise ModelFileError(
                f"{self.path}: {self.architecture}.{key} cannot be {repr(value)[:40]}",
                "the file is broken: download it again",
            )
        return int(value)


def gguf_shape(header: GgufHeader, tensors: Sequence[Tensor]) -> dict[str, Any]:
    """The fields of ModelFacts that the keys tell. Raises ModelFileError where the file is no language
    model."""
    keys = Keys(header.path, _architecture(header, tensors), header.keys)
    blocks = keys.integer("block_count", most=_MOST_LAYERS)
    extra = keys.integer("nextn_predict_layers", 0, most=blocks)
    layers = blocks - extra
    embedding = keys.integer("embedding_length")
    heads = keys.integer("attention.head_count", 0)
    head_dim = embedding // heads if heads else 0
    latent = keys.integer("attention.kv_lora_rank", 0) if keys.has("attention.key_length_mla") else 0
    dims = keys.integer("attention.key_length", head_dim), keys.integer("attention.value_length", head_dim)
    experts = keys.integer("expert_count", 0)
    window, sliding = _sliding(keys, layers)
    sliding_dims = (
        keys.integer("attention.key_length_swa", dims[0]),
        keys.integer("attention.value_length_swa", dims[1]),
    )
    return {
        "name": _name(header),
        "architecture": keys.architecture,
        "layers": layers,
        "embedding": embedding,
        "heads": heads,
        "kv_heads": _kv_heads(keys, layers, heads),
        "key_dim": dims[0],
        "value_dim": dims[1],
        "context_tokens": keys.integer("context_length", 0),
        "vocabulary": _vocabulary(keys, tensors),
        "experts": experts,
        "experts_used": keys.integer("expert_used_count", 0, most=experts),
        "sliding_window": window,
        "sliding": sliding,
        "extra_heads": extra,
        "tied_embeddings": not any(tensor.name == "output.weight" for tensor in tensors),
        "latent_dim": latent,
        "sliding_dims": sliding_dims if sliding_dims != dims else None,
        "state_bytes": _state_bytes(keys, layers, embedding, tensors),
        "indexer": _indexer(keys),
        "shared_kv_layers": min(keys.integer("attention.shared_kv_layers", 0), layers),
    }


def _architecture(header: GgufHeader, tensors: Sequence[Tensor]) -> str:
    kind = header.keys.get("general.type", "model")
    architecture = header.keys.get("general.architecture")
    if kind in ("adapter", "imatrix", "mmproj") or architecture == "clip":
        what = {"adapter": "a LoRA adapter", "imatrix": "an importance matrix"}.get(
            str(kind), "a projector for images or sound"
        )
        raise ModelFileError(f"{header.path} is {what}, no model", "give the model that it belongs to")
    if not isinstance(architecture, str) or not architecture:
        raise ModelFileError(
            f"{header.path}: the header has no general.architecture", "the file is broken: download it again"
        )
    if not tensors:
        raise ModelFileError(f"{header.path} holds no weights, only keys", "give the model's own file")
    return architecture


def _name(header: GgufHeader) -> str:
    for key in ("general.name", "general.basename"):
        value = header.keys.get(key)
        if isinstance(value, str) and value.strip():
            return value.strip()
    return header.path.stem


def _vocabulary(keys: Keys, tensors: Sequence[Tensor]) -> int:
    tokens = keys.found.get("tokenizer.ggml.tokens")
    if isinstance(tokens, LongList):
        return tokens.count
    rows = next(
        (tensor.shape[0] for tensor in tensors if tensor.name == "token_embd.weight" and tensor.shape), 0
    )
    return keys.integer("vocab_size", rows)


def _kv_heads(keys: Keys, layers: int, heads: int) -> tuple[int, ...]:
    kv_heads = keys.each_layer("attention.head_count_kv", layers, heads)
    recurrent = keys.raw("attention.recurrent_layers")
    interval = keys.integer("full_attention_interval", _INTERVALS.get(keys.architecture, 0))
    if isinstance(recurrent, tuple) and len(recurrent) >= layers:
        return tuple(0 if recurrent[layer] else count for layer, count in enumerate(kv_heads))
    if interval:
        return tuple(0 if (layer + 1) % interval else count for layer, count in enumerate(kv_heads))
    return kv_heads


def _indexer(keys: Keys) -> tuple[int, int, int] | None:
    picked = keys.integer("attention.indexer.top_k", 0)
    if not picked:
        return None
    heads, dim = (
        keys.integer("attention.indexer.head_count", 0),
        keys.integer("attention.indexer.key_length", 0),
    )
    return picked, heads, dim


def _sliding(keys: Keys, layers: int) -> tuple[int | None, tuple[bool, ...]]:
    """The window, and which layers have it."""
    window = keys.integer("attention.sliding_window", _WINDOWS.get(keys.architecture, 0))
    none = (False,) * layers
    if not window:
        return None, none
    pattern = keys.raw("attention.sliding_window_pattern")
    if isinstance(pattern, tuple) and pattern:
        # A list shorter than the layers repeats.
        return window, tuple(bool(pattern[layer % len(pattern)]) for layer in range(layers))
    if keys.architecture == "exaone4" and layers != 64:
        # Of this family only the model of 32B parameters slides.
        return None, none
    if keys.architecture in _PERIODS_FULL_FIRST:
        period = keys.integer("attention.sliding_window_pattern", _PERIODS_FULL_FIRST[keys.architecture])
        return window, tuple(not period or layer % period != 0 for layer in range(layers))
    if pattern is None and keys.architecture not in _PERIODS:
        # llama.cpp heeds the window of no other architecture (Phi 3's least of all).
        return None, none
    period = keys.integer("attention.sliding_window_pattern", _PERIODS.get(keys.architecture))
    return window, tuple(not period or layer % period < period - 1 for layer in range(layers))


def _state_bytes(keys: Keys, layers: int, embedding: int, tensors: Sequence[Tensor]) -> int:
    """What one stream's recurrent layers keep, in f32.

    n_embd_r and n_embd_s of llama.cpp's src/llama-hparams.cpp. Of Mamba, gated delta nets, short
    convolutions and RWKV; other kinds count as nothing.
    """
    recurrent = {
        tensor.name.split(".")[1]
        for tensor in tensors
        if tensor.name.startswith("blk.")
        and any(part in tensor.name for part in (".ssm_", ".shortconv", ".time_mix"))
    }
    count = min(len(recurrent), layers)
    if keys.has("wkv.head_size"):
        return 4 * count * embedding * (keys.integer("token_shift_count", 2) + keys.integer("wkv.head_size"))
    if keys.has("shortconv.l_cache"):
        return 4 * count * embedding * max(keys.integer("shortconv.l_cache") - 1, 0)
    inner, state = keys.integer("ssm.inner_size", 0), keys.integer("ssm.state_size", 0)
    shifted = max(keys.integer("ssm.conv_kernel", 0) - 1, 0)
    return 4 * count * (shifted * (inner + 2 * keys.integer("ssm.group_count", 0) * state) + state * inner)

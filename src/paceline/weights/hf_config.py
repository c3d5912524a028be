"""What a model's `config.json` says of its shape, in the words of Hugging Face's Transformers."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paceline.weights.model import ModelFileError, Tensor

_MOST_LAYERS = 4096
_MOST = 1 << 40
# Where a model for images and text keeps what concerns the text.
_NESTED = ("text_config", "llm_config", "language_config", "language_model_config", "thinker_config")
# What a configuration leaves out, because Transformers' class of that type has it as its default.
_DEFAULTS: dict[str, dict[str, Any]] = {
    "gemma3_text": {
        "num_attention_heads": 8,
        "num_key_value_heads": 4,
        "head_dim": 256,
        "vocab_size": 262_208,
        "max_position_embeddings": 131_072,
        "sliding_window": 4096,
        "sliding_window_pattern": 6,
    },
    "gemma2": {"head_dim": 256, "sliding_window": 4096, "sliding_window_pattern": 2},
    "gemma": {"head_dim": 256},
    "cohere2": {"sliding_window": 4096, "sliding_window_pattern": 4},
    "qwen3": {"head_dim": 128},
    "qwen3_next": {"full_attention_interval": 4, "head_dim": 256},
}
_SLIDING = frozenset(("sliding_attention", "chunked_attention", "local_attention"))
_ATTENTION = _SLIDING | {"full_attention", "attention", "global_attention", "hybrid"}
# A layer's index within the part that drafts.
_EXTRA_LAYER = re.compile(r"(?:^|\.)(?:mtp|mtp_layers|mtp\.layers)\.(\d+)\.")


@dataclass(frozen=True, slots=True)
class _Config:
    """The part that concerns the text; `outer` is the whole. Raises ModelFileError for what cannot be."""

    path: Path
    values: Mapping[str, Any]
    outer: Mapping[str, Any]

    def get(self, *keys: str) -> Any:
        """The first key that is there and not null, in the text's part, the whole, or the type's defaults."""
        defaults = _DEFAULTS.get(str(self.values.get("model_type", "")), {})
        for holder in (self.values, self.outer, defaults):
            for key in keys:
                if holder.get(key) is not None:
                    return holder[key]
        return None

    def integer(self, *keys: str, default: int | None = None, most: int = _MOST) -> int:
        """A whole number from 0 to `most`; without a default it must be there."""
        value = self.get(*keys)
        if isinstance(value, list) and value:
            value = max((item for item in value if type(item) is int), default=None)
        if value is None and default is not None:
            return default
        if value is None:
            raise ModelFileError(
                f"{self.path} has no {keys[0]}",
                "give a language model: Paceline reads Transformers' configurations",
            )
        if type(value) is not int or not 0 <= value <= most:
            shown = repr(value)[:40]
            raise ModelFileError(f"{self.path}: {keys[0]} cannot be {shown}", "download config.json again")
        return value


def config_shape(path: Path, config: Mapping[str, Any], tensors: Sequence[Tensor]) -> dict[str, Any]:
    """The fields of ModelFacts that a configuration tells; path: its file, for errors.

    Raises ModelFileError where it is of no language model.
    """
    found = _Config(path, _text_part(config), config)
    layers = found.integer("num_hidden_layers", "n_layer", "num_layers", "n_layers", most=_MOST_LAYERS)
    embedding = found.integer("hidden_size", "n_embd", "d_model", "dim")
    heads = found.integer("num_attention_heads", "n_head", "n_heads", "num_heads")
    head_dim = found.integer("head_dim", "kv_channels", default=embedding // heads if heads else 0)
    # Gemma 4's layers that see all have wider and fewer heads of their own.
    full_dim = found.integer("global_head_dim", default=head_dim)
    latent = found.integer("kv_lora_rank", default=0)
    kinds = _layer_kinds(found, layers)
    window, sliding = _sliding(found, layers, kinds)
    experts = found.integer(
        "num_local_experts",
        "num_experts",
        "n_routed_experts",
        "moe_num_experts",
        "num_moe_experts",
        default=0,
    )
    return {
        "name": _name(path, config),
        "architecture": _architecture(found, config),
        "layers": layers,
        "embedding": embedding,
        "heads": heads,
        "kv_heads": _kv_heads(found, layers, heads, kinds, latent),
        "key_dim": latent + found.integer("qk_rope_head_dim", default=0) if latent else full_dim,
        "value_dim": latent or found.integer("v_head_dim", default=full_dim),
        "context_tokens": found.integer(
            "max_position_embeddings",
            "n_positions",
            "max_seq_len",
            "seq_length",
            "model_max_length",
            default=0,
        ),
        "vocabulary": found.integer("vocab_size", default=0),
        "experts": experts if experts > 1 else 0,
        "experts_used": min(_experts_used(found), experts) if experts > 1 else 0,
        "sliding_window": window,
        "sliding": sliding,
        "extra_heads": _extra_heads(found, layers, tensors),
        "tied_embeddings": found.get("tie_word_embeddings") is True or not _has_head(tensors),
        "latent_dim": latent,
        "sliding_dims": (head_dim, head_dim) if head_dim != full_dim else None,
        "state_bytes": _state_bytes(found, kinds),
        "indexer": _indexer(found),
        "shared_kv_layers": found.integer("num_kv_shared_layers", default=0, most=layers),
    }


def _text_part(config: Mapping[str, Any], depth: int = 0) -> Mapping[str, Any]:
    for key in _NESTED if depth < 3 else ():
        nested = config.get(key)
        if isinstance(nested, Mapping):
            deeper = _text_part(nested, depth + 1)
            if any(name in deeper for name in ("hidden_size", "num_hidden_layers", "n_layer")):
                return deeper
    return config


def _name(path: Path, config: Mapping[str, Any]) -> str:
    said = config.get("_name_or_path")
    if isinstance(said, str) and said.strip("./ "):
        return said.rstrip("/").rpartition("/")[2]
    # In the hub's cache a folder is named by its commit, and the model three folders above.
    folder = path.absolute().parent
    if folder.parent.name == "snapshots" and folder.parent.parent.name.startswith("models--"):
        return folder.parent.parent.name.rpartition("--")[2]
    return folder.name


def _architecture(found: _Config, config: Mapping[str, Any]) -> str:
    for value in (found.values.get("model_type"), config.get("model_type")):
        if isinstance(value, str) and value:
            return value
    classes = config.get("architectures")
    return str(classes[0]) if isinstance(classes, list) and classes else "unknown"


def _experts_used(found: _Config) -> int:
    return found.integer(
        "num_experts_per_tok", "num_experts_per_token", "experts_per_token", "moe_topk", "moe_k"
    )


def _layer_kinds(found: _Config, layers: int) -> tuple[str, ...] | None:
    """What each layer is, where that is said: `full_attention`, `sliding_attention`, `linear_attention`..."""
    kinds = found.get("layer_types", "layers_block_type")
    if isinstance(kinds, list) and len(kinds) >= layers:
        return tuple(str(kind) for kind in kinds[:layers])
    interval = found.get("full_attention_interval")
    if type(interval) is int and interval > 0:
        return tuple(
            "linear_attention" if (layer + 1) % interval else "full_attention" for layer in range(layers)
        )
    return None


def _kv_heads(
    found: _Config, layers: int, heads: int, kinds: tuple[str, ...] | None, latent: int
) -> tuple[int, ...]:
    one_head = found.get("multi_query") is True and found.get("num_key_value_heads", "num_kv_heads") is None
    if latent or one_head:
        count = 1
    else:
        count = found.integer(
            "num_key_value_heads", "num_kv_heads", "n_head_kv", "multi_query_group_num", default=heads
        )
    full = found.integer("num_global_key_value_heads", default=count)
    if kinds is None:
        return (count,) * layers
    return tuple(0 if kind not in _ATTENTION else count if kind in _SLIDING else full for kind in kinds)


def _sliding(
    found: _Config, layers: int, kinds: tuple[str, ...] | None
) -> tuple[int | None, tuple[bool, ...]]:
    """The window, and which layers have it."""
    none = (False,) * layers
    window = found.integer("sliding_window", "attention_chunk_size", "sliding_window_size", default=0)
    if not window or found.get("use_sliding_window") is False:
        return None, none
    if kinds is not None:
        sliding = tuple(kind in _SLIDING for kind in kinds)
        return (window, sliding) if any(sliding) else (None, none)
    period = found.integer("sliding_window_pattern", "_sliding_window_pattern", default=0)
    if not period and found.get("attention_chunk_size"):
        # Llama 4: of four layers the last sees all.
        period = found.integer("no_rope_layer_interval", default=4)
    if period:
        return window, tuple((layer + 1) % period != 0 for layer in range(layers))
    if found.get("use_sliding_window") is True:
        # Qwen 2: the first `max_window_layers` see all.
        first = found.integer("max_window_layers", default=0)
        return window, tuple(layer >= first for layer in range(layers))
    return window, (True,) * layers


def _indexer(found: _Config) -> tuple[int, int, int] | None:
    picked = found.integer("index_topk", default=0)
    if not picked:
        return None
    return picked, found.integer("index_n_heads", default=0), found.integer("index_head_dim", default=0)


def _extra_heads(found: _Config, layers: int, tensors: Sequence[Tensor]) -> int:
    """Layers that predict further tokens, of which the files hold the weights."""
    said = found.integer(
        "num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_layers", "num_mtp_modules", default=0
    )
    numbered = {match.group(1) for tensor in tensors if (match := _EXTRA_LAYER.search(tensor.name))}
    there = numbered or any(f"layers.{layers}." in tensor.name for tensor in tensors)
    there = there or any(tensor.name.startswith(("mtp.", "model.mtp.")) for tensor in tensors)
    return max(said, len(numbered), 1) if there else 0


def _has_head(tensors: Sequence[Tensor]) -> bool:
    return any(
        {"lm_head", "embed_out"} & set(tensor.name.split(".")) or tensor.name == "output.weight"
        for tensor in tensors
    )


def _state_bytes(found: _Config, kinds: tuple[str, ...] | None) -> int:
    """What one stream keeps in layers of linear attention (gated delta nets), in f32; of others nothing."""
    layers = sum(kind == "linear_attention" for kind in kinds or ())
    if not layers:
        return 0
    keys = found.integer("linear_num_key_heads", default=0) * found.integer("linear_key_head_dim", default=0)
    value_heads = found.integer("linear_num_value_heads", default=0)
    value_dim = found.integer("linear_value_head_dim", default=0)
    shifted = max(found.integer("linear_conv_kernel_dim", default=1) - 1, 0)
    state = value_heads * value_dim * found.integer("linear_key_head_dim", default=0)
    return 4 * layers * (state + shifted * (2 * keys + value_heads * value_dim))

"""What a tensor is for in a step of decoding, by its name; the names are those of GGUF and of Hugging Face
models."""

import re
from typing import Literal

from paceline.weights.model import ModelFacts, Tensor

# table: only rows of it are looked up. head: from the last layer to the vocabulary. dense: every token goes
# through. expert: routed experts, all of them. extra, extra_expert: layers that draft (MTP). other: for
# images and sound, and second copies; no step of decoding text reads them.
Part = Literal["table", "head", "dense", "expert", "extra", "extra_expert", "other"]

_LAYER = re.compile(r"(?:^|\.)(?:blk|layers|h|blocks)\.(\d+)\.")
_TABLES = frozenset(
    (
        "token_embd",
        "position_embd",
        "token_types",
        "per_layer_token_embd",
        "embed_tokens",
        "embed_tokens_per_layer",
        "word_embeddings",
        "tok_embeddings",
        "embed_in",
        "embeddings",
        "wte",
        "wpe",
        "embd",
    )
)
_MAIN_TABLES = _TABLES - {
    "position_embd",
    "token_types",
    "per_layer_token_embd",
    "embed_tokens_per_layer",
    "wpe",
}
_HEADS = frozenset(("lm_head", "embed_out", "output"))
_ROUTED = re.compile(r"_exps(?:\.|$)|\.experts\.")
_OTHER = re.compile(
    r"^(?:v|a|mm)\.|(?:^|\.)(?:visual|vision_\w+|audio_\w+|vision"
    r"|multi_modal_projector|mm_projector|multimodal_projector|embed_vision|embed_audio|image_newline)\."
)
_EXTRA = re.compile(r"(?:^|\.)(?:mtp|mtp_layers|nextn_predict_layers)\.")
# How a name ends where it is a matrix that a token is multiplied with, not its scales or biases.
_MATRIX = (
    ".weight",
    ".qweight",
    ".weight_packed",
    "gate_up_proj",
    ".gate_proj",
    ".up_proj",
    ".down_proj",
    "_blocks",
)


def part_of(facts: ModelFacts, tensor: Tensor) -> Part:
    """What a tensor is for."""
    name = tensor.name
    layer = _LAYER.search(name)
    if _EXTRA.search(name) or (layer and int(layer.group(1)) >= facts.layers and not _OTHER.search(name)):
        if _words(name) & _TABLES:
            return "other"
        return "extra_expert" if _ROUTED.search(name) else "extra"
    if _OTHER.search(name):
        return "other"
    if layer is None:
        words = _words(name)
        if words & _TABLES:
            return "table"
        if words & _HEADS:
            return "head"
    return "expert" if _ROUTED.search(name) else "dense"


def is_main_table(tensor: Tensor) -> bool:
    """Whether it is the vocabulary's embedding table, which may serve as output head too."""
    return bool(_words(tensor.name) & _MAIN_TABLES)


def is_matrix(tensor: Tensor) -> bool:
    """Whether tokens are multiplied with it: two operations for each of its numbers."""
    return len(tensor.shape) >= 2 and tensor.name.endswith(_MATRIX)


def _words(name: str) -> set[str]:
    return set(name.split("."))

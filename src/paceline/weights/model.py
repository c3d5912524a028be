"""What is known of a model from the headers of its files."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from paceline.errors import UsageError

ModelFormat = Literal["gguf", "safetensors"]


class ModelFileError(UsageError):
    """A model's file is missing, cut, or not what it must be."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """One tensor of the model.

    type: as the file names it, lower case (`q4_k`, `bf16`), or `int4` where a quantised model packs its
    weights into wider numbers. shape: of the weights as they are computed with, outermost side first. bytes:
    as stored.
    """

    name: str
    type: str
    shape: tuple[int, ...]
    bytes: int

    @property
    def elements(self) -> int:
        """How many numbers it holds."""
        count = 1
        for side in self.shape:
            count *= side
        return count


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """A model by its headers.

    path: the file or folder that was given. files: all that belong to it (parts of a split model).
    kv_heads: one count a layer (0: the layer keeps no KV). key_dim, value_dim: numbers a head keeps a token.
    sliding_window: tokens that a sliding layer keeps; sliding: which layers do, one flag a layer.
    context_tokens: what it was trained for. experts_used: that one token goes through; 0 for dense models.
    latent_dim: with latent attention (MLA) the numbers of `key_dim` that are the values too; 0 without.
    sliding_dims: key_dim and value_dim of sliding layers, where they have their own. state_bytes: what one
    stream keeps in recurrent layers, whatever its context. indexer: of sparse attention (DeepSeek V3.2), the
    tokens that it picks, its heads, the numbers of the key that it keeps a token. shared_kv_layers: so many
    last layers keep no KV and read an earlier layer's.
    layers: without those that only predict further tokens; extra_heads: layers that predict further tokens
    (MTP), which a server may draft with. fingerprint: sixteen hex digits of the headers and sizes, the same
    wherever the same file lies.
    """

    path: Path
    files: tuple[Path, ...]
    format: ModelFormat
    name: str
    architecture: str
    layers: int
    embedding: int
    heads: int
    kv_heads: tuple[int, ...]
    key_dim: int
    value_dim: int
    context_tokens: int
    vocabulary: int
    experts: int
    experts_used: int
    sliding_window: int | None
    sliding: tuple[bool, ...]
    extra_heads: int
    tied_embeddings: bool
    tensors: tuple[Tensor, ...]
    file_bytes: int
    fingerprint: str
    latent_dim: int = 0
    sliding_dims: tuple[int, int] | None = None
    state_bytes: int = 0
    shared_kv_layers: int = 0
    indexer: tuple[int, int, int] | None = None

    @property
    def parameters(self) -> int:
        """How many numbers the model has."""
        return sum(tensor.elements for tensor in self.tensors)

    @property
    def weight_bytes(self) -> int:
        """What all tensors take, as stored."""
        return sum(tensor.bytes for tensor in self.tensors)

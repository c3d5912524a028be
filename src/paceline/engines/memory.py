"""What llama.cpp will take of the memory, by the model's headers and the settings; and whether it is there.

The KV cache follows the engine's own rules exactly (src/llama-context.cpp, src/llama-kv-cache.cpp and
src/llama-kv-cache-iswa.cpp); the buffers of the computation are an estimate, meant to be a little too large.
"""

from dataclasses import dataclass, replace

from paceline.engines.machine import Machine
from paceline.errors import UsageError
from paceline.units import format_bytes
from paceline.weights.kv import cell_bytes
from paceline.weights.model import ModelFacts, Tensor
from paceline.weights.parts import is_matrix, part_of

# llama.cpp makes every count of cells a multiple of this.
_PAD = 256
# llama-server's own default (--ubatch-size): tokens that go through the model at once.
BATCH_TOKENS = 512
# The process itself, and what the tokenizer keeps a word of the vocabulary: with 262,144 words, 334 MiB were
# resident where the buffers were 277 MiB (llama.cpp b11434, Gemma 3 270M).
_PROCESS_BYTES = 24 << 20
_WORD_BYTES = 200


@dataclass(frozen=True, slots=True)
class Cache:
    """How llama.cpp lays its KV cache out.

    cells: tokens of context in all (`--ctx-size`). slots: `--parallel`. unified: one cache for all slots
    (`--kv-unified`), else each has its share. batch_tokens: `--ubatch-size`. sliding_full: `--swa-full`.
    """

    cells: int
    slots: int = 1
    unified: bool = True
    batch_tokens: int = BATCH_TOKENS
    sliding_full: bool = False
    key_type: str = "f16"
    value_type: str = "f16"

    @property
    def streams(self) -> int:
        """How many caches there are."""
        return 1 if self.unified else max(self.slots, 1)

    @property
    def cells_each(self) -> int:
        """Cells of one cache, in layers that see the whole context."""
        whole = _padded(self.cells)
        return whole if self.unified else _padded(whole // self.streams)

    def sliding_cells(self, window: int) -> int:
        """Cells of one cache in layers with a window: the window of each of its slots, and a batch."""
        if self.sliding_full:
            return self.cells_each
        windows = window * (max(self.slots, 1) if self.unified else 1)
        return _padded(min(self.cells_each, windows + self.batch_tokens))


@dataclass(frozen=True, slots=True)
class Needs:
    """Memory of a server, by what takes it, in bytes. weights, kv: exact; compute, process: estimates.

    On Gemma 3 270M with llama.cpp b11434, over context lengths, slots, batches and types, kv was what the log
    said, and compute 0% to 30% more.
    """

    weights_bytes: int
    kv_bytes: int
    compute_bytes: int
    process_bytes: int

    @property
    def total_bytes(self) -> int:
        """All together."""
        return self.weights_bytes + self.kv_bytes + self.compute_bytes + self.process_bytes


def server_needs(facts: ModelFacts, cache: Cache, *, draft_tokens: int = 0, flash: bool = True) -> Needs:
    """What `llama-server` takes with a model.

    draft_tokens: that a slot's step verifies at most beside its own; flash: flash attention (the engine's
    default). The prompt cache in memory (`--cache-ram`) comes on top, as it fills. Raises ValueError for a
    type of KV cache that is not known.
    """
    return Needs(
        weights_bytes=facts.weight_bytes,
        kv_bytes=cache_bytes(facts, cache),
        compute_bytes=_compute_bytes(facts, cache, max(cache.slots, 1) * (1 + draft_tokens), flash),
        process_bytes=_PROCESS_BYTES + _WORD_BYTES * facts.vocabulary,
    )


def cache_bytes(facts: ModelFacts, cache: Cache) -> int:
    """The KV cache as llama.cpp allocates it at its start, with the states of recurrent layers.

    Raises ValueError for a type that is not known.
    """
    total = 0
    for layer in range(max(facts.layers - facts.shared_kv_layers, 0)):
        sliding = facts.sliding_window is not None and facts.sliding[layer]
        cells = cache.sliding_cells(facts.sliding_window or 0) if sliding else cache.cells_each
        total += cells * cell_bytes(facts, layer, cache.key_type, cache.value_type)
    return cache.streams * total + max(cache.slots, 1) * facts.state_bytes


def longest_context(
    facts: ModelFacts, cache: Cache, room: int, *, draft_tokens: int = 0, flash: bool = True
) -> int:
    """Most cells, up to the cache's own, with which the server fits into `room` bytes; 0: not even the
    least."""

    def fits(cells: int) -> bool:
        shorter = replace(cache, cells=cells)
        return server_needs(facts, shorter, draft_tokens=draft_tokens, flash=flash).total_bytes <= room

    low, high = 0, max(cache.cells // _PAD, 0)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle * _PAD) else (low, middle - 1)
    return low * _PAD


def room_bytes(machine: Machine) -> int:
    """Memory that an engine may still take: of the GPUs, where there are some, and of the machine."""
    return machine.free_bytes + sum(gpu.free_bytes for gpu in machine.gpus)


def check_memory(needs_bytes: int, machine: Machine, what: str, *, context: int | None = None) -> None:
    """Raise UsageError where a machine has not the memory for `what` (the start of a sentence).

    context: the longest with which it would fit, if that is known; 0 where none would.
    """
    room = room_bytes(machine)
    if needs_bytes <= room:
        return
    smaller = "fewer slots, or a smaller type of KV cache (q8_0 takes half of f16)"
    if context:
        hint = f"take a context of at most {context:,} tokens, {smaller}"
    elif context == 0:
        hint = "no shorter context helps: take a smaller model, or a smaller quantisation of it"
    else:
        hint = f"take a shorter context, {smaller}, or a smaller quantisation of the model"
    where = "memory and the GPUs' together" if machine.gpus else "memory"
    raise UsageError(
        f"{what} would take about {format_bytes(needs_bytes)}, and {format_bytes(room)} of {where} is free"
        f" ({format_bytes(needs_bytes - room)} too little)",
        f"{hint}; or stop what else takes the memory",
    )


def _padded(cells: int) -> int:
    return -(-cells // _PAD) * _PAD


def _compute_bytes(facts: ModelFacts, cache: Cache, outputs: int, flash: bool) -> int:
    """Buffers of one step: masks of what a token may see, a batch's activations, and the logits.

    Without flash attention the scores of every head stand in memory too, in f32.
    """
    tokens = min(cache.batch_tokens, cache.cells_each)
    seen = cache.cells_each + (cache.sliding_cells(facts.sliding_window) if facts.sliding_window else 0)
    masks = 2 * tokens * seen
    widest = max((_outputs_of(facts, tensor) for tensor in facts.tensors), default=0)
    activations = 4 * tokens * (4 * widest + 2 * facts.embedding)
    # Of all tokens whose logits are asked for, and again of one a slot, where the sampler takes them.
    logits = 4 * (outputs + max(cache.slots, 1)) * facts.vocabulary
    scores = 0 if flash else 4 * facts.heads * tokens * cache.cells_each
    return masks + activations + logits + scores


def _outputs_of(facts: ModelFacts, tensor: Tensor) -> int:
    """Numbers of one token's product with a layer's matrix; with those of all experts that it goes
    through."""
    part = part_of(facts, tensor)
    if part not in ("dense", "expert") or not is_matrix(tensor):
        return 0
    return tensor.shape[-2] * (max(facts.experts_used, 1) if part == "expert" else 1)

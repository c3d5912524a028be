"""How a model lies on GPUs: over how many, how often, and what is left for the KV cache."""

from collections import Counter
from dataclasses import dataclass

from paceline.engines.engine import Tier
from paceline.engines.gathered import Gathered
from paceline.engines.machine import Gpu
from paceline.errors import ConfigError
from paceline.units import format_bytes
from paceline.weights.kv import kv_bytes
from paceline.weights.model import ModelFacts

# Beside weights and KV: activations, CUDA graphs, the libraries' own. Engines measure it when they start; on
# current GPUs it is some percent of the memory.
OVERHEAD_SHARE = 0.06
# That a request is expected to hold, where slots are counted: a prompt of some thousands and its answer.
REQUEST_TOKENS = 4096
LEAST_TOKENS = 1024
_MOST_SLOTS = 1024


@dataclass(frozen=True, slots=True)
class Fit:
    """gpus: that one copy of the model is split over. copies: that run beside each other.

    weight_bytes: of one copy. room_bytes: left for the KV cache of one copy, estimated. context_tokens: most
    that one request can hold, at most the model's own. kv_factor: how often a copy's GPUs hold the KV.
    """

    gpus: int
    copies: int
    weight_bytes: int
    room_bytes: int
    context_tokens: int
    kv_factor: float

    def slots(self, kv_of_a_request: int) -> int:
        """Requests that one copy's KV cache holds at once."""
        return max(1, min(int(self.room_bytes / max(kv_of_a_request * self.kv_factor, 1.0)), _MOST_SLOTS))

    def needs_bytes(self, model: ModelFacts, tokens: int) -> int:
        """Weights, and the KV of one request of so many tokens: the least of a start, on all GPUs."""
        one = kv_bytes(model, tokens, "bf16", "bf16") * self.kv_factor
        return int((self.weight_bytes + one) * self.copies)


def alike(gpus: tuple[Gpu, ...]) -> tuple[Gpu, ...]:
    """The most GPUs of one kind: a model is split over equal ones only."""
    if not gpus:
        return ()
    name = Counter(gpu.name for gpu in gpus).most_common(1)[0][0]
    return tuple(gpu for gpu in gpus if gpu.name == name)


def free_share(gpus: tuple[Gpu, ...], usual: float) -> float:
    """Share of each GPU's memory that an engine may take: the usual one, or what is free, less 2 %."""
    free = min(gpu.free_bytes / max(gpu.memory_bytes, 1) for gpu in gpus)
    return usual if free - 0.02 >= usual else max(int((free - 0.02) * 100) / 100, 0.05)


def fit(model: ModelFacts, gpus: tuple[Gpu, ...], share: float, *, widest: bool) -> Fit:
    """A model on equal GPUs, of each of which an engine takes `share`.

    widest: over as many as its heads can be split over, for the latency of one request; else over as few as
    hold it with a third of the room for KV, and copies on the rest. Raises ConfigError where the weights do
    not fit, or no request does beside them.
    """
    splits = [count for count in range(1, len(gpus) + 1) if _splits(model, count)]
    each = min(gpu.memory_bytes for gpu in gpus) * share
    weights = model.weight_bytes
    roomy = [count for count in splits if weights <= each * count * 0.67]
    count = splits[-1] if widest or not roomy else roomy[0]
    overhead = min(gpu.memory_bytes for gpu in gpus) * OVERHEAD_SHARE
    room = int((each - overhead) * count - weights)
    factor = kv_factor(model, count)
    context = longest_context(model, room / factor) if room > 0 else 0
    if context < min(LEAST_TOKENS, model.context_tokens):
        raise _too_small(model, gpus, share, count)
    # Copies of a model of experts work in step with each other: left to the user.
    copies = 1 if widest or model.experts else len(gpus) // count
    return Fit(count, copies, weights, room, context, factor)


def add_spread(
    made: Gathered, tier: Tier, gpus: tuple[Gpu, ...], fitted: Fit | None, *, split: str, copies: str
) -> None:
    """How a model lies on the GPUs, by the engine's options for parts of it and for copies."""
    count = fitted.gpus if fitted is not None else len(gpus)
    if count > 1:
        if tier != "standard":
            why = "each GPU reads its part of the weights: a token comes sooner"
        elif fitted is None:
            why = "all GPUs: the model's size is not known before it is fetched"
        else:
            why = "as few GPUs as hold the model with room for KV"
        made.add(split, count, why)
    if fitted is not None and fitted.copies > 1:
        made.add(copies, fitted.copies, "copies of the model on the other GPUs share the requests")


def kv_factor(model: ModelFacts, gpus: int) -> float:
    """How often KV is held when heads are split: a latent (MLA) on each GPU, a KV head on one or more."""
    heads = max(model.kv_heads, default=0)
    if model.latent_dim:
        return float(gpus)
    return max(1.0, gpus / heads) if heads else 1.0


def spreads(model: ModelFacts | None, gpus: tuple[Gpu, ...]) -> tuple[int, ...]:
    """Over how many GPUs a model may be split, the widest first."""
    counts = range(len(gpus), 0, -1)
    if model is None:
        return tuple(count for count in counts if count & (count - 1) == 0)
    return tuple(count for count in counts if _splits(model, count))


def _splits(model: ModelFacts, count: int) -> bool:
    heads = max(model.kv_heads, default=0)
    return model.heads % count == 0 and (not heads or heads % count == 0 or count % heads == 0)


def longest_context(model: ModelFacts, room: float) -> int:
    """Most tokens of one request whose KV, 16 bits a number, fits."""
    low, high = 0, model.context_tokens
    while low < high:
        middle = (low + high + 1) // 2
        if kv_bytes(model, middle, "bf16", "bf16") <= room:
            low = middle
        else:
            high = middle - 1
    return low


def _too_small(model: ModelFacts, gpus: tuple[Gpu, ...], share: float, count: int) -> ConfigError:
    one = min(gpu.memory_bytes for gpu in gpus)
    over = f"{count} x {gpus[0].name}" if count > 1 else gpus[0].name
    taken = "" if share > 0.9 else f", of which {share:.0%} can be had now"
    return ConfigError(
        f"{model.name} does not fit: its weights take {format_bytes(model.weight_bytes)}, and {over} has "
        f"{format_bytes(one * count)}{taken}; the KV cache and the engine need room beside them",
        "take a smaller quantisation of the model (FP8, AWQ, GPTQ), more GPUs, or stop what else uses them",
    )

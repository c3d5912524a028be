"""What the tiers set on vLLM, and why."""

from paceline.engines.engine import Tier, TierSettings
from paceline.engines.gathered import Gathered
from paceline.engines.gpu_fit import (
    LEAST_TOKENS,
    REQUEST_TOKENS,
    Fit,
    add_spread,
    alike,
    fit,
    free_share,
    longest_context,
)
from paceline.engines.machine import Machine
from paceline.engines.vllm_speculation import LOOKUP_MAX, LOOKUP_MIN, METHOD, TOKENS
from paceline.errors import ConfigError
from paceline.units import format_bytes
from paceline.weights.kv import kv_bytes
from paceline.weights.model import ModelFacts

# vLLM's own default, and what it serves at once where nobody says.
MEMORY_SHARE = 0.92
_OWN_SLOTS = 256
FAST_SLOTS = 8
ULTRA_SLOTS = 2
# A prompt's repetition is drafted from where the last few tokens were seen before.
_LOOKUP = (2, 5)
NGRAM_TOKENS = 8
# Of memory that is free on a machine without GPUs.
_CPU_SHARE = 0.85
_CPU_SLOTS = {"standard": 16, "fast": 2, "ultra": 1}


def gpu_settings(tier: Tier, model: ModelFacts | None, machine: Machine) -> TierSettings:
    """Settings of a tier on GPUs. Raises ConfigError where there is none, or none that holds the model."""
    gpus = alike(machine.gpus)
    if not gpus:
        raise ConfigError(
            "vLLM is built for GPUs, and this machine shows none",
            "on processors serve a GGUF file with --engine llama.cpp, or install vLLM's build for processors",
        )
    made = Gathered()
    share = free_share(gpus, MEMORY_SHARE)
    fitted = fit(model, gpus, share, widest=tier != "standard") if model is not None else None
    if tier == "standard":
        made.add(
            "performance-mode", "throughput", "larger batches and CUDA graphs, for tokens of all streams"
        )
    else:
        made.add("performance-mode", "interactivity", "CUDA graphs for each small batch, kernels for latency")
    if share < MEMORY_SHARE:
        free = min(gpu.free_bytes for gpu in gpus)
        made.add(
            "gpu-memory-utilization",
            share,
            f"{format_bytes(free)} of {format_bytes(gpus[0].memory_bytes)} free; vLLM refuses to take more",
        )
    add_spread(made, tier, gpus, fitted, split="tensor-parallel-size", copies="data-parallel-size")
    if model is not None and fitted is not None:
        _context(made, model, fitted)
    _slots(made, tier, model, fitted)
    if tier != "standard":
        _speculate(made, model)
    if model is None or fitted is None:
        return made.settings()
    tokens = int(str(made.values.get("max-model-len") or model.context_tokens))
    return made.settings(fitted.needs_bytes(model, tokens))


def cpu_settings(tier: Tier, model: ModelFacts | None, machine: Machine) -> TierSettings:
    """Settings of a tier on processors. Raises ConfigError where the memory does not hold the model."""
    made = Gathered()
    slots = _CPU_SLOTS[tier]
    made.add("max-num-seqs", slots, "requests served at once: cores are shared by all of them")
    needs = None if model is None else _cpu_memory(made, model, slots, machine)
    if tier != "standard":
        _speculate(made, model)
    return made.settings(needs)


def _cpu_memory(made: Gathered, model: ModelFacts, slots: int, machine: Machine) -> int:
    """Bytes of weights and KV: of one whole context, or of `slots` usual requests, as there is room."""
    room = int(machine.free_bytes * _CPU_SHARE) - model.weight_bytes
    context = longest_context(model, room) if room > 0 else 0
    if context < min(LEAST_TOKENS, model.context_tokens):
        raise ConfigError(
            f"{model.name} does not fit: its weights take {format_bytes(model.weight_bytes)}, and "
            f"{format_bytes(machine.free_bytes)} of memory is free; the KV cache needs room beside them",
            "take a smaller quantisation of the model, or stop what else uses the memory",
        )
    if context < model.context_tokens:
        context = max(context // 256 * 256, 1)
        made.add("max-model-len", context, f"of {model.context_tokens} tokens, what the memory holds")
    each = min(REQUEST_TOKENS, context)
    whole, usual = kv_bytes(model, context, "bf16", "bf16"), slots * kv_bytes(model, each, "bf16", "bf16")
    kv = min(max(whole, usual), room)
    why = "one whole context" if whole >= usual else f"{slots} requests of {each} tokens"
    made.add("kv-cache-memory-bytes", kv, f"the KV cache of {why}")
    return model.weight_bytes + kv


def _context(made: Gathered, model: ModelFacts, fitted: Fit) -> None:
    if fitted.context_tokens < model.context_tokens:
        tokens = fitted.context_tokens // 256 * 256
        made.add(
            "max-model-len",
            tokens,
            f"of {model.context_tokens} tokens, what the KV cache holds beside the weights",
        )


def _slots(made: Gathered, tier: Tier, model: ModelFacts | None, fitted: Fit | None) -> None:
    if tier == "fast":
        made.add("max-num-seqs", FAST_SLOTS, "few streams at once: each keeps its speed")
        return
    if tier == "ultra":
        made.add("max-num-seqs", ULTRA_SLOTS, "hardly more than one stream at once")
        return
    if model is None or fitted is None:
        return
    slots = fitted.slots(kv_bytes(model, min(REQUEST_TOKENS, model.context_tokens), "bf16", "bf16"))
    if slots < _OWN_SLOTS:
        made.add(
            "max-num-seqs",
            slots,
            f"requests of {REQUEST_TOKENS} tokens that the KV cache holds; more would be computed again",
        )


def _speculate(made: Gathered, model: ModelFacts | None) -> None:
    if model is not None and model.extra_heads > 0:
        made.add(METHOD, "mtp", "the model has heads of its own that guess further tokens")
        tokens = model.extra_heads if model.extra_heads > 1 else 2
        made.add(TOKENS, tokens, "guesses checked in one step")
        return
    made.add(METHOD, "ngram", "what the text has said before is drafted from it, and checked in one step")
    made.add(TOKENS, NGRAM_TOKENS, "guesses checked in one step")
    made.add(LOOKUP_MAX, _LOOKUP[1], "tokens that must have come before, at best")
    made.add(LOOKUP_MIN, _LOOKUP[0], "tokens that must have come before, at least")

"""What the tuner may turn on vLLM."""

from paceline.engines.engine import Tier
from paceline.engines.gpu_fit import alike, spreads
from paceline.engines.machine import Machine
from paceline.engines.space import Choice
from paceline.engines.vllm_speculation import LOOKUP_MAX, LOOKUP_MIN, METHOD, TOKENS
from paceline.weights.model import ModelFacts


def search_space(tier: Tier, model: ModelFacts | None, machine: Machine, *, gpus: bool) -> tuple[Choice, ...]:
    """Choices for a tier, its own value first: batching for `standard`; speculation and slots for others.

    gpus: whether it is a build for them.
    """
    ngram = ("ngram", "ngram_gpu") if gpus else ("ngram",)
    shared = [
        Choice(
            "performance-mode",
            ("throughput", None, "interactivity")
            if tier == "standard"
            else ("interactivity", None, "throughput"),
            "sizes of CUDA graphs, kinds of kernels",
        ),
        Choice("kv-cache-dtype", (None, "fp8"), "half the KV to read and keep", may_change_output=True),
        Choice(
            "max-num-batched-tokens", (None, 1024, 2048, 4096, 8192, 16384), "tokens a step: prompts in parts"
        ),
    ]
    if tier == "standard":
        return (
            *shared,
            Choice("max-num-seqs", (None, 16, 32, 64, 128, 256, 512, 1024), "requests served at once"),
            Choice("disable-prefix-caching", (None, True), "beginnings that prompts share are computed once"),
            Choice("stream-interval", (None, 2, 4, 8), "tokens a chunk: fewer chunks cost less"),
        )
    heads = model is not None and model.extra_heads > 0
    drafting = (*(("mtp",) if heads else ()), *ngram)
    tokens = (2, 1, 3, 4, 6, 8, 12, 16) if heads else (8, 2, 3, 4, 6, 12, 16)
    slots = (8, 1, 2, 4, 16) if tier == "fast" else (2, 1, 4, 8)
    spread = spreads(model, alike(machine.gpus)) if gpus else ()
    return (
        *shared,
        Choice("max-num-seqs", slots, "requests served at once: each further one slows the others"),
        *([Choice("tensor-parallel-size", spread, "GPUs that share the weights")] if len(spread) > 1 else []),
        Choice(METHOD, (*drafting, None), "who drafts"),
        Choice(TOKENS, tokens, "guesses a step", only_with=(METHOD, drafting)),
        Choice(
            LOOKUP_MAX,
            (5, 3, 8, 12),
            "tokens that must have come before, at best",
            only_with=(METHOD, ngram),
        ),
        Choice(
            LOOKUP_MIN, (2, 1, 3), "tokens that must have come before, at least", only_with=(METHOD, ngram)
        ),
    )

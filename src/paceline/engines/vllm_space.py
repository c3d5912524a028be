"""What the tuner may turn on vLLM."""

from paceline.engines.engine import Tier
from paceline.engines.machine import Machine
from paceline.engines.space import Choice
from paceline.engines.vllm_speculation import LOOKUP_MAX, LOOKUP_MIN, METHOD, TOKENS
from paceline.weights.model import ModelFacts


def search_space(tier: Tier, model: ModelFacts | None, machine: Machine, *, gpus: bool) -> tuple[Choice, ...]:
    """Choices for a tier: batching for `standard`; speculation and slots for the others.

    gpus: whether it is a build for them.
    """
    ngram = ("ngram", "ngram_gpu") if gpus else ("ngram",)
    shared = [
        Choice(
            "performance-mode",
            (None, "interactivity", "throughput"),
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
    methods: tuple[str | None, ...] = (None, *(("mtp",) if heads else ()), *ngram)
    drafting = tuple(one for one in methods if one is not None)
    spread = (1, *(count for count in (2, 4, 8) if count <= len(machine.gpus)))
    return (
        *shared,
        Choice(
            "max-num-seqs", (1, 2, 4, 8, 16), "requests served at once: each further one slows the others"
        ),
        *([Choice("tensor-parallel-size", spread, "GPUs that share the weights")] if len(spread) > 1 else []),
        Choice(METHOD, methods, "who drafts"),
        Choice(TOKENS, (1, 2, 3, 4, 6, 8, 12, 16), "guesses a step", only_with=(METHOD, drafting)),
        Choice(
            LOOKUP_MAX,
            (3, 5, 8, 12),
            "tokens that must have come before, at best",
            only_with=(METHOD, ngram),
        ),
        Choice(
            LOOKUP_MIN, (1, 2, 3), "tokens that must have come before, at least", only_with=(METHOD, ngram)
        ),
    )

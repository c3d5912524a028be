"""What the tiers set on SGLang, and why; what the tuner may turn."""

from collections.abc import Mapping

from paceline.engines.engine import Tier, TierSettings, Value
from paceline.engines.gathered import Gathered
from paceline.engines.gpu_fit import REQUEST_TOKENS, Fit, add_spread, alike, fit, free_share, spreads
from paceline.engines.machine import Machine
from paceline.engines.space import Choice
from paceline.errors import ConfigError
from paceline.weights.kv import kv_bytes
from paceline.weights.model import ModelFacts

ALGORITHM = "speculative-algorithm"
STEPS = "speculative-num-steps"
TOPK = "speculative-eagle-topk"
TOKENS = "speculative-num-draft-tokens"
DRAFT = "speculative-draft-model-path"
BREADTH = "speculative-ngram-max-bfs-breadth"
SLOTS = "max-running-requests"
GRAPHS = "cuda-graph-max-bs-decode"
PARTS = (ALGORITHM, STEPS, TOPK, TOKENS, DRAFT, BREADTH)
FAST_SLOTS = 8
ULTRA_SLOTS = 2
NGRAM_TOKENS = 8
# What SGLang takes by itself of a GPU, about: it keeps room for activations and CUDA graphs by their size.
_SHARE = 0.9
# Beyond it SGLang's own choice is as good.
_OWN_SLOTS = 256
# Draft steps, branches, tokens: what SGLang takes itself for a model's own heads and for a draft model.
_CHAIN = (3, 1, 4)


def tier_settings(tier: Tier, model: ModelFacts | None, machine: Machine) -> TierSettings:
    """Settings of a tier. Raises ConfigError where there is no GPU, or none that holds the model."""
    gpus = alike(machine.gpus)
    if not gpus:
        raise ConfigError(
            "SGLang is built for GPUs, and this machine shows none",
            "on processors serve a GGUF file with --engine llama.cpp",
        )
    made = Gathered()
    fitted = (
        fit(model, gpus, free_share(gpus, _SHARE), widest=tier != "standard") if model is not None else None
    )
    add_spread(made, tier, gpus, fitted, split="tp-size", copies="dp-size")
    if model is not None and fitted is not None and fitted.context_tokens < model.context_tokens:
        tokens = fitted.context_tokens // 256 * 256
        why = f"of {model.context_tokens} tokens, what the KV cache holds beside the weights"
        made.add("context-length", tokens, why)
    if tier == "standard":
        _throughput(made, model, fitted)
    else:
        slots = FAST_SLOTS if tier == "fast" else ULTRA_SLOTS
        few = "few streams at once: each keeps its speed" if tier == "fast" else "hardly more than one stream"
        made.add(SLOTS, slots, few)
        made.add(GRAPHS, slots, "CUDA graphs for as many; the memory of larger ones goes to the KV cache")
        _speculate(made, model)
    if model is None or fitted is None:
        return made.settings()
    tokens = int(str(made.values.get("context-length") or model.context_tokens))
    return made.settings(fitted.needs_bytes(model, tokens))


def search_space(tier: Tier, model: ModelFacts | None, machine: Machine) -> tuple[Choice, ...]:
    """Choices for a tier, its own value first: batching for `standard`; speculation and slots for others."""
    shared = (
        Choice("kv-cache-dtype", (None, "fp8_e4m3"), "half the KV to read and keep", may_change_output=True),
        Choice("attention-backend", (None, "fa3", "flashinfer", "triton"), "kernels of attention"),
        Choice("chunked-prefill-size", (None, 2048, 4096, 8192, 16384), "prompt tokens a step"),
    )
    if tier == "standard":
        return (
            *shared,
            Choice(SLOTS, (None, 16, 32, 64, 128, 256, 512, 1024), "requests served at once"),
            Choice("enable-mixed-chunk", (None, True), "prompts and answers in one step"),
            Choice("schedule-policy", (None, "lpm"), "requests that share a beginning come together"),
            Choice(
                "schedule-conservativeness", (0.3, None, 0.6), "how much room is kept for answers to come"
            ),
            Choice("num-continuous-decode-steps", (None, 2, 4), "steps between two looks at the queue"),
            Choice("stream-interval", (None, 2, 4, 8), "tokens a chunk: fewer chunks cost less"),
        )
    heads = model is not None and model.extra_heads > 0
    algorithms = (*(("NEXTN",) if heads else ()), "NGRAM", None)
    slots = (8, 1, 2, 4, 16) if tier == "fast" else (2, 1, 4, 8)
    spread = spreads(model, alike(machine.gpus))
    own = (("NEXTN",) if heads else ()) and (
        Choice(STEPS, (3, 1, 2, 4, 5), "guesses of the model's own heads", only_with=(ALGORITHM, ("NEXTN",))),
        Choice(TOPK, (1,), "no branches: a chain of guesses", only_with=(ALGORITHM, ("NEXTN",))),
    )
    return (
        *shared,
        Choice(SLOTS, slots, "requests served at once: each further one slows the others"),
        *([Choice("tp-size", spread, "GPUs that share the weights")] if len(spread) > 1 else []),
        Choice(ALGORITHM, algorithms, "who drafts"),
        *own,
        Choice(TOKENS, (8, 4, 6, 12, 16), "guesses a step", only_with=(ALGORITHM, ("NGRAM",))),
        Choice(BREADTH, (1,), "no branches: a chain of guesses", only_with=(ALGORITHM, ("NGRAM",))),
    )


def spell_speculation(own: Mapping[str, Value]) -> dict[str, Value]:
    """A user's settings, with None for those of a tier that would not go with their way of drafting."""
    spelt = dict(own)
    algorithm = spelt.get(ALGORITHM)
    if spelt.get(DRAFT) is not None and ALGORITHM not in own:
        # A draft model of its own; heads for a model (EAGLE, EAGLE3) have to be called by name.
        spelt[ALGORITHM] = algorithm = "STANDALONE"
    if algorithm is None and ALGORITHM not in own:
        return spelt
    if algorithm in (None, False, "", "none", "None"):
        return {**dict.fromkeys(PARTS), **spelt, ALGORITHM: None}
    # SGLang asks for all three of a chain or for none, and then takes its own for the model.
    chain = dict.fromkeys((STEPS, TOPK, TOKENS))
    return {**chain, **({} if algorithm == "NGRAM" else {BREADTH: None}), **spelt}


def _throughput(made: Gathered, model: ModelFacts | None, fitted: Fit | None) -> None:
    made.add(
        "schedule-conservativeness", 0.3, "slots are filled early; some requests may be put off and go on"
    )
    if model is None or fitted is None:
        return
    slots = fitted.slots(kv_bytes(model, min(REQUEST_TOKENS, model.context_tokens), "bf16", "bf16"))
    if slots < _OWN_SLOTS:
        made.add(SLOTS, slots, f"requests of {REQUEST_TOKENS} tokens that the KV cache holds")


def _speculate(made: Gathered, model: ModelFacts | None) -> None:
    if model is not None and model.extra_heads > 0:
        steps, branches, tokens = _CHAIN
        made.add(ALGORITHM, "NEXTN", "the model has heads of its own that guess further tokens")
        made.add(STEPS, steps, "guesses made one after the other")
        made.add(TOPK, branches, "no branches: a chain of guesses")
        made.add(TOKENS, tokens, "tokens checked in one step: the guesses and the one before")
        return
    made.add(ALGORITHM, "NGRAM", "what the text has said before is drafted from it, and checked in one step")
    made.add(TOKENS, NGRAM_TOKENS, "tokens checked in one step")
    made.add(BREADTH, 1, "no branches, which not all attention kernels can check")

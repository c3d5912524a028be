"""What the tiers set on llama.cpp's server, and why."""

from dataclasses import replace

from paceline.engines.engine import Tier, TierSettings, Value
from paceline.engines.gathered import Gathered
from paceline.engines.llama_cpp_memory import cache_of, needs_bytes
from paceline.engines.llama_cpp_options import Options
from paceline.engines.llama_cpp_pages import huge_pages
from paceline.engines.machine import Machine
from paceline.engines.memory import longest_context, room_bytes
from paceline.weights.model import ModelFacts

# Tokens that a request is expected to hold, where slots share what memory there is; and that it must have.
_REQUEST_TOKENS = 8192
_LEAST_TOKENS = 2048
# Slots by cores, where no GPU is: from a few streams on, a step of decoding is bound by arithmetic, and more
# of them only make each slower. On a GPU a step takes many streams at little cost.
_SLOTS_BY_CORES = ((8, 4), (32, 8))
_MOST_CPU_SLOTS = 16
_GPU_SLOTS = 32
# Of the free memory, for weights, KV cache and buffers: the rest is for kept prompts, and for others.
_SHARE = 0.8
# For kept prompts: of all memory, and of what weights, KV cache and buffers leave.
_KEPT_SHARE = 0.125
_KEPT_SHARE_OF_REST = 0.25
_MOST_KEPT_MIB = 8192
_MIB = 1 << 20


class _Set(Gathered):
    """Settings as they are gathered: only what this build has, by its own first long name."""

    def __init__(self, options: Options | None) -> None:
        super().__init__()
        self._options = options

    def has(self, name: str) -> bool:
        """Whether this build is known to have an option."""
        return self._options is not None and name in self._options

    def takes(self, name: str, value: str) -> bool:
        """Whether this build's list of an option's values has one."""
        return self._options is not None and self._options.takes(name, value)

    def says(self, name: str, words: str) -> bool:
        """Whether this build's help says something of an option."""
        option = self._options.find(name) if self._options is not None else None
        return option is not None and words in option.text

    def add(self, name: str, value: Value, why: str) -> None:
        """Set an option, where this build has it, or where its options are not known."""
        if self._options is not None:
            option = self._options.find(name)
            if option is None or option.removed:
                return
            name = option.name
            # A switch of older builds, which takes a value in newer ones.
            value = True if option.values is None else value
        super().add(name, value, why)


def tier_settings(
    tier: Tier, model: ModelFacts | None, machine: Machine, options: Options | None
) -> TierSettings:
    """Settings of a tier for a model on a machine, as far as a build has the options.

    `ultra` begins as `fast`: what the tuner goes on from.
    """
    made = _Set(options)
    made.add("threads", machine.cores, "every core that the server may use")
    if machine.gpus and model is not None and model.weight_bytes < _SHARE * _gpu_bytes(machine):
        layers: Value = "all" if made.says("gpu-layers", "'all'") else 999
        made.add("gpu-layers", layers, "every layer on the GPU, which holds them all")
    elif not machine.gpus and huge_pages():
        _load_weights(made)
    if tier == "standard":
        _standard(made, model, machine)
    else:
        _fast(made, model, machine)
    made.add("metrics", True, "the server's own figures, which reports show")
    return made.settings(None if model is None else needs_bytes(model, made.values))


def _load_weights(made: _Set) -> None:
    why = "weights in huge pages of memory, which are read faster than a mapped file"
    name = "load-mode" if made.has("load-mode") else "no-mmap"
    if made.has(name):
        made.add(name, "none", why)


def _standard(made: _Set, model: ModelFacts | None, machine: Machine) -> None:
    """Throughput under concurrency."""
    _slots(made, model, machine, "requests that are served at once")
    made.add("cont-batching", True, "a request joins the others at once, in the middle of their answers")
    _keep_prompts(made, model, machine)


def _fast(made: _Set, model: ModelFacts | None, machine: Machine) -> None:
    """The latency of one stream."""
    if model is not None and model.sliding_window:
        # The cache of sliding layers grows with the slots, and the order of sums goes by it. Gemma 3 270M:
        # with one slot one of four greedy answers was another than with four, for 1 % less time of a stream.
        _slots(made, model, machine, "as at standard, so that answers stay; one request at a time is fastest")
    else:
        made.add("parallel", 1, "one request has the machine to itself; others wait")
        if model is not None:
            cells = _context(made, model, machine, model.context_tokens)
            made.add("ctx-size", cells, f"the context of that request{_held(cells, model.context_tokens)}")
    _speculate(made, model)
    made.add("flash-attn", "on", "attention in one pass over the KV cache")
    made.add("cache-type-k", "f16", "keys as exact as by default, so that answers stay")
    made.add("cache-type-v", "f16", "values as exact as by default, so that answers stay")
    _keep_prompts(made, model, machine)


def _slots(made: _Set, model: ModelFacts | None, machine: Machine, why: str) -> None:
    """Slots that share one KV cache, as many as cores or GPUs, and memory, are for."""
    slots = _GPU_SLOTS if machine.gpus else _cpu_slots(machine.cores)
    made.add("kv-unified", True, "requests share one KV cache, so that a long one may take what others leave")
    made.add("parallel", slots, why)
    if model is None:
        return
    wanted = max(slots * min(_REQUEST_TOKENS, model.context_tokens), model.context_tokens)
    cells = _context(made, model, machine, wanted)
    made.add("parallel", max(1, min(slots, cells // _LEAST_TOKENS)), why)
    made.add("ctx-size", cells, f"tokens that all requests share{_held(cells, wanted)}")


def _speculate(made: _Set, model: ModelFacts | None) -> None:
    if model is not None and model.extra_heads > 0 and made.takes("spec-type", "draft-mtp"):
        made.add("spec-type", "draft-mtp", "the model's own extra heads draft, and one step checks the draft")
        made.add("spec-draft-n-max", 3, "tokens of a draft: further ones are accepted more and more rarely")
    elif made.takes("spec-type", "ngram-mod"):
        made.add(
            "spec-type", "ngram-mod", "what has come before is drafted again, and one step checks the draft"
        )
        # Gemma 3 270M on one core, five prompts, processor time a token against no drafts: after 12 tokens in
        # common 1.7 to 2.1 times faster (72 % to all of the drafts accepted), after 6 1.3 to 2.0 times (63 %
        # to 96 %): a rejected token costs 0.4 of a step.
        made.add(
            "spec-ngram-mod-n-match", 12, "tokens in common before a draft: fewer draft what is rejected"
        )
        made.add("spec-ngram-mod-n-min", 8, "tokens of a draft at least")
        made.add("spec-ngram-mod-n-max", 64, "tokens of a draft at most")


def _context(made: _Set, model: ModelFacts, machine: Machine, wanted: int) -> int:
    """Tokens of KV cache: what is wanted, or what memory holds beside weights and buffers."""
    cache = replace(cache_of(model, made.values), cells=wanted)
    cells = longest_context(model, cache, int(_SHARE * room_bytes(machine)))
    # Where not even the least fits, the check of the memory says so.
    return cells or min(wanted, _LEAST_TOKENS)


def _held(cells: int, wanted: int) -> str:
    return "" if cells >= wanted // 256 * 256 else f": memory holds no more (wanted: {wanted})"


def _keep_prompts(made: _Set, model: ModelFacts | None, machine: Machine) -> None:
    """Prompts that are kept in memory for the next request: 8 GiB by default, which may be too much."""
    if model is None:
        return
    left = machine.free_bytes - (0 if "gpu-layers" in made.values else needs_bytes(model, made.values))
    most = int(min(_KEPT_SHARE * machine.memory_bytes, _KEPT_SHARE_OF_REST * max(left, 0))) // _MIB
    # A power of two: what is free changes from start to start, and settings are to stay.
    kept_mib = 1 << (most.bit_length() - 1) if most else 0
    if kept_mib < _MOST_KEPT_MIB:
        made.add("cache-ram", kept_mib, "MiB for prompts that are kept: a part of the memory that is left")


def _cpu_slots(cores: int) -> int:
    return next((slots for most, slots in _SLOTS_BY_CORES if cores <= most), _MOST_CPU_SLOTS)


def _gpu_bytes(machine: Machine) -> int:
    return sum(gpu.free_bytes for gpu in machine.gpus)

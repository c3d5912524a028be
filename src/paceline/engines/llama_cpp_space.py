"""What the tuner may turn on llama.cpp's server: few choices, so that twenty minutes are enough."""

from paceline.engines.engine import Tier, Value
from paceline.engines.llama_cpp_options import Options
from paceline.engines.llama_cpp_pages import huge_pages
from paceline.engines.machine import Machine
from paceline.engines.space import Choice
from paceline.weights.model import ModelFacts

_SPECULATION = "spec-type"


def search_space(
    tier: Tier, model: ModelFacts | None, machine: Machine, options: Options | None
) -> tuple[Choice, ...]:
    """The choices of a tier, as far as a build has the options and their values.

    A choice that is left with one value is none. The first value is the tier's or the engine's own.
    """
    choices = _throughput(machine) if tier == "standard" else _latency(model, machine)
    made = [_had(one, options) for one in choices]
    there = {one.option for one in made if one is not None}
    return tuple(
        one for one in made if one is not None and (one.only_with is None or one.only_with[0] in there)
    )


def _latency(model: ModelFacts | None, machine: Machine) -> list[Choice]:
    heads = ("draft-mtp",) if model is not None and model.extra_heads > 0 else ()
    kinds: tuple[Value, ...] = ("ngram-mod", *heads, "ngram-simple", "ngram-map-k", "ngram-cache", None)
    mod, simple, by_key = ("ngram-mod",), ("ngram-simple",), ("ngram-map-k",)
    return [
        Choice(_SPECULATION, kinds, "what drafts: text that has come before, or the model's own extra heads"),
        Choice(
            "spec-ngram-mod-n-match", (12, 8, 16, 24), "tokens in common before a draft", (_SPECULATION, mod)
        ),
        Choice("spec-ngram-mod-n-min", (8, 2, 16, 48), "tokens of a draft at least", (_SPECULATION, mod)),
        Choice("spec-ngram-mod-n-max", (64, 16, 32, 48), "tokens of a draft at most", (_SPECULATION, mod)),
        Choice(
            "spec-ngram-simple-size-n", (12, 6), "tokens in common before a draft", (_SPECULATION, simple)
        ),
        Choice("spec-ngram-simple-size-m", (48, 16), "tokens of a draft", (_SPECULATION, simple)),
        Choice("spec-ngram-map-k-size-n", (12, 6), "tokens in common before a draft", (_SPECULATION, by_key)),
        Choice("spec-ngram-map-k-size-m", (48, 16), "tokens of a draft", (_SPECULATION, by_key)),
        *(
            [
                Choice(
                    "spec-draft-n-max",
                    (3, 1, 2, 5),
                    "tokens that the extra heads draft",
                    (_SPECULATION, heads),
                )
            ]
            if heads
            else []
        ),
        Choice("threads", _threads(machine), "cores of a step of decoding"),
        *_loading(machine),
        # How long a core spins for the next step before it sleeps; builds with OpenMP leave that to OpenMP.
        Choice("poll", (None, 0, 100), "cores that wait by spinning"),
    ]


def _throughput(machine: Machine) -> list[Choice]:
    slots: tuple[Value, ...] = (8, 16, 32, 64) if machine.gpus else (1, 2, 4, 8, 16)
    return [
        Choice("parallel", slots, "requests that are served at once"),
        Choice("batch-size", (None, 512, 128), "tokens for which a prompt holds other answers up at most"),
        Choice("ubatch-size", (None, 128, 256, 1024), "tokens that go through the model together"),
        Choice("threads", _threads(machine), "cores of a step of decoding"),
        *_loading(machine),
        Choice("kv-unified", (True, None), "one KV cache for all requests, or a share for each"),
        Choice("flash-attn", (None, "on", "off"), "attention in one pass, or in several"),
        Choice(
            "cache-type-k", (None, "q8_0"), "keys of the KV cache in half the bytes", may_change_output=True
        ),
        Choice(
            "cache-type-v",
            (None, "q8_0"),
            "values of the KV cache in half the bytes",
            # Quantised values need flash attention.
            ("flash-attn", (None, "on")),
            may_change_output=True,
        ),
    ]


def _loading(machine: Machine) -> list[Choice]:
    """By the name that this build has for it; see llama_cpp_pages."""
    if machine.gpus or not huge_pages():
        return []
    why = "weights in huge pages of memory, or in the mapped file"
    return [Choice("load-mode", ("none", None), why), Choice("no-mmap", (True, None), why)]


def _threads(machine: Machine) -> tuple[Value, ...]:
    """All cores, one fewer (for the server's own work), and half (two threads of a core share its units)."""
    cores = machine.cores
    return tuple(dict.fromkeys(count for count in (cores, cores - 1, cores // 2) if count > 0))


def _had(choice: Choice, options: Options | None) -> Choice | None:
    """What of a choice a build has; None where that leaves nothing to choose."""
    values = choice.values
    if options is not None:
        option = options.find(choice.option)
        if option is None or option.removed:
            return None
        if choice.option == _SPECULATION:
            values = tuple(one for one in values if one is None or options.takes(_SPECULATION, str(one)))
        elif option.values is None and set(values) - {None, True}:
            # A switch in older builds.
            values = (True, None)
        choice = Choice(option.name, values, choice.why, choice.only_with, choice.may_change_output)
    return choice if len(choice.values) > 1 else None

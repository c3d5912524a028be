"""What a `llama-server` takes of the memory with given settings, by the model's headers."""

from paceline.engines.engine import Settings, Value
from paceline.engines.machine import Machine
from paceline.engines.memory import (
    BATCH_TOKENS,
    Cache,
    check_memory,
    longest_context,
    room_bytes,
    server_needs,
)
from paceline.errors import ConfigError
from paceline.weights.model import ModelFacts

# Slots of a server that is not told how many (`--parallel -1`); their KV cache is then one.
_AUTO_SLOTS = 4
# What `--fit` may bring a context down to that nobody set (`--fit-ctx`).
_FITTED_CONTEXT = 4096
# Tokens of a draft where speculation is on and none says how many (`--spec-ngram-mod-n-max`).
_DRAFT_TOKENS = 64
_DRAFT_SIZES = (
    "spec-draft-n-max",
    "spec-ngram-mod-n-max",
    "spec-ngram-simple-size-m",
    "spec-ngram-map-k-size-m",
)


def cache_of(facts: ModelFacts, settings: Settings) -> Cache:
    """How the server lays its KV cache out. Raises ConfigError for a number that is none."""
    slots = _whole(settings, "parallel", -1)
    unified = bool(settings.get("kv-unified")) or (slots < 1 and not settings.get("no-kv-unified"))
    return Cache(
        cells=_whole(settings, "ctx-size", 0) or facts.context_tokens,
        slots=slots if slots > 0 else _AUTO_SLOTS,
        unified=unified,
        batch_tokens=_whole(settings, "ubatch-size", BATCH_TOKENS),
        sliding_full=bool(settings.get("swa-full")),
        key_type=str(settings.get("cache-type-k") or "f16"),
        value_type=str(settings.get("cache-type-v") or "f16"),
    )


def needs_bytes(facts: ModelFacts, settings: Settings) -> int:
    """Memory of the server from its start on, without the prompts that it comes to keep (`--cache-ram`)."""
    return _needs(facts, cache_of(facts, settings), settings)


def check(facts: ModelFacts, settings: Settings, machine: Machine) -> int:
    """Memory that the server will take; UsageError where there is not so much.

    A context that nobody set may be brought down by the server itself where it has GPUs (`--fit`).
    """
    cache = cache_of(facts, settings)
    if machine.gpus and not settings.get("ctx-size") and settings.get("fit") != "off":
        cache = Cache(min(cache.cells, _FITTED_CONTEXT), cache.slots, cache.unified, cache.batch_tokens)
    needs = _needs(facts, cache, settings)
    check_memory(needs, machine, facts.name, context=longest_context(facts, cache, room_bytes(machine)))
    return needs


def _needs(facts: ModelFacts, cache: Cache, settings: Settings) -> int:
    drafts = 0
    if settings.get("spec-type") not in (None, "none"):
        given = [_whole(settings, name, 0) for name in _DRAFT_SIZES if settings.get(name) is not None]
        drafts = max(given, default=_DRAFT_TOKENS)
    flash = settings.get("flash-attn") != "off"
    try:
        return server_needs(facts, cache, draft_tokens=drafts, flash=flash).total_bytes
    except ValueError as error:
        raise ConfigError(
            f"cache-type-k, cache-type-v: {error}", "f16 and q8_0 are types of KV cache that every build has"
        ) from None


def _whole(settings: Settings, name: str, default: int) -> int:
    value: Value = settings.get(name)
    if value is None or value is False:
        return default
    try:
        return int(value)
    except ValueError:
        raise ConfigError(f"{name}: {value!r} is not a whole number", f"write it as {name}=4096") from None

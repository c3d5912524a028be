"""How vLLM drafts: the parts of `--speculative-config`, however a user spells them."""

import json
from collections.abc import Mapping

from paceline.engines.engine import Value
from paceline.errors import ConfigError

CONFIG = "speculative-config"
METHOD = f"{CONFIG}.method"
TOKENS = f"{CONFIG}.num_speculative_tokens"
MODEL = f"{CONFIG}.model"
LOOKUP_MAX = f"{CONFIG}.prompt_lookup_max"
LOOKUP_MIN = f"{CONFIG}.prompt_lookup_min"
# Set by tiers and the tuner.
PARTS = (METHOD, MODEL, TOKENS, LOOKUP_MAX, LOOKUP_MIN)
_SHORT = {"spec-method": METHOD, "spec-model": MODEL, "spec-tokens": TOKENS}
# Guesses by a draft model that costs a forward pass each: the longest that is usual.
DRAFT_MODEL_TOKENS = 4


def spell_speculation(own: Mapping[str, Value]) -> dict[str, Value]:
    """A user's settings with speculation by its parts; those of a tier that would not go with them are None.

    Raises ConfigError for a `speculative-config` that is not a JSON object.
    """
    spelt: dict[str, Value] = {}
    for name, value in own.items():
        if name == CONFIG:
            spelt.update(_parts(value))
        else:
            spelt[_SHORT.get(name, name)] = value
    given = {name for name in spelt if name.startswith(f"{CONFIG}.") and spelt[name] is not None}
    if CONFIG in own:
        return {**dict.fromkeys(PARTS), **spelt}
    if MODEL in given and METHOD not in given:
        # vLLM tells by the files whether it is a model of its own or a head.
        spelt = {METHOD: None, TOKENS: DRAFT_MODEL_TOKENS, **spelt}
    if (METHOD in given or MODEL in given) and spelt.get(METHOD) not in ("ngram", "ngram_gpu"):
        spelt = {LOOKUP_MAX: None, LOOKUP_MIN: None, **spelt}
    if METHOD in spelt and spelt[METHOD] in (None, False) and MODEL not in given:
        spelt.update(dict.fromkeys(PARTS))
    return spelt


def _parts(value: Value) -> dict[str, Value]:
    if value in (None, False, "", "none", "None"):
        return {}
    try:
        parts = json.loads(str(value))
    except ValueError:
        parts = None
    if not isinstance(parts, dict):
        raise ConfigError(
            f"the setting {CONFIG} is not a JSON object",
            f"write its parts: {METHOD}=ngram, {TOKENS}=4; or {CONFIG}=none for no speculation",
        )
    return {
        f"{CONFIG}.{name.replace('-', '_')}": part
        if isinstance(part, str | int | float)
        else json.dumps(part)
        for name, part in parts.items()
        if part is not None
    }

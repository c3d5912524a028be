"""Tiers and an engine's own options, as they are written on the command line."""

import math
import re
from collections.abc import Sequence
from contextlib import suppress

from paceline.config import choice_hint
from paceline.engines.engine import TIERS, Tier, Value
from paceline.errors import ConfigError

# Not `none`, which is a value of several options (`load-mode` of llama.cpp, `grammar-backend` of SGLang).
_LEFT_OUT = "default"
# With a dot: a part of an option that is JSON; with a plus after it: appended to a list there (vLLM).
_OPTION = re.compile(r"[A-Za-z0-9][\w.+-]*")
# Values of one option: more than these no budget tries, and each proposal of the search looks at all of them.
_MOST_VARIED = 256


def parse_tier(text: str) -> Tier:
    """Raises ConfigError for a tier that there is not."""
    for tier in TIERS:
        if tier == text:
            return tier
    raise ConfigError(f"--tier: there is no tier {text!r}", choice_hint(text, "tiers", TIERS))


def parse_settings(given: Sequence[str], flag: str = "--set") -> dict[str, Value]:
    """`OPTION=VALUE` of each `flag`; a bare `OPTION` is one without a value. Raises ConfigError."""
    found: dict[str, Value] = {}
    for text in given:
        name, mark, value = text.partition("=")
        found[_option(name, text, flag)] = _value(value.strip()) if mark else True
    return found


def parse_varied(given: Sequence[str]) -> dict[str, list[Value]]:
    """`ubatch-size=128,512` of each `--vary`: an option and its values. Raises ConfigError."""
    found: dict[str, list[Value]] = {}
    for text in given:
        name, _, values = text.partition("=")
        option = _option(name, text, "--vary")
        parts = list(dict.fromkeys(part.strip() for part in values.split(",")))
        if len(parts) < 2 or not all(parts):
            raise ConfigError(
                f"--vary {text!r} does not say what to try",
                "write an option and two values or more: ubatch-size=128,512",
            )
        if len(parts) > _MOST_VARIED:
            raise ConfigError(
                f"--vary {option} has {len(parts):,} values, and a search has time for tens",
                f"name at most {_MOST_VARIED}, spread over the range that is of interest",
            )
        if option in found:
            raise ConfigError(f"--vary names {option} twice", "write all its values in one")
        found[option] = [_value(part) for part in parts]
    return found


def _option(name: str, text: str, flag: str) -> str:
    name = name.strip().lstrip("-")
    if not _OPTION.fullmatch(name):
        # What follows the name is not shown: it may be a key that was meant as a value.
        begin = _OPTION.match(name)
        shown = f"{begin.group()}..." if begin else text[: len(text) - len(text.lstrip("- "))] + "..."
        raise ConfigError(
            f"{flag} {shown!r}: there is no option", f"write {flag} option=value, as in {flag} ctx-size=8192"
        )
    return name


def _value(text: str) -> Value:
    """A number where it is written as one is, true and false, `default`; else the text."""
    if text in ("true", "false"):
        return text == "true"
    if text == _LEFT_OUT:
        return None
    for kind in (int, float):
        with suppress(ValueError):
            if str(kind(text)) == text and math.isfinite(kind(text)):
                return kind(text)
    return text

"""When something feels instant, fluent or slow: limits from the literature, each with its source."""

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

_SECONDS_PER_MIN = 60.0


@dataclass(frozen=True)
class Threshold:
    """One limit in its unit: what it is, in words that follow "up to here", and who says so."""

    name: str
    value: float
    unit: str
    text: str
    source: str


@cache
def thresholds() -> dict[str, Threshold]:
    """All limits, by name."""
    text = files("paceline.catalogue").joinpath("data/thresholds.toml").read_text(encoding="utf-8")
    return {one["name"]: Threshold(**one) for one in tomllib.loads(text)["limit"]}


def limit_ms(name: str) -> float:
    """A limit in ms. Raises KeyError; ValueError for one of another unit."""
    found = thresholds()[name]
    if found.unit != "ms":
        raise ValueError(f"{name} is in {found.unit}, not in ms")
    return found.value


def pace_tok_s(name: str) -> float:
    """Tokens a second that keep up with `reading` or `speech`: words a minute / 60 / words a token."""
    words_s = thresholds()[name].value / _SECONDS_PER_MIN
    return words_s / thresholds()["words_per_token"].value

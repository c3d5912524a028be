"""What others have published of speeds, tiers and shares: claims, each with its source and date."""

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True)
class PublishedSpeed:
    """Output tokens a second of a model. effort: of its reasoning; qualifier: how exact, and on what."""

    model: str
    output_tok_s: float
    source: str
    as_of: str
    tier: str | None = None
    effort: str | None = None
    qualifier: str | None = None


@dataclass(frozen=True)
class PublishedTier:
    """How many times as fast and as dear as the standard tier of the model."""

    model: str
    tier: str
    speed_ratio: float
    price_ratio: float
    limits: str
    source: str
    as_of: str


@dataclass(frozen=True)
class PublishedShare:
    """A provider's share of all tokens that OpenRouter routed, as a fraction; tokens: how many."""

    provider: str
    share: float
    source: str
    as_of: str
    tokens: float | None = None


@dataclass(frozen=True)
class Published:
    """All of them, in the order of the file."""

    speeds: tuple[PublishedSpeed, ...]
    tiers: tuple[PublishedTier, ...]
    shares: tuple[PublishedShare, ...]


@cache
def published() -> Published:
    """What the catalogue has."""
    text = files("paceline.catalogue").joinpath("data/published_figures.toml").read_text(encoding="utf-8")
    found = tomllib.loads(text)
    return Published(
        speeds=tuple(PublishedSpeed(**one) for one in found["speed"]),
        tiers=tuple(PublishedTier(**one) for one in found["tier"]),
        shares=tuple(PublishedShare(**one) for one in found["share"]),
    )

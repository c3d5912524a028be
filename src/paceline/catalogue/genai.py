"""Prices of the package genai-prices, by provider and model or by the called URL. Nothing is fetched."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from paceline.catalogue.price import ContextTier, Price, Rates
from paceline.config import closest
from paceline.errors import ConfigError

if TYPE_CHECKING:
    from genai_prices.types import ModelPrice, PriceCalculation

# A rate to its price in the package, with what one has to be multiplied by.
_FIELDS = {
    "input_usd_per_mtok": ("input_mtok", 1.0),
    "output_usd_per_mtok": ("output_mtok", 1.0),
    "cache_read_usd_per_mtok": ("cache_read_mtok", 1.0),
    "cache_write_usd_per_mtok": ("cache_write_mtok", 1.0),
    "request_usd": ("requests_kcount", 0.001),
    "reasoning_usd_per_mtok": ("output_reasoning_mtok", 1.0),
}
# Fields of a body that the package tells variants of a price by.
_VARIANT_FIELDS = ("service_tier", "speed")
# What a tier is asked by where the body does not say it, in the package's words.
_TIER_VARIANTS: dict[str, tuple[dict[str, str], ...]] = {
    "fast": ({"service_tier": "priority"}, {"service_tier": "fast"}, {"speed": "fast"}),
    "flex": ({"service_tier": "flex"},),
}
BATCH = {"processing": "batch"}
"""What the package tells the price of a provider's batch API by."""


@dataclass(frozen=True)
class Found:
    """name: `openai:gpt-5-mini`. price: None where the model has no price a token.

    as_standard: what was asked for beyond the model, if anything, has no price of its own.
    """

    name: str
    price: Price | None
    as_standard: bool


def body_variant(extra: Mapping[str, Any]) -> dict[str, str]:
    """What of a body's further fields may change the price."""
    found = {name: extra.get(name) for name in _VARIANT_FIELDS}
    given = {name: value for name, value in found.items() if isinstance(value, str)}
    return dict(BATCH) if given.get("service_tier") == "batch" else given


def by_reference(provider: str, model: str, at: datetime, variant: Mapping[str, str] | None = None) -> Found:
    """The price of a provider's model at a moment, as `variant` asks for it.

    Raises ConfigError for a reference that leads nowhere.
    """
    found = _looked_up(model, at, variant or {}, provider_id=provider)
    if found is None:
        raise _unknown(provider, model)
    return found


def by_endpoint(
    endpoint: str, provider: str, model: str, at: datetime, variant: Mapping[str, str]
) -> Found | None:
    """The price of a model at an endpoint: of the provider whose URL it is, else of the one of that very id.

    None where the package knows none of both, or not the model.
    """
    found = _looked_up(model, at, variant, provider_api_url=endpoint)
    if found is None and provider.lower() in provider_ids():
        found = _looked_up(model, at, variant, provider_id=provider)
    return found


def tier_variants(tier: str) -> tuple[dict[str, str], ...]:
    """The variants that a tier may be priced as, where the body does not say which."""
    return _TIER_VARIANTS.get(tier, ())


def provider_ids() -> list[str]:
    """Ids of the providers that the package knows."""
    from genai_prices.data import providers

    return [one.id for one in providers]


def _looked_up(model: str, at: datetime, variant: Mapping[str, str], **provider: str) -> Found | None:
    import genai_prices

    def price_in(wanted: Mapping[str, str]) -> "PriceCalculation":
        calculated: PriceCalculation = genai_prices.calc_price(
            genai_prices.Usage(),
            model,
            genai_request_timestamp=at,
            price_context=dict(wanted),
            **provider,
        )
        return calculated

    try:
        found = price_in(variant)
    except LookupError:
        return None
    name = f"{found.provider.id}:{found.model.id}"
    as_standard = price_in({}).model_price == found.model_price
    steps = _steps(found.model_price)
    if steps is None:
        return Found(name, None, as_standard)
    said = "" if as_standard else "".join(f", {key} {value}" for key, value in variant.items())
    day = at.astimezone(UTC).date()
    price = Price(
        kind="tokens",
        rates=steps[0].rates,
        tiers=tuple(steps[1:]),
        source=f"genai-prices {genai_prices.__version__}, {name}{said}, as of {day}",
        as_of=day,
        warnings=_warnings(found, at),
    )
    return Found(name, price, as_standard)


def _steps(price: "ModelPrice") -> list[ContextTier] | None:
    """The rates from each size of the prompt on, the first from 0; None: no price a token.

    The package prices all tokens of a request by the size of its whole prompt (`TieredPrices`), and so does
    `Price`; there each price may have sizes of its own.
    """
    values: dict[str, Any] = {name: getattr(price, key) for name, (key, _) in _FIELDS.items()}
    if values["input_usd_per_mtok"] is None and values["output_usd_per_mtok"] is None:
        return None
    starts = sorted({tier.start for value in values.values() for tier in getattr(value, "tiers", ())})
    return [ContextTier(start, _rates(values, start)) for start in (0, *(one for one in starts if one))]


def _rates(values: Mapping[str, Any], start: int) -> Rates:
    """The rates of prompts of more tokens than `start`."""
    found: dict[str, float] = {}
    for name, value in values.items():
        if value is not None:
            passed = [tier.price for tier in getattr(value, "tiers", ()) if tier.start <= start]
            figure = passed[-1] if passed else getattr(value, "base", value)
            found[name] = float(figure) * _FIELDS[name][1]
    return Rates(**{"input_usd_per_mtok": 0.0, "output_usd_per_mtok": 0.0} | found)


def _warnings(found: "PriceCalculation", at: datetime) -> tuple[str, ...]:
    from genai_prices.types import TimeOfDateConstraint

    prices = found.model.prices
    if isinstance(prices, list) and any(isinstance(one.constraint, TimeOfDateConstraint) for one in prices):
        return (f"the price changes within the day: it is that of {at.astimezone(UTC):%H:%M} UTC",)
    return ()


def _unknown(provider: str, model: str) -> ConfigError:
    from genai_prices.data import providers

    if provider.lower() not in provider_ids():
        near = closest(provider.lower(), provider_ids())
        hint = f"did you mean {near!r}?" if near else f"providers are: {', '.join(provider_ids())}"
        return ConfigError("genai-prices has no such provider", hint)
    models = next([model.id for model in one.models] for one in providers if one.id == provider.lower())
    near = closest(model, models)
    ways = (
        f"did you mean {near!r}?" if near else "write the figures yourself: input_usd_per_mtok and the others"
    )
    return ConfigError(f"genai-prices has no such model of {provider.lower()}", ways)

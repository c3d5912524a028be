"""What an offer costs: figures of the config, or those of the package genai-prices. Nothing is fetched."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from paceline.config import closest
from paceline.errors import ConfigError

if TYPE_CHECKING:
    from genai_prices.types import ModelPrice

    from paceline.control.config import OfferConfig, PriceConfig

# Fields of a body that genai-prices tells variants of a price by.
_VARIANT_FIELDS = ("service_tier", "speed")
# The table's name of a price to genai-prices', with what one has to be multiplied by.
_FIELDS = {
    "input_usd_per_mtok": ("input_mtok", 1.0),
    "output_usd_per_mtok": ("output_mtok", 1.0),
    "cache_read_usd_per_mtok": ("cache_read_mtok", 1.0),
    "cache_write_usd_per_mtok": ("cache_write_mtok", 1.0),
    "request_usd": ("requests_kcount", 0.001),
}


@dataclass(frozen=True)
class Priced:
    """price: `price` of the route table, the multiplier in it; None: unknown. source: for explain."""

    price: dict[str, float] | None = None
    source: str | None = None
    warnings: list[str] = field(default_factory=list)


def priced(offer: "OfferConfig", now: datetime | None = None) -> Priced:
    """What an offer costs at a moment. Raises ConfigError for a reference that leads nowhere."""
    if offer.price is None:
        return Priced(warnings=["no price: its cost is not known, and does not count in budgets"])
    reference = offer.price.reference()
    if reference is None:
        return Priced(_multiplied(_own(offer.price), offer.price_multiplier), _source("the config", offer))
    return _looked_up(offer, *reference, now or datetime.now(UTC))


def _own(price: "PriceConfig") -> dict[str, float]:
    found = {name: getattr(price, name) for name in _FIELDS}
    return {name: float(value) for name, value in found.items() if value is not None}


def _looked_up(offer: "OfferConfig", provider: str, model: str, now: datetime) -> Priced:
    import genai_prices

    asked = {name: offer.extra_body.get(name) for name in _VARIANT_FIELDS}
    context = {name: value for name, value in asked.items() if isinstance(value, str)}

    def price_in(wanted: dict[str, str]) -> Any:
        return genai_prices.calc_price(
            genai_prices.Usage(),
            model,
            provider_id=provider,
            genai_request_timestamp=now,
            price_context=wanted,
        )

    try:
        found = price_in(context)
    except LookupError:
        raise _unknown(provider, model) from None
    prices = _figures(found.model_price)
    name = f"{found.provider.id}:{found.model.id}"
    if not {"input_usd_per_mtok", "output_usd_per_mtok"} & prices.keys():
        raise ConfigError(f"genai-prices has no price a token of {name}", "write the figures yourself")
    price = {"input_usd_per_mtok": 0.0, "output_usd_per_mtok": 0.0} | prices
    warnings = _long_prompts(offer, found.model_price)
    # A tier that costs as the standard one does is mostly one whose price was not said.
    same = _figures(price_in({}).model_price) == prices
    if offer.tier != "standard" and same and offer.price_multiplier == 1:
        warnings.append(
            f"the price of {name} is that of its standard tier: say price_multiplier, or what of the body "
            'asks for the tier, as extra_body = { service_tier = "priority" }'
        )
    version = f"genai-prices {genai_prices.__version__}"
    variant = "".join(f", {key} {value}" for key, value in context.items() if not same)
    source = _source(f"{version}, {name}{variant}, as of {now:%Y-%m-%d}", offer)
    return Priced(_multiplied(price, offer.price_multiplier), source, warnings)


def _figures(price: "ModelPrice") -> dict[str, float]:
    """The prices that the table has a place for, of prompts of ordinary length."""
    found = {}
    for name, (key, factor) in _FIELDS.items():
        value: Any = getattr(price, key)
        if value is not None:
            found[name] = float(getattr(value, "base", value)) * factor
    return found


def _long_prompts(offer: "OfferConfig", price: "ModelPrice") -> list[str]:
    tiers = [tier for key, _ in _FIELDS.values() for tier in getattr(getattr(price, key), "tiers", ())]
    start = min((tier.start for tier in tiers), default=None)
    if start is None or (offer.context_tokens is not None and offer.context_tokens <= start):
        return []
    return [
        f"prompts of more than {start:,} tokens cost more than is reckoned: context_tokens = {start} keeps "
        "them away"
    ]


def _multiplied(price: dict[str, float], factor: float) -> dict[str, float]:
    # Rounded to 12 digits: a price of 0.1 times 3 is 0.3.
    return {name: float(f"{value * factor:.12g}") for name, value in price.items()}


def _source(where: str, offer: "OfferConfig") -> str:
    return where if offer.price_multiplier == 1 else f"{where}, times {offer.price_multiplier:g}"


def _unknown(provider: str, model: str) -> ConfigError:
    from genai_prices.data import providers

    ids = [one.id for one in providers]
    if provider.lower() not in ids:
        near = closest(provider.lower(), ids)
        hint = f"did you mean {near!r}?" if near else f"providers are: {', '.join(ids)}"
        return ConfigError("genai-prices has no such provider", hint)
    models = next([model.id for model in one.models] for one in providers if one.id == provider.lower())
    near = closest(model, models)
    ways = (
        f"did you mean {near!r}?" if near else "write the figures yourself: input_usd_per_mtok and the others"
    )
    return ConfigError(f"genai-prices has no such model of {provider.lower()}", ways)

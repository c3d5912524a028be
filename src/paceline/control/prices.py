"""What an offer costs: figures of the config, or those of the package genai-prices. Nothing is fetched."""

from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from paceline.catalogue.price import Price, Rates
from paceline.errors import ConfigError

if TYPE_CHECKING:
    from paceline.control.config import OfferConfig, PriceConfig

# What `price` of the route table has a place for.
_FIELDS = (
    "input_usd_per_mtok",
    "output_usd_per_mtok",
    "cache_read_usd_per_mtok",
    "cache_write_usd_per_mtok",
    "request_usd",
)


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
        return Priced(_table(_own(offer.price).times(offer.price_multiplier)), _source("the config", offer))
    return _looked_up(offer, *reference, now or datetime.now(UTC))


def _own(price: "PriceConfig") -> Rates:
    found = {name: getattr(price, name) for name in _FIELDS}
    return Rates(**{name: float(value) for name, value in found.items() if value is not None})


def _looked_up(offer: "OfferConfig", provider: str, model: str, now: datetime) -> Priced:
    from paceline.catalogue.genai import body_variant, by_reference

    found = by_reference(provider, model, now, body_variant(offer.extra_body))
    if found.price is None:
        raise ConfigError(f"genai-prices has no price a token of {found.name}", "write the figures yourself")
    warnings = [*found.price.warnings, *_long_prompts(offer, found.price)]
    # A tier that costs as the standard one does is mostly one whose price was not said.
    if offer.tier != "standard" and found.as_standard and offer.price_multiplier == 1:
        warnings.append(
            f"the price of {found.name} is that of its standard tier: say price_multiplier, or what of the "
            'body asks for the tier, as extra_body = { service_tier = "priority" }'
        )
    price = found.price.times(offer.price_multiplier)
    return Priced(_table(price.rates), price.source, warnings)


def _table(rates: Rates) -> dict[str, float]:
    found = {name: value for name, value in asdict(rates).items() if name in _FIELDS and value is not None}
    if not found["request_usd"]:
        del found["request_usd"]
    return found


def _long_prompts(offer: "OfferConfig", price: Price) -> list[str]:
    start = price.tiers[0].over_prompt_tokens if price.tiers else None
    if start is None or (offer.context_tokens is not None and offer.context_tokens <= start):
        return []
    return [
        f"prompts of more than {start:,} tokens cost more than is reckoned: context_tokens = {start} keeps "
        "them away"
    ]


def _source(where: str, offer: "OfferConfig") -> str:
    return where if offer.price_multiplier == 1 else f"{where}, times {offer.price_multiplier:g}"

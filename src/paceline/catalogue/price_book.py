"""What an offer costs at a date: by the user's file, else the user's own offer, else genai-prices."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import Any, Protocol

from paceline.catalogue.genai import Found, body_variant, by_endpoint, by_reference, tier_variants
from paceline.catalogue.price import Price, PriceUnknown, Rates
from paceline.catalogue.price_file import FILE_NAME, PricedKey, PriceFile, load_price_file
from paceline.errors import ConfigError

STANDARD = "standard"
_OFFER_FILE = "paceline.toml"
# The package's price with a variant.
_Look = Callable[[dict[str, str]], Found | None]


class PricedOffer(Protocol):
    """An offer of the user's own: `advisor.identity.KnownOffer` is one."""

    @property
    def id(self) -> str:
        """As paceline.toml has it."""

    @property
    def key(self) -> PricedKey:
        """The offer."""

    @property
    def price(self) -> Mapping[str, Any] | None:
        """Its `price` table, with `price_multiplier` in it; None: not stated."""


@dataclass(frozen=True)
class PriceBook:
    """All that is known of prices. place: where a file of the user's own is looked for."""

    file: PriceFile | None
    place: Path
    known: Sequence[PricedOffer] = ()

    @classmethod
    def load(cls, home: Path, file: Path | None = None, known: Sequence[PricedOffer] = ()) -> "PriceBook":
        """The book with `file`, else with `prices.toml` in `home` where there is one.

        known: the user's own offers, whose price is taken where a lookup brings none. Raises ConfigError that
        names file, line and key.
        """
        place = home / FILE_NAME if file is None else file.expanduser()
        found = load_price_file(place) if file is not None or place.exists() else None
        return cls(found, place, tuple(known))

    def price(  # noqa: PLR0917
        self,
        key: PricedKey,
        endpoint: str,
        model: str,
        extra: Mapping[str, Any],
        known_price: Mapping[str, Any] | None,
        at: date | datetime,
    ) -> Price | PriceUnknown:
        """The price of an offer.

        endpoint, model: its URL, and what it calls the model; extra: further fields of the bodies.
        known_price: the `price` table of the user's own offer. at: the date; of a day noon (UTC) counts,
        since some prices change within it. Raises ConfigError where the user's own file contradicts itself.
        """
        moment = _moment(at)
        if self.file is not None:
            stated = self.file.price(key, model, endpoint, moment)
            if stated is not None:
                return stated
        own = next((one for one in self.known if one.key == key and one.price is not None), None)
        table = known_price if known_price is not None else own.price if own is not None else None
        if table is not None:
            where = f'{_OFFER_FILE}, offer "{own.id}"' if own is not None else f"{_OFFER_FILE}, the offer's"
            return _of_offer(table, where, key, extra, moment)
        return self._of_package(key, endpoint, model, extra, moment)

    def _of_package(
        self, key: PricedKey, endpoint: str, model: str, extra: Mapping[str, Any], at: datetime
    ) -> Price | PriceUnknown:
        import genai_prices

        package = f"genai-prices {genai_prices.__version__}"
        found = _fitting(key, extra, lambda variant: by_endpoint(endpoint, key.provider, model, at, variant))
        if found is None:
            return PriceUnknown(
                f"{package} knows no price of {model} at {key.provider}", self._hint(key, model)
            )
        if found.price is None:
            return PriceUnknown(f"{package} has no price a token of {found.name}", self._hint(key, model))
        return _doubted(found, found.price, key, f"state it in {self.place}")

    def _hint(self, key: PricedKey, model: str) -> str:
        return (
            f'state it in {self.place}: [[price]] with model = "{key.model or model}", input_usd_per_mtok, '
            "output_usd_per_mtok and as_of; of own hardware usd_per_gpu_hour and gpus"
        )


def _of_offer(
    table: Mapping[str, Any], where: str, key: PricedKey, extra: Mapping[str, Any], at: datetime
) -> Price:
    """The price that a `price` table states: own figures, or a reference."""
    given = dict(table)
    factor = float(given.pop("price_multiplier", 1.0))
    ref = given.pop("ref", None)
    provider, model = given.pop("provider", None), given.pop("model", None)
    if ref is not None:
        provider, _, model = ref.partition(":")
    if provider is None or model is None:
        day = at.astimezone(UTC).date()
        rates = Rates(**{name: float(value) for name, value in given.items()})
        return Price("tokens", rates, f"{where}, as of {day}", day).times(factor)
    try:
        # As the gateway reckons it: what the body does not ask for is price_multiplier's to say.
        found = by_reference(provider, model, at, body_variant(extra))
    except ConfigError as error:
        raise ConfigError(f"{where}: price: {error.message}", error.hint) from None
    if found.price is None:
        raise ConfigError(
            f"{where}: price: genai-prices has no price a token of {provider}:{model}",
            "write the figures yourself",
        )
    price = found.price if factor != 1.0 else _doubted(found, found.price, key, "say price_multiplier")
    return replace(price, source=f"{where}, {price.source}").times(factor)


def _fitting(key: PricedKey, extra: Mapping[str, Any], look: _Look) -> Found | None:
    """What the package knows, as the body asks; where it says nothing of the tier, as the tier is called."""
    variant = body_variant(extra)
    found = look(variant)
    if found is None or variant or key.tier == STANDARD:
        return found
    others = (look(one) for one in tier_variants(key.tier))
    return next((one for one in others if one is not None and not one.as_standard), found)


def _doubted(found: Found, price: Price, key: PricedKey, remedy: str) -> Price:
    """The price, with a warning where that of a tier is the standard one's."""
    if key.tier == STANDARD or not found.as_standard:
        return price
    warning = (
        f"no price of its tier {key.tier} is known: reckoned with that of the standard tier of {found.name}; "
        f"{remedy}"
    )
    return replace(price, warnings=(*price.warnings, warning))


def _moment(at: date | datetime) -> datetime:
    if isinstance(at, datetime):
        return at if at.tzinfo is not None else at.replace(tzinfo=UTC)
    return datetime.combine(at, time(12), tzinfo=UTC)

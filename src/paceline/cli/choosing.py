"""What commands that compare offers know from the user's own paceline.toml."""

from pathlib import Path
from typing import TYPE_CHECKING

from paceline.cli.defaults import gateway_file, settings

if TYPE_CHECKING:
    from paceline.advisor.identity import KnownOffer
    from paceline.control.config import OfferConfig


def known_offers(config: Path | None = None) -> "list[KnownOffer]":
    """The `[[offer]]`s of the config that `paceline gateway` would take here; none where there is none.

    Raises ConfigError where the file is not whole: a price that was misread would be worse than none.
    """
    file = gateway_file(config)
    settings()
    if not file.is_file():
        return []
    from paceline.control.problems import GatewayConfigError
    from paceline.control.read import read_config

    found = read_config(file, needs_offers=False)
    if found.problems:
        raise GatewayConfigError(file, found.problems)
    return [_known(offer) for offer in found.config.offers]


def _known(offer: "OfferConfig") -> "KnownOffer":
    from paceline.advisor.identity import KnownOffer, OfferKey
    from paceline.endpoints.target import Target

    price = None
    if offer.price is not None:
        price = {
            **offer.price.model_dump(exclude_none=True),
            "price_multiplier": offer.price_multiplier,
        }
    return KnownOffer(
        id=offer.id,
        key=OfferKey(offer.model, offer.provider_name, offer.tier),
        base_url=Target.parse(offer.base_url).display,
        upstream_model=offer.upstream_model or offer.model,
        extra_body=offer.extra_body,
        price=price,
    )

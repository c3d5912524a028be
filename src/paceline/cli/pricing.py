"""The price of a run's offer, for its report."""

from typing import TYPE_CHECKING

from paceline.cli.output import talk

if TYPE_CHECKING:
    from paceline.catalogue.price import Price, PriceUnknown
    from paceline.store.manifest import RunManifest


def price_of_run(manifest: "RunManifest") -> "Price | PriceUnknown":
    """The price on the day of the run. Never fails: a report is no place to learn of a wrong price file."""
    from paceline.advisor.identity import AskedOffer, known_offer, offer_of
    from paceline.catalogue.price import PriceUnknown
    from paceline.catalogue.price_book import PriceBook
    from paceline.cli.choosing import known_offers
    from paceline.errors import ConfigError
    from paceline.store.paths import home

    asked = AskedOffer.of(manifest)
    try:
        known = known_offers()
        own = known_offer(asked, known)
        return PriceBook.load(home(), known=known).price(
            offer_of(asked, known),
            asked.endpoint,
            asked.model,
            asked.extra,
            None if own is None else own.price,
            manifest.started_at,
        )
    except ConfigError as error:
        talk(f"the cost is not told: {error.message}")
        return PriceUnknown(error.message, error.hint or "mend it")

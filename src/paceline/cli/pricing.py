"""The price of a run's offer, for its report."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from paceline.cli.output import talk

if TYPE_CHECKING:
    from paceline.catalogue.price import Price, PriceUnknown
    from paceline.store.manifest import RunManifest


@dataclass(frozen=True)
class _Asked:
    """Whom a run has asked, as `advisor.identity` wants it."""

    endpoint: str
    model: str
    provider: str | None
    tier: str | None
    live_offer: str | None
    extra: Mapping[str, Any]

    @classmethod
    def of(cls, manifest: "RunManifest") -> "_Asked":
        workload = manifest.workload
        live = workload if workload.get("kind") == "live" else {}
        said = {**live, **(manifest.offer or {})}
        return cls(
            endpoint=manifest.endpoint,
            model=manifest.model,
            provider=said.get("provider"),
            tier=said.get("tier"),
            live_offer=(live.get("live") or {}).get("offer"),
            extra=dict(workload.get("extra") or {}),
        )


def price_of_run(manifest: "RunManifest") -> "Price | PriceUnknown":
    """The price on the day of the run. Never fails: a report is no place to learn of a wrong price file."""
    from paceline.advisor.identity import known_offer, offer_of
    from paceline.catalogue.price import PriceUnknown
    from paceline.catalogue.price_book import PriceBook
    from paceline.cli.choosing import known_offers
    from paceline.errors import ConfigError
    from paceline.store.paths import home

    asked = _Asked.of(manifest)
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

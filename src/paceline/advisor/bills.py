"""The bills of several offers: those that were measured with a workload, and those that were not."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from paceline.advisor.bill import Bill, asked_bill, bill_of
from paceline.advisor.evidence import OfferEvidence
from paceline.advisor.identity import OfferKey, workload_key, workload_name
from paceline.catalogue.price import Price, PriceUnknown

if TYPE_CHECKING:
    from paceline.catalogue.price_book import PriceBook
    from paceline.workloads.spec import WorkloadSpec

BATCH_TIER = "batch"
"""What an offer's tier is called where it is priced as the provider's batch API."""


@dataclass(frozen=True)
class BilledOffer:
    """One offer's bill under one workload. load, runs: None and empty where it was not measured.

    suspect: those of its runs that are not to be believed blindly.
    """

    key: OfferKey
    workload: str
    workload_key: str
    load: str | None
    runs: tuple[str, ...]
    suspect: tuple[str, ...]
    bill: Bill


@dataclass(frozen=True)
class Bills:
    """rows: by workload and load; the cheapest first, those without a bill last. at: of the prices."""

    at: datetime
    rows: tuple[BilledOffer, ...]


@dataclass(frozen=True)
class Priced:
    """How prices are looked up: in which book, at which moment, and whether as the batch API's."""

    book: "PriceBook"
    at: datetime
    batch: bool = False

    def of(
        self,
        key: OfferKey,
        endpoint: str,
        model: str,
        extra: Mapping[str, Any],
        known: Mapping[str, Any] | None,
    ) -> tuple[OfferKey, Price | PriceUnknown]:
        """The offer as it is priced, and its price. Raises ConfigError as `PriceBook.price`."""
        if self.batch:
            key, extra = replace(key, tier=BATCH_TIER), {**extra, "service_tier": "batch"}
        return key, self.book.price(key, endpoint, model, extra, known, self.at)


def measured_bill(
    evidence: OfferEvidence,
    priced: Priced,
    workload: "WorkloadSpec | None" = None,
    *,
    jobs_per_day: float | None = None,
) -> BilledOffer:
    """The bill of an offer that was measured."""
    latest, known = evidence.digests[-1], evidence.known
    own = None if known is None else known.price
    key, price = priced.of(evidence.key, latest.endpoint, latest.model, latest.extra, own)
    return BilledOffer(
        key=key,
        workload=evidence.workload,
        workload_key=evidence.workload_key,
        load=evidence.load,
        runs=tuple(one.run_id for one in evidence.digests),
        suspect=evidence.suspect,
        bill=bill_of(evidence, price, workload, jobs_per_day=jobs_per_day),
    )


def unmeasured_bill(
    key: OfferKey,
    price: Price | PriceUnknown,
    workload: "WorkloadSpec",
    *,
    jobs_per_day: float | None = None,
) -> BilledOffer:
    """The bill of an offer that was not measured with the workload. Raises ConfigError as `asked_bill`."""
    asked = workload.to_dict()
    bill = asked_bill(workload, price, jobs_per_day=jobs_per_day)
    return BilledOffer(key, workload_name(asked), workload_key(asked), None, (), (), bill)


def in_order(rows: Iterable[BilledOffer], at: datetime) -> Bills:
    """Rows as they are shown."""

    def place(row: BilledOffer) -> tuple[str, str, bool, str, bool, float, OfferKey]:
        value = row.bill.usd_per_job.value
        return (
            row.workload,
            row.workload_key,
            row.load is None,
            row.load or "",
            value is None,
            value or 0.0,
            row.key,
        )

    return Bills(at, tuple(sorted(rows, key=place)))

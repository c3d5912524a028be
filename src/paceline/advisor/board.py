"""Every offer that was measured, side by side, under one workload and one load."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from paceline.advisor.bill import Bill
from paceline.advisor.digests import Problem
from paceline.advisor.evidence import OfferEvidence
from paceline.advisor.figures import Figure
from paceline.advisor.identity import KnownOffer, OfferKey
from paceline.catalogue.price import Price, PriceUnknown

PROBE = "probe"
"""The benchmark that `paceline capability run` makes itself."""


@dataclass(frozen=True)
class BoardQuery:
    """What is asked.

    workload: by name or key; None: the one that most offers were measured with. load: as `load_name` says it;
    None: the one that most offers have. since: runs that began before are left out. at: the date of prices;
    None: today. benchmark: of the column `capability`. sort: a figure's name. known: the user's own offers.
    """

    workload: str | None = None
    load: str | None = None
    since: datetime | None = None
    at: datetime | None = None
    benchmark: str = PROBE
    sort: str = "ttft_p50_ms"
    jobs_per_day: float | None = None
    known: Sequence[KnownOffer] = ()


@dataclass(frozen=True)
class BoardRow:
    """One offer. figures: every name of FIGURES, also those without a value. marks: `suspect`, `approximate`,
    `live`: what a reader must know at a glance. feel: in a word or two how it feels, as `advisor.instant` says.
    """

    key: OfferKey
    evidence: OfferEvidence
    figures: Mapping[str, Figure]
    bill: Bill
    price: Price | PriceUnknown
    marks: tuple[str, ...]
    feel: str


@dataclass(frozen=True)
class Elsewhere:
    """An offer that was measured under another workload or load only, so that it cannot be held against rows."""

    key: OfferKey
    workload: str
    load: str
    requests: int
    last_at: datetime


@dataclass(frozen=True)
class Choice:
    """A workload and load that a board can be of, and how many offers were measured so."""

    workload: str
    workload_key: str
    load: str
    offers: int
    requests: int


@dataclass(frozen=True)
class PublishedRow:
    """What somebody else says of a model: a claim, not a measurement."""

    model: str
    tier: str | None
    output_tok_s: float | None
    qualifier: str | None
    source: str
    as_of: str


@dataclass(frozen=True)
class Board:
    """rows: sorted as asked, those without the figure last. problems: runs without figures (invalid, damaged,
    nothing measured), each with why and what to do. choices: what else there is to look at. runs, requests:
    behind `rows`.
    """

    query: BoardQuery
    workload: str | None
    workload_key: str | None
    load: str | None
    rows: tuple[BoardRow, ...]
    elsewhere: tuple[Elsewhere, ...]
    published: tuple[PublishedRow, ...]
    problems: tuple[Problem, ...]
    choices: tuple[Choice, ...]
    runs: int
    requests: int
    made_at: datetime

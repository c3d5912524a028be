"""Every offer that was measured, side by side, under one workload and one load."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from paceline.advisor.bill import Bill, bill_of, job_costs
from paceline.advisor.board_figures import figures_of
from paceline.advisor.capability import AllScores, all_scores, capability_of
from paceline.advisor.digest import Digest
from paceline.advisor.digests import AllDigests, Problem, Watch, all_digests
from paceline.advisor.evidence import OfferEvidence, pooled, why_left_out
from paceline.advisor.figures import FIGURES, Figure
from paceline.advisor.identity import KnownOffer, OfferKey, offer_of
from paceline.advisor.instant import feel
from paceline.catalogue.price import Price, PriceUnknown
from paceline.catalogue.published import published
from paceline.config import choice_hint
from paceline.errors import ConfigError
from paceline.store.paths import home
from paceline.store.scores import PROBE

if TYPE_CHECKING:
    from paceline.catalogue.price_book import PriceBook


@dataclass(frozen=True)
class BoardQuery:
    """What is asked.

    workload: by name or key. load: as `load_name` says it. Of those that fit, the workload and load is taken
    that most offers were measured with. since: runs that began before are left out. at: the date of prices;
    None: today. benchmark: of the column `capability`. sort: a figure's name. jobs_per_day: None: as the
    workload says. known: the user's own offers.
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
    `live`, `running` (a run of it goes on): what a reader must know at a glance. feel: in a word or two how
    it feels, as `advisor.instant` says.
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
    """An offer that was measured under another workload or load only: it cannot be held against rows."""

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
    nothing measured) and damaged scores (without run_id), each with why and what to do. choices: what else
    there is to look at. runs, requests: behind `rows`. loads: the same workload under every load,
    of any offer. scores: all that are known of capability, of this benchmark and others.
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
    loads: tuple[OfferEvidence, ...] = ()
    scores: AllScores = field(default_factory=lambda: AllScores((), ()))


def build_board(
    query: BoardQuery, prices: "PriceBook", *, at: Path | None = None, watch: Watch = lambda *_: None
) -> Board:
    """The board of all stored runs in a home (`at`: another), with prices of `query.at`.

    `watch`: see `all_digests`. Raises ConfigError for a workload, load or figure that there is none of;
    StoreError when imported scores cannot be read.
    """
    where = at or home()
    return board_of(all_digests(watch=watch, at=where), query, prices, at=where)


def board_of(found: AllDigests, query: BoardQuery, prices: "PriceBook", *, at: Path) -> Board:
    """The same from digests. `at`: the home, for imported scores."""
    if query.sort not in FIGURES:
        hint = choice_hint(query.sort, "figures", FIGURES)
        raise ConfigError(f"there is no figure {query.sort!r} to sort by", hint)
    digests = [one for one in found.digests if query.since is None or one.started_at >= query.since]
    groups: dict[tuple[str, str], list[OfferEvidence]] = {}
    for one in pooled(digests, query.known):
        groups.setdefault((one.workload_key, one.load), []).append(one)
    choices = _choices(groups.values())
    chosen = _chosen(choices, query)
    mine = groups[chosen.workload_key, chosen.load] if chosen else []
    loads = [
        one
        for (workload_key, _), offers in groups.items()
        for one in offers
        if chosen and workload_key == chosen.workload_key
    ]
    scores = all_scores(found.digests, query.known, at=at)
    if query.jobs_per_day is None:
        query = replace(query, jobs_per_day=_jobs_per_day(mine))
    made_at = datetime.now(UTC)
    rows = [_row(one, query, prices, scores, query.at or made_at) for one in mine]
    return Board(
        query=query,
        workload=chosen.workload if chosen else query.workload,
        workload_key=chosen.workload_key if chosen else None,
        load=chosen.load if chosen else query.load,
        rows=_sorted(rows, query.sort),
        elsewhere=_elsewhere(groups, {one.key for one in mine}),
        published=_published(),
        problems=(
            *found.problems,
            *_without_figures(digests, query.known),
            *(Problem("", text) for text in scores.problems),
        ),
        choices=choices,
        runs=sum(len(one.digests) for one in mine),
        requests=sum(one.attempted for one in mine),
        made_at=made_at,
        loads=tuple(loads),
        scores=scores,
    )


def _jobs_per_day(offers: Sequence[OfferEvidence]) -> float | None:
    """As the workload of the latest run says, of those that say it."""
    told = [run for one in offers for run in one.digests if run.jobs_per_day]
    return max(told, key=lambda run: run.started_at).jobs_per_day if told else None


def _choices(groups: Iterable[Sequence[OfferEvidence]]) -> tuple[Choice, ...]:
    """What a board can be of: that of most offers first, then that of most requests."""
    found = [
        Choice(
            workload=offers[-1].workload,
            workload_key=offers[0].workload_key,
            load=offers[0].load,
            offers=len(offers),
            requests=sum(one.attempted for one in offers),
        )
        for offers in groups
    ]
    return tuple(sorted(found, key=lambda one: (-one.offers, -one.requests, one.workload, one.load)))


def _chosen(choices: Sequence[Choice], query: BoardQuery) -> Choice | None:
    """The first that is as asked: None where there are no runs at all. Raises ConfigError."""
    if not choices:
        return None
    fitting = [one for one in choices if query.workload in (None, one.workload, one.workload_key)]
    if not fitting:
        names = list(dict.fromkeys(one.workload for one in choices))
        raise _unmeasured("workload", str(query.workload), names)
    of_load = [one for one in fitting if query.load in (None, one.load)]
    if not of_load:
        raise _unmeasured("load", str(query.load), list(dict.fromkeys(one.load for one in fitting)))
    return of_load[0]


def _unmeasured(what: str, asked: str, names: list[str]) -> ConfigError:
    return ConfigError(
        f"nothing was measured with the {what} {asked!r}", choice_hint(asked, f"{what}s", names)
    )


def _row(
    evidence: OfferEvidence, query: BoardQuery, prices: "PriceBook", scores: AllScores, at: datetime
) -> BoardRow:
    price = price_of(evidence, prices, at)
    bill = bill_of(evidence, price, jobs_per_day=query.jobs_per_day)
    return BoardRow(
        key=evidence.key,
        evidence=evidence,
        figures=figures_of(
            evidence,
            bill=bill,
            costs=job_costs(evidence, price, query.jobs_per_day) if isinstance(price, Price) else None,
            capability=capability_of(scores, evidence.key, query.benchmark),
        ),
        bill=bill,
        price=price,
        marks=_marks(evidence),
        feel=feel(evidence),
    )


def price_of(evidence: OfferEvidence, prices: "PriceBook", at: datetime) -> Price | PriceUnknown:
    """What the offer costs at a moment, by its latest run."""
    latest, known = evidence.digests[-1], evidence.known
    return prices.price(
        evidence.key,
        latest.endpoint,
        latest.model,
        latest.extra,
        None if known is None else known.price,
        at,
    )


def _marks(evidence: OfferEvidence) -> tuple[str, ...]:
    told = {
        "suspect": bool(evidence.suspect),
        "approximate": any(one.approximate for one in evidence.digests),
        "live": any(one.live_offer is not None for one in evidence.digests),
        "running": any(one.state == "running" for one in evidence.digests),
        "differ": evidence.runs_differ,
    }
    return tuple(name for name, is_so in told.items() if is_so)


def _sorted(rows: Iterable[BoardRow], name: str) -> tuple[BoardRow, ...]:
    """The best first, and those without the figure last."""
    sign = 1.0 if FIGURES[name].better == "lower" else -1.0

    def place(row: BoardRow) -> tuple[bool, float, OfferKey]:
        value = row.figures[name].value
        return value is None, 0.0 if value is None else sign * value, row.key

    return tuple(sorted(rows, key=place))


def _elsewhere(
    groups: Mapping[tuple[str, str], Sequence[OfferEvidence]], here: set[OfferKey]
) -> tuple[Elsewhere, ...]:
    found = [
        Elsewhere(one.key, one.workload, one.load, one.attempted, one.last_at)
        for offers in groups.values()
        for one in offers
        if one.key not in here
    ]
    return tuple(sorted(found, key=lambda one: (one.key, one.workload, one.load)))


def _without_figures(digests: Iterable[Digest], known: Sequence[KnownOffer]) -> list[Problem]:
    """Runs that were read and give no figures, the newest first."""
    found = []
    for one in reversed(list(digests)):
        why = why_left_out(one)
        if why is not None:
            found.append(Problem(one.run_id, f"{offer_of(one, known)}: {why}"))
    return found


def _published() -> tuple[PublishedRow, ...]:
    """Claims of speed, and of tiers against the standard one."""
    found = published()
    speeds = [
        PublishedRow(
            model=one.model,
            tier=one.tier,
            output_tok_s=one.output_tok_s,
            qualifier=", ".join(
                part for part in (f"effort {one.effort}" if one.effort else "", one.qualifier or "") if part
            )
            or None,
            source=one.source,
            as_of=one.as_of,
        )
        for one in found.speeds
    ]
    tiers = [
        PublishedRow(
            model=one.model,
            tier=one.tier,
            output_tok_s=None,
            qualifier=f"{one.speed_ratio:g} times as fast at {one.price_ratio:g} times the price; "
            f"{one.limits}",
            source=one.source,
            as_of=one.as_of,
        )
        for one in found.tiers
    ]
    return (*speeds, *tiers)

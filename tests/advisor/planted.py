"""Offers with a planted truth, of which another is the best for each of five workloads."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime

import numpy as np

from paceline.advisor.advise import AdviceQuery
from paceline.advisor.bill import Bill
from paceline.advisor.board import Board, BoardQuery, BoardRow
from paceline.advisor.constraints import parse_budget, parse_capability, parse_slos
from paceline.advisor.digest import COLUMNS, FAILED, WELL, Digest, Floats
from paceline.advisor.evidence import OfferEvidence
from paceline.advisor.figures import Figure
from paceline.advisor.identity import OfferKey
from paceline.catalogue.price import Price, Rates

START = datetime(2026, 11, 2, 9, 0, tzinfo=UTC)
BLOCK = 20
# Of the variance of a logarithm, what all requests of a block have in common.
SHARED = 0.3


@dataclass(frozen=True)
class Planted:
    """An offer as it is: medians; spread of the logarithm of TTFT; USD for a million tokens; share solved."""

    key: OfferKey
    ttft_ms: float
    spread: float
    tok_s: float
    usd_in: float
    usd_out: float
    solved: float
    failing: float = 0.002


@dataclass(frozen=True)
class Work:
    """A workload: median lengths, calls a job, what is asked, and which offer is the best."""

    name: str
    prompt: float
    output: float
    calls: int
    query: AdviceQuery
    best: str


OFFERS = {
    "steady": Planted(OfferKey("swift-8b", "north"), 180, 0.25, 150, 0.05, 0.20, 0.55),
    "cheap": Planted(OfferKey("swift-8b", "south"), 420, 0.90, 90, 0.03, 0.12, 0.55),
    "grand": Planted(OfferKey("grand-400b", "north"), 500, 0.25, 60, 1.00, 4.00, 0.86),
    "fast": Planted(OfferKey("grand-400b", "north", "fast"), 90, 0.25, 300, 2.50, 10.00, 0.86),
    "middle": Planted(OfferKey("middle-70b", "north"), 350, 0.25, 80, 0.30, 1.20, 0.76),
    "rapid": Planted(OfferKey("middle-70b", "rapid"), 250, 0.35, 700, 0.70, 2.80, 0.76),
}

WORKS = (
    # Decided by the share that meets the SLO: the cheapest misses it in a sixth of its requests.
    Work("chat", 1000, 130, 1, AdviceQuery(tuple(parse_slos("ttft_ms=1000"))), "steady"),
    # Only the fast tier meets it.
    Work(
        "voice",
        1000,
        25,
        1,
        AdviceQuery((*parse_slos("ttft_ms=200"), parse_capability(">= 0.75"))),
        "fast",
    ),
    # Decided by the worth of time: without it the middle one is the cheapest.
    Work("agent", 1500, 200, 6, AdviceQuery((parse_capability(">= 0.65"),), worth_usd_per_hour=60), "rapid"),
    # Decided by the budget: without it the steady one is the best at the worth of an hour.
    Work("batch", 900, 60, 1, AdviceQuery((parse_budget("0.00005/job"),), worth_usd_per_hour=1), "cheap"),
    # Decided by capability.
    Work("code-edit", 2000, 1500, 1, AdviceQuery((parse_capability(">= 0.65"),)), "middle"),
)


def lognormal(rng: np.random.Generator, median: float, spread: float, block: Floats, n: int) -> Floats:
    """Of which a part is common to each block: float64[n]."""
    common = rng.standard_normal(int(block[-1]) + 1)[block.astype(np.int64)]
    own = rng.standard_normal(n)
    found: Floats = median * np.exp(spread * (np.sqrt(SHARED) * common + np.sqrt(1.0 - SHARED) * own))
    return found


def columns(offer: Planted, work: Work, n: int, rng: np.random.Generator) -> dict[str, Floats]:
    """COLUMNS of n requests, in jobs of so many calls as the workload has."""
    job = np.arange(n, dtype=np.float64) // work.calls
    block = job if work.calls > 1 else np.arange(n, dtype=np.float64) // BLOCK
    prompt = np.round(work.prompt * np.exp(0.5 * rng.standard_normal(n)))
    output = np.maximum(np.round(work.output * np.exp(0.4 * rng.standard_normal(n))), 2.0)
    ttft_ms = lognormal(rng, offer.ttft_ms, offer.spread, block, n)
    rate = lognormal(rng, offer.tok_s, 0.15, block, n)
    e2e_ms = ttft_ms + 1e3 * (output - 1.0) / rate
    outcome = np.where(rng.random(n) < offer.failing, FAILED, WELL)
    known = outcome == WELL
    began_s = START.timestamp() + np.concatenate([[0.0], np.cumsum(e2e_ms[:-1]) / 1e3])
    return {name: np.full(n, np.nan) for name in COLUMNS} | {
        "at_s": began_s,
        "job": job,
        "outcome": outcome,
        "elapsed_ms": e2e_ms,
        "prompt_tokens": prompt,
        "completion_tokens": np.where(known, output, np.nan),
        "ttft_ms": np.where(known, ttft_ms, np.nan),
        "ttfat_ms": np.where(known, ttft_ms, np.nan),
        "e2e_ms": np.where(known, e2e_ms, np.nan),
        "output_tok_s": np.where(known, rate, np.nan),
    }


def digest_of(offer: Planted, work: Work, n: int, sample: Mapping[str, Floats]) -> Digest:
    """A run of these requests."""
    ok = int((sample["outcome"] == WELL).sum())
    return Digest(
        run_id=f"{offer.key.model}-{work.name}",
        stamp=1,
        name=None,
        started_at=START,
        seconds=60.0,
        state="complete",
        verdict="trusted",
        reasons=(),
        endpoint=f"https://{offer.key.provider}.example/v1",
        model=offer.key.model,
        protocol="openai-chat",
        streaming=True,
        provider=offer.key.provider,
        tier=offer.key.tier,
        live_offer=None,
        extra={},
        workload=work.name,
        workload_key=work.name,
        load="closed 1",
        attempted=n,
        ok=ok,
        by_outcome={"ok": ok},
        jobs=n // work.calls if work.calls > 1 else None,
        jobs_ok=n // work.calls if work.calls > 1 else None,
        requests_s=1.0,
        output_tok_s=offer.tok_s,
        jobs_s=None,
        approximate=False,
        capability=None,
        sample=sample,
    )


def row_of(offer: Planted, work: Work, n: int, sample: Mapping[str, Floats], solved: int) -> BoardRow:
    """The board's row: `solved` of n items."""
    cut = {name: values[:n] for name, values in sample.items()}
    evidence = OfferEvidence(
        key=offer.key,
        workload=work.name,
        workload_key=work.name,
        load="closed 1",
        digests=(digest_of(offer, work, n, cut),),
        columns=cut,
        run=np.zeros(n, np.int64),
    )
    rates = Rates(offer.usd_in, offer.usd_out)
    price = Price("tokens", rates, "planted, as of 2026-11-01", date(2026, 11, 1))
    # Verdicts make their own bounds from the counts.
    figures = {"capability": Figure(solved / n, 0.0, 1.0, n)}
    bill = Bill(Figure(None), None, None, {}, {}, "measured", None, price)
    return BoardRow(offer.key, evidence, figures, bill, price, (), "")


class Market:
    """All offers under one workload, as one seed draws them; boards of the first n requests of each."""

    def __init__(self, work: Work, seed: int, most: int, offers: Mapping[str, Planted] = OFFERS) -> None:
        rng = np.random.default_rng([seed, len(work.name), most])
        self.work, self.offers = work, offers
        self._samples = {name: columns(offer, work, most, rng) for name, offer in offers.items()}
        # A model is the same at all its providers and tiers, and is scored once.
        marks = {offer.key.model: rng.random(most) < offer.solved for offer in offers.values()}
        self._solved = {name: np.cumsum(marks[offer.key.model]) for name, offer in offers.items()}

    def board(self, n: int) -> Board:
        """After n requests to each."""
        rows = [
            row_of(offer, self.work, n, self._samples[name], int(self._solved[name][n - 1]))
            for name, offer in self.offers.items()
        ]
        return board_of(self.work, rows)


def board_of(work: Work, rows: Sequence[BoardRow]) -> Board:
    """A board of these rows."""
    return Board(
        query=BoardQuery(),
        workload=work.name,
        workload_key=work.name,
        load="closed 1",
        rows=tuple(rows),
        elsewhere=(),
        published=(),
        problems=(),
        choices=(),
        runs=len(rows),
        requests=sum(row.evidence.attempted for row in rows),
        made_at=START,
    )


def quick(query: AdviceQuery) -> AdviceQuery:
    """Without the bootstrap of the Pareto set, which decides nothing."""
    return replace(query, replicates=0)

"""Boards, offers and their requests by hand, with a truth that is known: for tests of boards and advice."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np

from paceline.advisor.bill import Bill
from paceline.advisor.board import Board, BoardQuery, BoardRow, Choice, Elsewhere, PublishedRow
from paceline.advisor.digest import COLUMNS, CUT, FAILED, WELL, Digest, Floats
from paceline.advisor.digests import Problem
from paceline.advisor.evidence import OfferEvidence, pooled
from paceline.advisor.figures import FIGURES, Figure, of_estimate
from paceline.advisor.identity import OfferKey
from paceline.catalogue.price import Price, PriceUnknown, Rates
from paceline.stats.quantiles import quantile_estimate

START = datetime(2026, 11, 2, 9, 0, tzinfo=UTC)
WORKLOAD, WORKLOAD_KEY, LOAD = "coding-agent", "5f2a9c0e11d34b7a", "closed 4"
TOKENS = {"prompt": 1_800.0, "cached": 600.0, "completion": 420.0, "reasoning": 120.0}


@dataclass(frozen=True)
class Truth:
    """How an offer really is: medians, spread (of the logarithm), USD for a million tokens in and out."""

    model: str
    provider: str
    tier: str
    ttft_ms: float
    tok_s: float
    usd_in: float | None
    usd_out: float | None
    solved: float | None
    spread: float = 0.25
    failing: float = 0.0
    prefill_ms_per_token: float = 0.02

    @property
    def key(self) -> OfferKey:
        return OfferKey(self.model, self.provider, self.tier)


TRUTHS = (
    Truth("gpt-oss-120b", "cerise", "standard", 290.0, 310.0, 0.15, 0.60, 0.71),
    Truth("gpt-oss-120b", "wafer", "fast", 180.0, 1_420.0, 0.35, 0.75, 0.70, spread=0.35),
    Truth("gpt-oss-120b", "harbour", "standard", 520.0, 96.0, 0.09, 0.36, 0.72, spread=0.45),
    Truth("gpt-oss-20b", "cerise", "standard", 210.0, 330.0, 0.05, 0.20, 0.55),
    Truth("gpt-oss-20b", "local", "standard", 140.0, 118.0, None, None, 0.56, spread=0.1),
    Truth("qwen3.7-max", "lantern", "standard", 610.0, 205.0, 1.20, 6.00, 0.83),
    Truth("qwen3.7-max", "lantern", "fast", 480.0, 398.0, 2.40, 12.00, 0.83),
    Truth("gemini-3.5-flash", "google", "standard", 410.0, 212.0, 0.30, 2.50, 0.76, failing=0.03),
    Truth("gemini-3.5-flash", "google", "flex", 1_900.0, 140.0, 0.15, 1.25, 0.76, spread=0.8, failing=0.06),
    Truth("claude-haiku-5", "anthropic", "standard", 560.0, 148.0, 1.00, 5.00, 0.79),
    Truth("claude-haiku-5", "anthropic", "fast", 540.0, 152.0, 6.00, 30.00, 0.79),
    Truth("gemma-4-e2b", "local", "standard", 95.0, 74.0, 0.02, 0.02, None, spread=0.08),
)


def digest(
    truth: Truth,
    n: int = 300,
    *,
    seed: int = 1,
    started_at: datetime = START,
    load: str = LOAD,
    workload: tuple[str, str] = (WORKLOAD, WORKLOAD_KEY),
    **fields: Any,
) -> Digest:
    """A run of `n` requests, each a job, to the offer of a truth."""
    sample = requests(truth, n, np.random.default_rng(seed), started_at.timestamp())
    ok = int((sample["outcome"] == WELL).sum())
    seconds = float(sample["elapsed_ms"].sum()) / 1e3 / 4
    return Digest(
        **{
            "run_id": f"{started_at:%Y%m%d-%H%M%S}-{seed:04x}",
            "stamp": 1,
            "name": None,
            "started_at": started_at,
            "seconds": seconds,
            "state": "complete",
            "verdict": "trusted",
            "reasons": (),
            "endpoint": f"https://{truth.provider}.example/v1",
            "model": truth.model,
            "protocol": "openai-chat",
            "streaming": True,
            "provider": truth.provider,
            "tier": truth.tier,
            "live_offer": None,
            "extra": {},
            "workload": workload[0],
            "workload_key": workload[1],
            "load": load,
            "attempted": n,
            "ok": ok,
            "by_outcome": {"ok": ok, **({"timeout": n - ok} if ok < n else {})},
            "jobs": None,
            "jobs_ok": None,
            "requests_s": ok / seconds,
            "output_tok_s": float(np.nansum(sample["completion_tokens"])) / seconds,
            "jobs_s": None,
            "approximate": False,
            "capability": None,
            "sample": sample,
            **fields,
        }
    )


def requests(truth: Truth, n: int, rng: np.random.Generator, begun_s: float) -> dict[str, Floats]:
    """COLUMNS of `n` requests whose figures are lognormal about the truth's."""
    prompt = np.round(TOKENS["prompt"] * rng.lognormal(0.0, 0.8, n)).clip(20)
    completion = np.round(TOKENS["completion"] * rng.lognormal(0.0, 0.3, n)).clip(8)
    reasoning = np.round(completion * TOKENS["reasoning"] / TOKENS["completion"])
    prefill_ms = truth.prefill_ms_per_token * (prompt - TOKENS["prompt"])
    ttft_ms = truth.ttft_ms * rng.lognormal(0.0, truth.spread, n) + np.maximum(
        prefill_ms, -0.5 * truth.ttft_ms
    )
    rate = truth.tok_s * rng.lognormal(0.0, truth.spread / 3.0, n)
    e2e_ms = ttft_ms + 1e3 * (completion - 1) / rate
    outcome = np.where(rng.random(n) < truth.failing, np.where(rng.random(n) < 0.5, CUT, FAILED), WELL)
    well = outcome == WELL
    found = {
        "at_s": begun_s + np.cumsum(np.full(n, 0.5)),
        "job": np.arange(n, dtype=np.float64),
        "outcome": outcome.astype(np.float64),
        "elapsed_ms": np.where(outcome == CUT, 30_000.0, e2e_ms),
        "prompt_tokens": prompt,
        "cached_tokens": np.round(prompt * TOKENS["cached"] / TOKENS["prompt"]),
        "cache_write_tokens": np.zeros(n),
        "completion_tokens": completion,
        "reasoning_tokens": reasoning,
        "ttft_ms": ttft_ms,
        "ttfat_ms": ttft_ms + 1e3 * reasoning / rate,
        "e2e_ms": e2e_ms,
        "output_tok_s": rate,
        "longest_stall_ms": 1e3 / rate * rng.lognormal(1.5, 0.4, n),
        "fluidity": np.clip(rng.normal(0.995, 0.005, n), 0.0, 1.0),
    }
    metrics = set(COLUMNS) - {"at_s", "job", "outcome", "elapsed_ms", "prompt_tokens"}
    return {name: np.where(well, found[name], np.nan) if name in metrics else found[name] for name in COLUMNS}


def evidence(truth: Truth, runs: int = 3, n: int = 300, **fields: Any) -> OfferEvidence:
    """Some runs of an offer, a day apart, pooled."""
    seed = 1_000 * (1 + TRUTHS.index(truth)) if truth in TRUTHS else 7
    return pooled(
        [
            digest(truth, n, **{"seed": seed + run, "started_at": START + timedelta(days=run), **fields})
            for run in range(runs)
        ]
    )[0]


def figures(of: OfferEvidence, truth: Truth) -> dict[str, Figure]:
    """Every figure of a board, as the sample and the truth have it."""
    found = {
        name: of_estimate(of.quantile(column, q))
        for name, column, q in (
            ("ttft_p50_ms", "ttft_ms", 0.5),
            ("ttft_p95_ms", "ttft_ms", 0.95),
            ("ttfat_p50_ms", "ttfat_ms", 0.5),
            ("output_tok_s", "output_tok_s", 0.5),
            ("stall_p95_ms", "longest_stall_ms", 0.95),
        )
    }
    e2e = of.columns["ttfat_ms"] + 499e3 / of.columns["output_tok_s"]
    found["e2e_500_ms"] = of_estimate(quantile_estimate(e2e[~np.isnan(e2e)], 0.5))
    p50, p95 = found["ttft_p50_ms"], found["ttft_p95_ms"]
    found["stability"] = (
        about(p95.value / p50.value, 0.05, p50.n)
        if p50.value and p95.value
        else Figure(None, note="no samples")
    )
    found["success_share"] = about(of.ok / of.attempted, 0.005, of.attempted, most=1.0)
    found["capability"] = (
        about(truth.solved, 0.035, 200, most=1.0)
        if truth.solved is not None
        else Figure(None, note="not measured: paceline capability run")
    )
    usd = usd_per_job(truth)
    unpriced = Figure(None, note="no price known: add it to prices.toml")
    found["usd_per_job"] = about(usd, 0.03 * usd, of.ok) if usd is not None else unpriced
    rate = found["output_tok_s"].value
    found["tok_s_per_usd"] = (
        about(rate / usd / 1e3, 0.03 * rate / usd / 1e3, of.ok) if usd and rate else unpriced
    )
    return {name: found[name] for name in FIGURES}


def about(value: float, half: float, n: int, *, most: float = float("inf")) -> Figure:
    """A figure with an interval of this half width."""
    return Figure(value, max(value - half, 0.0), min(value + half, most), n)


def usd_per_job(truth: Truth) -> float | None:
    """Of the mean tokens: 420 out by a lognormal of spread 0.3, 1,800 in by one of 0.8."""
    if truth.usd_in is None or truth.usd_out is None:
        return None
    prompt, completion = TOKENS["prompt"] * np.exp(0.32), TOKENS["completion"] * np.exp(0.045)
    return float(prompt * truth.usd_in + completion * truth.usd_out) / 1e6


def price(truth: Truth) -> Price | PriceUnknown:
    """The price of a truth."""
    if truth.usd_in is None or truth.usd_out is None:
        return PriceUnknown(
            f"no price of {truth.model} at {truth.provider} is known",
            "add it to prices.toml: paceline prices",
        )
    rates = Rates(truth.usd_in, truth.usd_out, cache_read_usd_per_mtok=truth.usd_in / 10)
    return Price("tokens", rates, "genai-prices 0.0.57", date(2026, 11, 20))


def bill(truth: Truth, figure: Figure) -> Bill:
    """The bill of a truth, of 2,000 jobs a day."""
    usd = usd_per_job(truth)
    parts = {} if usd is None else {"input": 0.6 * usd, "output": 0.4 * usd, "reasoning": 0.1 * usd}
    daily = None if usd is None else replace(figure, value=2_000 * usd, lo=None, hi=None)
    return Bill(figure, daily, None, parts, TOKENS, "measured", 2_000.0, price(truth))


def row(truth: Truth, **fields: Any) -> BoardRow:
    """The row of an offer; `fields`: of `evidence`, or `marks`, `feel`, `figures` of the row itself."""
    own = {name: fields.pop(name) for name in ("marks", "feel", "figures") if name in fields}
    of = evidence(truth, **fields)
    found = {**figures(of, truth), **own.get("figures", {})}
    marks: tuple[str, ...] = own.get("marks", ())
    feel: str = own.get("feel", "instant" if truth.ttft_ms < 300 else "quick")
    return BoardRow(truth.key, of, found, bill(truth, found["usd_per_job"]), price(truth), marks, feel)


def board(truths: Sequence[Truth] = TRUTHS, **fields: Any) -> Board:
    """A board of these offers, sorted by TTFT, with something of every kind."""
    rows = fields.pop("rows", None)
    if rows is None:
        rows = [row(truth, marks=_marks(place)) for place, truth in enumerate(truths)]
    rows = sorted(rows, key=lambda one: one.figures["ttft_p50_ms"].value or float("inf"))
    return Board(
        **{
            "query": BoardQuery(),
            "workload": WORKLOAD,
            "workload_key": WORKLOAD_KEY,
            "load": LOAD,
            "rows": tuple(rows),
            "elsewhere": (
                Elsewhere(OfferKey("kimi-k3", "moon"), "support-chat", "closed 1", 240, START),
                Elsewhere(OfferKey("gpt-oss-120b", "cerise"), WORKLOAD, "closed 64", 6_400, START),
            ),
            "published": PUBLISHED,
            "problems": (
                Problem(
                    "20261104-101500-00aa",
                    "invalid: the client was late; measure it again with fewer streams",
                ),
                Problem("20261105-080000-00bb", "its run.json cannot be read"),
            ),
            "choices": (
                Choice(WORKLOAD, WORKLOAD_KEY, LOAD, len(rows), 10_800),
                Choice("support-chat", "aa31f0c2d4e5b697", "closed 1", 1, 240),
            ),
            "runs": sum(len(one.evidence.digests) for one in rows),
            "requests": sum(one.evidence.attempted for one in rows),
            "made_at": datetime(2026, 11, 30, 9, 0, tzinfo=UTC),
            **fields,
        }
    )


def _marks(place: int) -> tuple[str, ...]:
    found: Mapping[int, tuple[str, ...]] = {4: ("approximate",), 7: ("suspect",), 9: ("live",)}
    return found.get(place, ())


def empty_board() -> Board:
    """A board of an empty store."""
    return board(
        rows=[],
        workload=None,
        workload_key=None,
        load=None,
        elsewhere=(),
        problems=(),
        choices=(),
        published=(),
    )


def loads(
    truths: Sequence[Truth] = TRUTHS[:3], streams: Sequence[int] = (1, 4, 16, 64)
) -> list[OfferEvidence]:
    """The same workload at several loads: each stream more takes something from each user's rate."""
    found = []
    for truth in truths:
        for at in streams:
            slow = 1.0 + at / 40.0
            loaded = replace(truth, tok_s=truth.tok_s / slow, ttft_ms=truth.ttft_ms * slow)
            total = at * loaded.tok_s * 0.85
            found.append(evidence(loaded, 2, 200, load=f"closed {at}", output_tok_s=total))
    return found


PUBLISHED = (
    PublishedRow(
        "gpt-oss-120b",
        None,
        306.0,
        "high effort",
        "Artificial Analysis index, as quoted in the press",
        "2026",
    ),
    PublishedRow("glm-5.2", "ultra", 1_000.0, "up to", "press, vendor figure", "2026"),
    PublishedRow("deepseek-v4", "fast", None, None, "press", "2026"),
)

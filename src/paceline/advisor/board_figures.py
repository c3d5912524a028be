"""The figures of one offer, from its pooled requests, its bill and its scores."""

import math
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from paceline.advisor.bill import Bill, JobCosts
from paceline.advisor.digest import CUT
from paceline.advisor.evidence import OfferEvidence
from paceline.advisor.figures import FIGURES, Figure, of_estimate
from paceline.stats.binomial import exact_share
from paceline.stats.bootstrap import Blocks
from paceline.stats.clustered_share import share_estimate
from paceline.stats.frame import Ints
from paceline.stats.positive_mean import apart_estimate
from paceline.stats.quantiles import quantile_estimate

Floats = npt.NDArray[np.float64]

ANSWER_TOKENS = 500
"""Of the answer whose time is the figure `e2e_500_ms`."""

_TAIL_Q = 0.95
_JOBS_OF_A_PRICE = 1000.0
# As in `stats.compare`: of fewer blocks the spread is not known, of fewer samples beyond it no quantile is.
_FEWEST_BLOCKS, _FEWEST_BEYOND = 5, 10
_MOST_BLOCKS = 100
_REPLICATES, _SEED = 500, 1
_NOT_STREAMED = "not streamed: answers came in one piece, so that their tokens have no times"


def figures_of(
    evidence: OfferEvidence, *, bill: Bill, costs: JobCosts | None, capability: Figure
) -> dict[str, Figure]:
    """Every figure of FIGURES, in its order. `costs`: None without a price."""
    # Both at once: what requests pass on to each other is then told once.
    evidence.quantiles("ttft_ms", (0.5, _TAIL_Q))
    rate = _quantile(evidence, "output_tok_s", 0.5)
    found = {
        "ttft_p50_ms": _quantile(evidence, "ttft_ms", 0.5),
        "ttft_p95_ms": _quantile(evidence, "ttft_ms", _TAIL_Q),
        "ttfat_p50_ms": _quantile(evidence, "ttfat_ms", 0.5),
        "output_tok_s": rate,
        "stability": stability(evidence),
        "stall_p95_ms": _quantile(evidence, "longest_stall_ms", _TAIL_Q),
        "e2e_500_ms": answer_time(evidence),
        "success_share": success_share(evidence),
        "capability": capability,
        "usd_per_job": bill.usd_per_job,
        "tok_s_per_usd": speed_per_usd(evidence, rate, bill, costs),
    }
    return {name: found[name] for name in FIGURES}


def answer_times_ms(evidence: OfferEvidence) -> Floats:
    """How long an answer of 500 tokens takes at each request's own TTFT of the answer and rate, float64[n].

    nan where either is not known, or the request did not end well.
    """
    columns = evidence.columns
    with np.errstate(divide="ignore"):
        times = columns["ttfat_ms"] + (ANSWER_TOKENS - 1) * 1000.0 / columns["output_tok_s"]
    return np.where(evidence.well & np.isfinite(times), times, np.nan)


def answer_time(evidence: OfferEvidence) -> Figure:
    """`e2e_500_ms`: the median; a request that was cut counts as longer than what was seen of it."""
    times = answer_times_ms(evidence)
    known = ~np.isnan(times)
    cut = evidence.columns["elapsed_ms"][evidence.columns["outcome"] == CUT]
    estimate = quantile_estimate(
        times[known], 0.5, censored=cut, jobs=evidence.jobs_of(known), runs=evidence.runs_of(known)
    )
    return _explained(of_estimate(estimate), evidence)


def success_share(evidence: OfferEvidence) -> Figure:
    """Those that ended well, of all attempted in all runs: exact bounds at as many as they are worth.

    What failures have in common is told from the sample. One that was thinned may have lost bursts, and is
    then worth no more than its own requests; but no burst is longer than there are failures.
    """
    ok, n = evidence.ok, evidence.attempted
    misses = np.where(evidence.well, 0.0, np.inf)
    sampled = share_estimate(misses, ok / n, evidence.jobs_of(misses >= 0.0), evidence.run)
    thinned = n / max(len(misses), 1)
    factor = max(1.0, min(thinned * sampled.n / sampled.effective_n, max(float(min(ok, n - ok)), 1.0)))
    found = exact_share(ok / factor, n / factor)
    return Figure(ok / n, found.lo, found.hi, n)


def stability(evidence: OfferEvidence) -> Figure:
    """The 95th percentile of TTFT over its median, by whole blocks of requests."""
    low, high = _quantile(evidence, "ttft_ms", 0.5), _quantile(evidence, "ttft_ms", _TAIL_Q)
    n = high.n
    if low.value is None or high.value is None or low.value <= 0.0:
        return Figure(None, n=n, note=high.note)
    ratio = high.value / low.value
    sample = _sample(evidence, "ttft_ms", evidence.drawn("ttft_ms"))
    short = _short_of(sample, _TAIL_Q)
    if short is not None:
        return Figure(ratio, n=n, needs_n=short)
    rng = np.random.default_rng(_SEED)
    draws, cuts = sample.draws(_REPLICATES, rng), sample.cuts(_REPLICATES, rng)
    middle, tail = sample.quantiles(draws, cuts, 0.5), sample.quantiles(draws, cuts, _TAIL_Q)
    return _bounded(ratio, _divided(tail, middle), sample.count, n)


def speed_per_usd(evidence: OfferEvidence, rate: Figure, bill: Bill, costs: JobCosts | None) -> Figure:
    """The median decode rate over the bill of 1,000 jobs; blocks are drawn for both at once."""
    usd = bill.usd_per_job
    if rate.value is None or usd.value is None or costs is None:
        return Figure(None, note=rate.note if rate.value is None else usd.note)
    if usd.value <= 0.0:
        return Figure(None, n=rate.n, note="it costs nothing")
    ratio = rate.value / (_JOBS_OF_A_PRICE * usd.value)
    drawn = evidence.drawn("output_tok_s")
    by_run = drawn is evidence.run or apart_estimate(costs.usd, costs.run) is not None
    drawn = evidence.run if by_run else drawn
    sample = _sample(evidence, "output_tok_s", drawn)
    short = _short_of(sample, 0.5)
    if short is not None:
        return Figure(ratio, n=rate.n, needs_n=short)
    whole = int(drawn.max()) + 1
    count = min(whole, _MOST_BLOCKS)
    spent = Blocks(costs.usd, _merged(costs.run if by_run else costs.block, whole), count, np.empty(0))
    rng = np.random.default_rng(_SEED)
    draws = sample.draws(_REPLICATES, rng)
    speeds = sample.quantiles(draws, sample.cuts(_REPLICATES, rng), 0.5)
    bills = spent.means(draws, np.zeros(_REPLICATES))
    return _bounded(ratio, _divided(speeds, _JOBS_OF_A_PRICE * bills), count, rate.n)


def _quantile(evidence: OfferEvidence, column: str, q: float) -> Figure:
    return _explained(of_estimate(evidence.quantile(column, q)), evidence)


def _explained(figure: Figure, evidence: OfferEvidence) -> Figure:
    """The figure; without any sample, with the reason for that."""
    if figure.n or figure.value is not None:
        return figure
    streamed = any(one.streaming for one in evidence.digests)
    why = (
        "no request ended well" if not evidence.well.any() else _NOT_STREAMED if not streamed else figure.note
    )
    return replace(figure, note=why)


def _sample(evidence: OfferEvidence, column: str, drawn: Ints) -> Blocks:
    """Known values of a column with their blocks, at most 100: neighbours are drawn together.

    `drawn`: the block of each request.
    """
    values = evidence.columns[column]
    known = evidence.well & ~np.isnan(values)
    whole = int(drawn.max()) + 1 if len(values) else 1
    ids = _merged(drawn[known], whole)
    return Blocks(values[known], ids, min(whole, _MOST_BLOCKS), evidence.censored(column))


def _merged(blocks: Ints, whole: int) -> Ints:
    """Numbers 0 to `whole` - 1 as numbers of at most 100 blocks."""
    merged: Ints = blocks * min(whole, _MOST_BLOCKS) // whole
    return merged


def _short_of(sample: Blocks, q: float) -> int | None:
    """How many samples a bootstrap of a quantile needs, where there are too few."""
    n = len(sample.values)
    blocks = len(np.unique(sample.ids))
    needed = round(_FEWEST_BEYOND / min(q, 1.0 - q))
    if 0 < blocks < _FEWEST_BLOCKS:
        needed = max(needed, math.ceil(n * _FEWEST_BLOCKS / blocks))
    return needed if needed > n else None


def _divided(above: Floats, below: Floats) -> Floats:
    """Ratios of replicates, inf where the upper one lies beyond what was waited for."""
    with np.errstate(invalid="ignore", divide="ignore"):
        found: Floats = above / below
    return found


def _bounded(value: float, drawn: Floats, blocks: int, n: int) -> Figure:
    """A figure with its percentile bootstrap, the tails widened for few blocks (Hesterberg 2015)."""
    from scipy.special import ndtr, stdtrit

    if np.isnan(drawn).any():
        return Figure(value, n=n, note="too many requests were cut for an interval")
    tail = float(ndtr(-stdtrit(blocks - 1, 0.975)))
    lo, hi = (float(end) for end in np.quantile(drawn, [tail, 1.0 - tail], method="closest_observation"))
    return Figure(value, lo if math.isfinite(lo) else None, hi if math.isfinite(hi) else None, n)

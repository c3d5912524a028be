"""Is B faster than A? A ratio, a difference, their bootstrap intervals, and a verdict.

Whole blocks of time (or whole runs) are resampled, never single requests: requests of one block share queues,
caches and the hour of the day, and an interval that took them for independent would be too narrow.
"""

import math
from dataclasses import asdict, dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from paceline.stats.bootstrap import Blocks
from paceline.stats.dependence import block_leak
from paceline.stats.frame import Ints
from paceline.stats.metrics import METRICS, Better, MetricSamples
from paceline.stats.quantiles import percentile

Floats = npt.NDArray[np.float64]
Statistic = Literal["mean", "p50", "p90", "p95", "p99", "share"]
Outcome = Literal["faster", "slower", "better", "worse", "no difference", "not enough data"]

_QUANTILES: dict[Statistic, float] = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}
_FEWEST_BLOCKS = 5
# A bootstrapped quantile needs samples beyond it to draw from.
_FEWEST_BEYOND = 10


@dataclass(frozen=True)
class Verdict:
    """What a comparison shows of B against A.

    `smallest_difference`: the share below which a difference is of no interest. `needs_n`: with `not enough
    data`, about how many more samples a side would settle it; None when that cannot be told.
    """

    outcome: Outcome
    smallest_difference: float
    needs_n: int | None = None

    def __str__(self) -> str:
        if self.outcome == "no difference":
            return f"no difference larger than {self.smallest_difference:.3g}"
        if self.outcome == "not enough data" and self.needs_n is not None:
            return f"not enough data (needs {self.needs_n} more)"
        return self.outcome


@dataclass(frozen=True)
class Interval:
    """A figure and its interval.

    `lo` is None where the data give no interval, `hi` also where they leave it open to above.
    """

    value: float
    lo: float | None
    hi: float | None


@dataclass(frozen=True)
class Comparison:
    """One statistic of one metric, B against A.

    `a`, `b`: the statistic on each side; inf for a quantile among censored observations. `ratio`: b / a.
    `difference`: b - a, in the metric's unit.
    `n_a`, `n_b`, `blocks_a`, `blocks_b`: samples and blocks on each side.
    """

    metric: str
    statistic: Statistic
    better: Better
    a: float
    b: float
    ratio: Interval
    difference: Interval
    verdict: Verdict
    n_a: int
    n_b: int
    blocks_a: int
    blocks_b: int

    def to_dict(self) -> dict[str, object]:
        """For JSON; the verdict also in words, nan and inf as None."""
        fields = asdict(self)
        fields["verdict"]["text"] = str(self.verdict)
        return {name: _plain(value) for name, value in fields.items()}


def time_blocks(samples: MetricSamples, blocks: int | None = None) -> Ints:
    """A block of time for each sample, int64[n], numbered from 0; blocks hold equally many samples.

    `blocks`: by default one for every 20 samples, at least 10 and at most 40: long enough that what follows
    upon a block hardly depends on it, and many enough to tell how much blocks vary.
    """
    n = len(samples.values)
    count = blocks if blocks is not None else min(max(n // 20, 10), 40)
    return np.arange(n) * count // max(n, 1)


def compare(
    a: MetricSamples,
    b: MetricSamples,
    *,
    statistic: Statistic = "p50",
    blocks_a: npt.ArrayLike | None = None,
    blocks_b: npt.ArrayLike | None = None,
    paired: bool = False,
    smallest_difference: float = 0.05,
    confidence: float = 0.95,
    replicates: int = 2000,
    seed: int = 1,
) -> Comparison:
    """Compare one statistic of a metric between runs A and B.

    `blocks_a`, `blocks_b`: the block id of each sample, int[n]; by default blocks of time. `paired`: blocks
    of equal id were interleaved, run close to each other, and are drawn together, so that what slowed both
    down cancels; ids that one side lacks are left out. `smallest_difference` (d): the share below which a
    difference is of no interest.

    The verdict is `no difference` when the whole interval of the ratio lies in [1 - d, 1 + d]; else `faster`
    or `slower` when the whole interval lies beyond 1, in the direction that is better or worse for this
    metric; else `not enough data`. Intervals are percentile bootstraps by block, with tails widened for few
    blocks (Hesterberg 2015, "expanded" percentiles) and, between blocks of time, for what one block passes on
    to the next. Censored observations take part; see `bootstrap.Blocks`.

    Raises ValueError when the metrics differ or block ids do not fit the samples.
    """
    if a.name != b.name:
        raise ValueError(f"cannot compare {a.name} with {b.name}")
    side_a, side_b = _sides(a, b, blocks_a, blocks_b, paired)
    value_a, value_b = _statistic(side_a, statistic), _statistic(side_b, statistic)
    short = _too_few(side_a, side_b, statistic)
    ratio = Interval(value_b / value_a if value_a else math.nan, None, None)
    difference = Interval(value_b - value_a, None, None)
    better = METRICS[a.name].better if a.name in METRICS else "lower"
    if short is None:
        leak = max(
            block_leak(samples.values, len(samples.values) // side.count) if blocks is None else 1.0
            for samples, side, blocks in ((a, side_a, blocks_a), (b, side_b, blocks_b))
        )
        tail = _tail(
            side_a.count,
            side_b.count,
            paired=paired,
            confidence=confidence,
            statistic=statistic,
            leak=leak,
        )
        drawn_a, drawn_b = _drawn(side_a, side_b, statistic, paired=paired, replicates=replicates, seed=seed)
        ratio = _ratio_interval(ratio.value, drawn_a, drawn_b, tail)
        difference = _interval(difference.value, drawn_b, drawn_a, np.subtract, tail)
        verdict = _verdict(ratio, better, smallest_difference, min(len(side_a.values), len(side_b.values)))
    else:
        verdict = Verdict("not enough data", smallest_difference, short or None)
    return Comparison(
        metric=a.name,
        statistic=statistic,
        better=better,
        a=value_a,
        b=value_b,
        ratio=ratio,
        difference=difference,
        verdict=verdict,
        n_a=len(side_a.values),
        n_b=len(side_b.values),
        blocks_a=side_a.count,
        blocks_b=side_b.count,
    )


def fail_if_slower(comparison: Comparison, threshold: float) -> bool:
    """Whether B is shown to be worse than A, and by more than `threshold` (0.05: five per cent).

    True when the ratio is worse than the threshold and its whole interval lies on the worse side of 1. Too
    little data does not fail: read the verdict. Of shares, whose ratio has no interval, the difference's
    counts.
    """
    ratio = comparison.ratio
    if comparison.statistic == "share":
        return ratio.value > 1.0 + threshold and comparison.verdict.outcome == "worse"
    if comparison.better == "lower":
        return ratio.value > 1.0 + threshold and ratio.lo is not None and ratio.lo > 1.0
    return ratio.value < 1.0 - threshold and ratio.hi is not None and ratio.hi < 1.0


def _sides(
    a: MetricSamples,
    b: MetricSamples,
    blocks_a: npt.ArrayLike | None,
    blocks_b: npt.ArrayLike | None,
    paired: bool,
) -> tuple[Blocks, Blocks]:
    if paired and (blocks_a is None or blocks_b is None):
        raise ValueError("paired blocks need the block ids of both sides")
    given = []
    for samples, blocks in ((a, blocks_a), (b, blocks_b)):
        ids = time_blocks(samples) if blocks is None else np.asarray(blocks, np.int64)
        if len(ids) != len(samples.values):
            raise ValueError(f"{len(ids)} block ids for {len(samples.values)} samples of {samples.name}")
        given.append(ids)
    common = np.intersect1d(given[0], given[1]) if paired else None
    sides = []
    for samples, ids in zip((a, b), given, strict=True):
        kept = np.ones(len(ids), np.bool_) if common is None else np.isin(ids, common)
        known, dense = np.unique(ids[kept], return_inverse=True)
        sides.append(Blocks(samples.values[kept], dense.astype(np.int64), len(known), samples.censored))
    return sides[0], sides[1]


def _drawn(
    side_a: Blocks, side_b: Blocks, statistic: Statistic, *, paired: bool, replicates: int, seed: int
) -> tuple[Floats, Floats]:
    """The statistic of each side in each replicate, float64[replicates]."""
    rng = np.random.default_rng(seed)
    draws_a = side_a.draws(replicates, rng)
    draws_b = draws_a if paired else side_b.draws(replicates, rng)
    drawn_a = _replicated(side_a, draws_a, side_a.cuts(replicates, rng), statistic)
    return drawn_a, _replicated(side_b, draws_b, side_b.cuts(replicates, rng), statistic)


def _statistic(side: Blocks, statistic: Statistic) -> float:
    if not len(side.values):
        return math.nan
    once = np.ones((1, side.count), np.float32)
    if statistic != "mean" and not len(side.censored):
        return percentile(side.values, _QUANTILES[statistic])
    return float(_replicated(side, once, np.array([float(len(side.censored))]), statistic)[0])


def _replicated(side: Blocks, draws: npt.NDArray[np.float32], cuts: Floats, statistic: Statistic) -> Floats:
    if statistic == "mean":
        return side.means(draws, cuts)
    return side.quantiles(draws, cuts, _QUANTILES[statistic])


def _too_few(side_a: Blocks, side_b: Blocks, statistic: Statistic) -> int | None:
    """None when the samples allow a bootstrap, else how many more a side needs (0: unknown)."""
    n = min(len(side_a.values), len(side_b.values))
    if n == 0:
        return 0
    blocks = min(side_a.count, side_b.count)
    needed = 2 * _FEWEST_BEYOND
    if statistic != "mean":
        q = _QUANTILES[statistic]
        needed = round(_FEWEST_BEYOND / min(q, 1.0 - q))
    if blocks < _FEWEST_BLOCKS:
        needed = max(needed, math.ceil(n * _FEWEST_BLOCKS / blocks))
    return needed - n if needed > n else None


def _tail(
    blocks_a: int, blocks_b: int, *, paired: bool, confidence: float, statistic: Statistic, leak: float
) -> float:
    """The share of replicates to cut off at each end.

    The variance between blocks is known from few of them only, so Student's t takes the place of the normal.
    It is too small by `leak`, and for a mean by (blocks - 1) / blocks; a quantile's steps make up for that.
    """
    from scipy.special import ndtr, stdtrit

    blocks = min(blocks_a, blocks_b)
    freedom = blocks - 1 if paired else blocks_a + blocks_b - 2
    missing = leak * blocks / (blocks - 1) if statistic == "mean" else leak
    return float(ndtr(-stdtrit(freedom, 0.5 + confidence / 2.0) * math.sqrt(missing)))


def _ratio_interval(value: float, drawn_a: Floats, drawn_b: Floats, tail: float) -> Interval:
    if not ((drawn_a > 0.0).all() and (drawn_b > 0.0).all()):
        return Interval(value, None, None)
    return _interval(value, drawn_b, drawn_a, np.divide, tail)


def _interval(value: float, drawn_b: Floats, drawn_a: Floats, apart: np.ufunc, tail: float) -> Interval:
    """Both sides may be inf, where a quantile lies among censored observations."""
    with np.errstate(invalid="ignore"):
        drawn = apart(drawn_b, drawn_a)
    if np.isnan(drawn).any():
        return Interval(value, None, None)
    lo, hi = (float(end) for end in np.quantile(drawn, [tail, 1.0 - tail], method="closest_observation"))
    return Interval(value, lo if math.isfinite(lo) else None, hi if math.isfinite(hi) else None)


def _verdict(ratio: Interval, better: Better, d: float, n: int) -> Verdict:
    if ratio.lo is None:
        return Verdict("not enough data", d)
    hi = math.inf if ratio.hi is None else ratio.hi
    if 1.0 - d <= ratio.lo and hi <= 1.0 + d:
        return Verdict("no difference", d)
    if hi < 1.0:
        return Verdict("faster" if better == "lower" else "slower", d)
    if ratio.lo > 1.0:
        return Verdict("slower" if better == "lower" else "faster", d)
    bounded = ratio.lo > 0.0 and math.isfinite(hi)
    return Verdict("not enough data", d, _more_needed(ratio.value, ratio.lo, hi, d, n) if bounded else None)


def _more_needed(ratio: float, lo: float, hi: float, d: float, n: int) -> int | None:
    """About how many more samples a side settle it, if the ratio stays and the width falls as 1 / sqrt(n)."""
    at = math.log(ratio)
    below, above = max(at - math.log(lo), 0.0), max(math.log(hi) - at, 0.0)
    shrink = [abs(at) / (below if at > 0.0 else above)] if at else []
    room_below, room_above = at - math.log1p(-d), math.log1p(d) - at
    if room_below > 0.0 and room_above > 0.0:
        shrink.append(min(room_below / max(below, 1e-12), room_above / max(above, 1e-12)))
    best = max(shrink, default=0.0)
    if not best > 1e-6:
        return None
    return max(math.ceil(n * (1.0 / best**2 - 1.0)), 1)


def _plain(value: object) -> object:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value

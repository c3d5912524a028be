"""Is B's share of failures another than A's? Counts of two runs against each other."""

import math

from paceline.stats.compare import Comparison, Interval, Outcome, Verdict

FAILED_JOBS = "failed_jobs"


def compare_failures(
    a: tuple[int, int], b: tuple[int, int], *, metric: str = FAILED_JOBS, smallest_difference: float = 0.05
) -> Comparison:
    """Compare shares that failed; `a`, `b`: how many failed, of how many.

    The verdict is `worse` or `better` when the whole interval of the difference lies on one side of 0; else
    `no difference` when it lies within `smallest_difference`, in points; else `not enough data`. The ratio
    has no interval: it is inf where only B has failures.
    """
    share_a, share_b = (failed / n if n else math.nan for failed, n in (a, b))
    difference = share_difference(a, b)
    ratio = share_b / share_a if share_a else math.inf if share_b > 0.0 else math.nan
    return Comparison(
        metric=metric,
        statistic="share",
        better="lower",
        a=share_a,
        b=share_b,
        ratio=Interval(ratio, None, None),
        difference=difference,
        verdict=Verdict(_outcome(difference, smallest_difference), smallest_difference),
        n_a=a[1],
        n_b=b[1],
        blocks_a=a[1],
        blocks_b=b[1],
    )


def share_difference(a: tuple[int, int], b: tuple[int, int], confidence: float = 0.95) -> Interval:
    """B's share less A's, with the hybrid score interval (Newcombe 1998, method 10); no ends without counts.

    `a`, `b`: how many, of how many.
    """
    if not (a[1] and b[1]):
        return Interval(math.nan, None, None)
    (p_a, lo_a, hi_a), (p_b, lo_b, hi_b) = score_interval(*a, confidence), score_interval(*b, confidence)
    apart = p_b - p_a
    lo = apart - math.hypot(p_b - lo_b, hi_a - p_a)
    hi = apart + math.hypot(hi_b - p_b, p_a - lo_a)
    return Interval(apart, lo, hi)


def score_interval(k: int, n: int, confidence: float) -> tuple[float, float, float]:
    """A share and its score interval (Wilson 1927)."""
    from scipy.special import ndtri

    z = float(ndtri(0.5 + confidence / 2.0))
    p = k / n
    middle = (p + z * z / (2 * n)) / (1.0 + z * z / n)
    half = z * math.sqrt(p * (1.0 - p) / n + z * z / (4 * n * n)) / (1.0 + z * z / n)
    # Of none and of all the ends are exact; rounding must not move them past the share.
    return p, min(p, middle - half), max(p, middle + half)


def _outcome(difference: Interval, smallest: float) -> Outcome:
    if difference.lo is None or difference.hi is None:
        return "not enough data"
    if difference.lo > 0.0:
        return "worse"
    if difference.hi < 0.0:
        return "better"
    return "no difference" if -smallest <= difference.lo and difference.hi <= smallest else "not enough data"

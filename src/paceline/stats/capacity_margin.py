"""A load that meets by a wide margin: what a count cannot say quickly.

Of a step in which every request met, the count tells little when requests of a step depend on each other. How
far the metrics lay within their limits, and how little that differs from step to step, tells more.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

# Shares of the requests whose closeness to the limits is kept with a step.
QUANTILES = (0.5, 0.8, 0.9, 0.95, 0.99)
# The limit lies at least so many times as far beyond the quantile as that is from the median.
_CLEAR = 1.0
# So many steps at a load show how much they differ.
FEWEST_STEPS = 3
# So much of what may be missed may be missed, for misses may come together.
_MISSED_PART = 0.25
# No margin is more certain than this: it is extrapolated from a few steps.
_LEAST_CHANCE = 1e-3


@dataclass(frozen=True)
class Closeness:
    """How close the requests of a step came to their limits: logarithms of value / limit, above 0 a miss.

    `median`: of the requests. `high`: the quantile at the share that has to meet, or the next one kept.
    """

    median: float
    high: float

    @classmethod
    def of(cls, ratios: Sequence[float | None] | None, share: float) -> "Closeness | None":
        """From the ratios that were kept of a step for `QUANTILES`; None where one that is needed is not."""
        if ratios is None or ratios[0] is None:
            return None
        for q, ratio in zip(QUANTILES, ratios, strict=True):
            if q >= share - 1e-9:
                return None if not ratio or not ratios[0] else cls(math.log(ratios[0]), math.log(ratio))
        return None

    @property
    def clear(self) -> bool:
        """Whether the limit is far beyond what the requests differ by."""
        return -self.high > 0.0 and -self.high >= _CLEAR * (self.high - self.median)


def chance_to_miss(steps: Sequence[tuple[int, int, Closeness | None]], share: float) -> float | None:
    """How likely a load does not meet, from its steps (attempted, met, closeness); None: that cannot be said.

    The chance that one more step like these would have its quantile over the limit: Student's t of its
    logarithm, so that it holds for any dependence of requests within a step.
    """
    from scipy.special import stdtr

    known = [close for _, _, close in steps if close is not None]
    if len(known) < max(len(steps), FEWEST_STEPS) or not all(close.clear for close in known):
        return None
    attempted = sum(n for n, _, _ in steps)
    missed = attempted - sum(met for _, met, _ in steps)
    if missed > _MISSED_PART * (1.0 - share) * attempted:
        return None
    n = len(known)
    mean = sum(close.high for close in known) / n
    spread = math.sqrt(sum((close.high - mean) ** 2 for close in known) / (n - 1))
    error = max(spread, 1e-9) * math.sqrt(1.0 + 1.0 / n)
    return max(float(stdtr(n - 1, mean / error)), _LEAST_CHANCE)

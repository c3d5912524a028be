"""What the report says of one metric."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from paceline.stats.frame import Ints
from paceline.stats.quantiles import Estimate, quantile_estimates


@dataclass(frozen=True)
class Summary:
    """One metric, in its own unit.

    `n`: observations seen to their end. `censored`: further ones that were cut; with any, `mean` and `max`
    count them at their lower bounds, so that both are lower bounds. Both are nan without observations.
    """

    n: int
    mean: float
    p50: Estimate
    p90: Estimate
    p95: Estimate
    p99: Estimate
    max: float
    censored: int

    def to_dict(self) -> dict[str, object]:
        """As in `paceline.report/1`; nan becomes None."""
        return {
            "n": self.n,
            "censored": self.censored,
            "mean": None if math.isnan(self.mean) else self.mean,
            "p50": self.p50.to_dict(),
            "p90": self.p90.to_dict(),
            "p95": self.p95.to_dict(),
            "p99": self.p99.to_dict(),
            "max": None if math.isnan(self.max) else self.max,
        }


def summarise(
    values: npt.ArrayLike,
    *,
    censored: npt.ArrayLike | None = None,
    confidence: float = 0.95,
    dependent: bool = True,
    jobs: Ints | None = None,
) -> Summary:
    """Summarise `values` (float64[n], in order of time) and `censored` (float64[k], lower bounds).

    The arguments are those of `quantiles.quantile_estimates`.
    """
    seen = np.asarray(values, dtype=np.float64)
    bounds = np.asarray([] if censored is None else censored, dtype=np.float64)
    p50, p90, p95, p99 = quantile_estimates(
        seen,
        [0.5, 0.9, 0.95, 0.99],
        censored=bounds,
        confidence=confidence,
        dependent=dependent,
        jobs=jobs,
    )
    observed = np.concatenate([seen, bounds]) if len(bounds) else seen
    return Summary(
        n=len(seen),
        mean=float(observed.mean()) if observed.size else math.nan,
        p50=p50,
        p90=p90,
        p95=p95,
        p99=p99,
        max=float(observed.max()) if observed.size else math.nan,
        censored=len(bounds),
    )

"""Distributions of durations in ms: `250`, `0.5`, `lognormal:2000:0.8`."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from paceline.workloads.distributions import Distribution

# A day: nobody waits longer within a job, and a mistyped zero should not hold a run up for a year.
MAX_MS = 86_400_000.0


@dataclass(frozen=True)
class Durations(Distribution):
    """Durations in ms, fractions included; every sample is in 0..86,400,000 (a day)."""

    noun: ClassVar[str] = "duration"
    unit: ClassVar[str] = "milliseconds"
    lowest: ClassVar[float] = 0
    highest: ClassVar[float] = MAX_MS
    whole: ClassVar[bool] = False

    def sample(self, seed: int, stream: str, start: int, n: int) -> npt.NDArray[np.float64]:
        """Durations of places start..start+n-1 in ms, shape (n,)."""
        return self.draw(seed, stream, start, n)

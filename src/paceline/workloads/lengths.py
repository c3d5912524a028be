"""Distributions of lengths in tokens: `512`, `uniform:100:200`, `choice:128,512`."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from paceline.workloads.distributions import Distribution

# A prompt of ten million tokens is beyond any model, and a mistyped zero should not eat the memory.
MAX_TOKENS = 10_000_000


@dataclass(frozen=True)
class Lengths(Distribution):
    """Lengths in tokens; every sample is a whole number in 1..10,000,000."""

    noun: ClassVar[str] = "length"
    unit: ClassVar[str] = "tokens"
    lowest: ClassVar[float] = 1
    highest: ClassVar[float] = MAX_TOKENS
    whole: ClassVar[bool] = True

    def sample(self, seed: int, stream: str, start: int, n: int) -> npt.NDArray[np.int64]:
        """Lengths of requests start..start+n-1, shape (n,); other streams of a seed are independent."""
        return self.draw(seed, stream, start, n).astype(np.int64)

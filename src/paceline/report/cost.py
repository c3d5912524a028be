"""What a run has cost, by its tokens or by the hours of own hardware."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from paceline.catalogue.price import Price, PriceUnknown
from paceline.report.cells import usd_words
from paceline.report.evidence import Evidence
from paceline.stats.frame import MISSING, Frame

Floats = npt.NDArray[np.float64]

NOT_ASKED = PriceUnknown(
    "no price is known for this endpoint", "see the price file, docs/reference/prices.md"
)
_TOKENS = ("prompt_tokens", "cached_tokens", "cache_write_tokens", "completion_tokens", "reasoning_tokens")


@dataclass(frozen=True)
class RunCost:
    """usd: of all measured requests whose tokens are known, or of the time that they were sent in; None where
    nothing is known. unpriced: measured requests whose tokens are not known. usd_per_request: the mean of
    those that ended well. reason: why `usd` is None.
    """

    price: Price | PriceUnknown
    usd: float | None
    usd_per_request: float | None
    unpriced: int
    reason: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """`cost` of `paceline.report/1`."""
        if isinstance(self.price, PriceUnknown) or self.usd is None:
            return {"known": False, "reason": self.reason}
        return {
            "known": True,
            "usd": self.usd,
            "usd_per_request": self.usd_per_request,
            "unpriced_requests": self.unpriced,
            "source": self.price.source,
            "as_of": self.price.as_of.isoformat(),
            "warnings": list(self.price.warnings),
        }

    def words(self) -> str:
        """`0.0336 USD, 0.000224 a request (genai-prices ...)`; nothing where it is not known."""
        if isinstance(self.price, PriceUnknown) or self.usd is None:
            return ""
        least = "at least " if self.unpriced else ""
        each = "" if self.usd_per_request is None else f", {usd_words(self.usd_per_request)} a request"
        return f"{least}{usd_words(self.usd)} USD{each} ({self.price.source})"


def run_cost(evidence: Evidence, price: Price | PriceUnknown) -> RunCost:
    """The cost of a run's measured requests, of whatever outcome: what failed may have been charged too."""
    if isinstance(price, PriceUnknown):
        return RunCost(price, None, None, 0, price.why)
    frame = Frame(evidence.rows)
    if price.kind == "hours":
        return _of_hardware(evidence, price, int(frame.well.sum()))
    usd = price.usd(*(_column(frame, name) for name in _TOKENS)).total
    known = frame.measured & ~np.isnan(usd)
    unpriced = int(frame.measured.sum() - known.sum())
    if not known.any():
        return RunCost(price, None, None, unpriced, "the server did not say how many tokens there were")
    well = usd[known & frame.well]
    each = float(well.mean()) if len(well) else None
    return RunCost(price, float(usd[known].sum()), each, unpriced)


def _of_hardware(evidence: Evidence, price: Price, well: int) -> RunCost:
    seconds = sum(float(one.get("elapsed_ns") or 0) for one in evidence.manifest.segments) / 1e9
    usd = seconds / 3600.0 * (price.usd_per_hour or 0.0)
    if not seconds or not math.isfinite(usd):
        return RunCost(price, None, None, 0, "the run does not say how long it took")
    return RunCost(price, usd, usd / well if well else None, 0)


def _column(frame: Frame, name: str) -> Floats:
    counts = frame.ints(name)
    return np.where(counts == MISSING, np.nan, counts.astype(np.float64))

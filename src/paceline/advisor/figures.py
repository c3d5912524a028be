"""The figures that offers are held against each other by, and one value of one with its interval."""

from dataclasses import dataclass

from paceline.report.board_figures import FIGURES, FigureInfo
from paceline.stats.quantiles import Estimate

__all__ = ["FIGURES", "Figure", "FigureInfo", "of_estimate"]


@dataclass(frozen=True)
class Figure:
    """A value in its figure's unit, with its 95 % interval.

    value: None where it is not known; `note` then says why, and what to do. lo, hi: None where there is no
    bound. n: samples behind it. needs_n: how many it would take for an interval, where there is none.
    """

    value: float | None
    lo: float | None = None
    hi: float | None = None
    n: int = 0
    needs_n: int | None = None
    note: str | None = None

    @property
    def known(self) -> bool:
        """There is a value with both bounds."""
        return self.value is not None and self.lo is not None and self.hi is not None


def of_estimate(estimate: Estimate) -> Figure:
    """A quantile as a figure."""
    value = estimate.value if estimate.n and estimate.known else None
    note = None if value is not None else "no samples" if not estimate.n else "beyond what was waited for"
    return Figure(value, estimate.lo, estimate.hi, estimate.n, estimate.needs_n, note)

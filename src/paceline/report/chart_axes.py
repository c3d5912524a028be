"""Axes that are decided before a chart is drawn, so that names can be placed and strips be laid."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import altair as alt

# From this ratio of its ends on an axis is drawn by its logarithm.
WIDE = 8.0
_MOST_TICKS = 7
_PADDING = 0.06
# What a strip for points without this figure takes of the axis.
_STRIP = 0.13
Side = Literal["low", "high"]


@dataclass(frozen=True)
class Axis:
    """lo, hi: ends of what is drawn; ticks: marked values. strip: where those without a value are."""

    title: str
    lo: float
    hi: float
    log: bool
    ticks: tuple[float, ...]
    strip: tuple[float, float] | None = None

    def share(self, value: float) -> float:
        """Where a value lies, 0 at the lower end and 1 at the upper."""
        lo, hi, at = (math.log(one) if self.log else one for one in (self.lo, self.hi, value))
        return (at - lo) / (hi - lo)

    def between(self, share: float) -> float:
        """The value at a share of the axis."""
        if self.log:
            return self.lo * math.exp(share * math.log(self.hi / self.lo))
        return self.lo + share * (self.hi - self.lo)

    @property
    def strip_middle(self) -> float | None:
        """Where those without a value are drawn."""
        if self.strip is None:
            return None
        return self.between((self.share(self.strip[0]) + self.share(self.strip[1])) / 2.0)

    @property
    def ends(self) -> tuple[float, float]:
        """Ends of what is drawn without the strip."""
        if self.strip is None:
            return self.lo, self.hi
        return (self.strip[1], self.hi) if self.strip[0] == self.lo else (self.lo, self.strip[0])

    def scale(self) -> alt.Scale:
        """The Vega-Lite scale."""
        if self.log:
            return alt.Scale(type="log", domain=[self.lo, self.hi], nice=False)
        return alt.Scale(domain=[self.lo, self.hi], nice=False, zero=False)

    def marks(self) -> alt.Axis:
        """The Vega-Lite axis."""
        return alt.Axis(values=list(self.ticks), format=",.4~r", labelOverlap="greedy")


def axis_of(title: str, values: Iterable[float], *, strip: Side | None = None, zero: bool = False) -> Axis:
    """The axis of values (some, each finite), by logarithm where they range widely and all are positive.

    strip: at which end there is one for points without a value. zero: a linear axis begins at zero.
    """
    known = sorted(values)
    low, high = known[0], known[-1]
    log = low > 0.0 and high / low >= WIDE
    if log:
        apart = math.log(high / low)
        lo, hi = math.exp(math.log(low) - _PADDING * apart), math.exp(math.log(high) + _PADDING * apart)
    else:
        base = 0.0 if zero else low
        apart = high - base or abs(high) or 1.0
        lo, hi = (0.0 if zero else max(low - _PADDING * apart, min(low, 0.0))), high + _PADDING * apart
    plain = Axis(title, lo, hi, log, ticks(lo, hi, log=log))
    if strip is None:
        return plain
    if strip == "high":
        end = plain.between(1.0 + _STRIP)
        return Axis(title, lo, end, log, plain.ticks, (hi, end))
    end = plain.between(-_STRIP)
    return Axis(title, end, hi, log, plain.ticks, (end, lo))


def ticks(lo: float, hi: float, *, log: bool) -> tuple[float, ...]:
    """A few round marks between two values: evenly apart, or 1, 2 and 5 times powers of ten."""
    if not log:
        rough = (hi - lo) / _MOST_TICKS
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(size * power for size in (1.0, 2.0, 5.0, 10.0) if size * power >= rough)
        first, last = math.ceil(lo / step - 1e-9), math.floor(hi / step + 1e-9)
        return tuple(float(f"{place * step:.10g}") for place in range(first, last + 1))
    powers = range(math.floor(math.log10(lo)), math.ceil(math.log10(hi)) + 1)
    for sizes in ((1, 2, 5), (1, 3), (1,)):
        inside = tuple(
            float(f"{size}e{power}")
            for power in powers
            for size in sizes
            if lo <= float(f"{size}e{power}") <= hi
        )
        if len(inside) <= _MOST_TICKS + 1:
            break
    return inside

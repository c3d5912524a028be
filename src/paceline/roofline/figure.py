"""Repeats of one measurement, and the figure that stands for them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from paceline.measure.machine_speed import Stretch

# Repeats that fall further below the best than this are worth a word.
SPREAD = 0.10
# Threads that had less than this share of their cores were not alone.
ALONE_SHARE = 0.9
# With less, processor time says little of a stretch.
_LEAST_SHARE = 0.2
_LOW_QUANTILE = 0.10


@dataclass(frozen=True, slots=True)
class Figure:
    """value: the best repeat, as whatever else happens can only slow one down. lo: the 10th percentile.

    share: of as many cores' time as there were threads, what they had in the best repeat; 1: all of it.
    """

    value: float
    lo: float
    share: float = 1.0

    @property
    def disturbed(self) -> bool:
        """Whether other work took the cores even in the best repeat, so that the true figure is higher."""
        return self.share < ALONE_SHARE


def moved(stretches: "Sequence[Stretch]") -> Figure:
    """Of memory: by the clock, since threads that take turns at a core do not share the memory."""
    best = max(stretches, key=lambda one: one.rate)
    return Figure(best.rate, _low([one.rate for one in stretches]), min(best.share, 1.0))


def computed(stretches: "Sequence[Stretch]") -> Figure:
    """Of arithmetic: by the processor time that the threads had, so that other work does not count.

    Where the threads had next to nothing, by the clock.
    """
    judged = [one for one in stretches if one.share >= _LEAST_SHARE]
    if not judged:
        return moved(stretches)
    rates = [one.rate / min(one.share, 1.0) for one in judged]
    return Figure(max(rates), _low(rates))


def repeated(rates: Sequence[float]) -> Figure:
    """Of repeats on a device of its own."""
    return Figure(max(rates), _low(rates))


def spread_note(name: str, figure: Figure) -> str | None:
    """What to say of repeats that differ much; None where they do not."""
    if figure.disturbed:
        return (
            f"{name}: other work had {1 - figure.share:.0%} of the cores in the best of the repeats; "
            "alone on the machine it may be more"
        )
    below = 1.0 - figure.lo / figure.value
    return f"{name}: repeats fall up to {below:.0%} below the best" if below > SPREAD else None


def _low(rates: Sequence[float]) -> float:
    import numpy as np

    return float(np.quantile(rates, _LOW_QUANTILE))

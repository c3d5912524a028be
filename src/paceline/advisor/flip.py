"""What would turn an advice round: price, worth of time, volume; and whether a fast tier pays for itself."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from paceline.advisor.case import MS_PER_HOUR, Case
from paceline.advisor.identity import OfferKey

Floats = npt.NDArray[np.float64]

_HOURS_PER_DAY = 24.0
_TAIL = 0.025
# Of bill and time of one offer, and of another.
_OfBoth = Callable[[Floats, Floats, Floats, Floats], Floats]


@dataclass(frozen=True)
class Draws:
    """Bill in USD and time in ms of a job, float64[r] each, of the same drawn blocks; nan: not known.

    tail: what to cut off a side for an interval of 95 %, wider where blocks are few (Hesterberg 2015).
    """

    bill: Floats
    time: Floats
    tail: float


@dataclass(frozen=True)
class Bound:
    """A figure with its 95 % interval; hi None: open, lo None: unknown."""

    value: float
    lo: float | None
    hi: float | None


@dataclass(frozen=True)
class PriceFlip:
    """By how much the price of the best would have to rise for the rival to be as cheap: 0.2 is 20 %."""

    rival: OfferKey
    rise: Bound


@dataclass(frozen=True)
class WorthFlip:
    """From which worth of an hour on (`above`), or below which (`below`), the rival is the better."""

    rival: OfferKey
    side: Literal["above", "below"]
    usd_per_hour: Bound


@dataclass(frozen=True)
class VolumeFlip:
    """From how many jobs a day on own hardware, paid all day, costs less than tokens.

    capacity_per_day: jobs that it did at its measured pace, if it went on all day; None: not known. A
    break-even beyond it needs more hardware, which costs more: own hardware is then never the cheaper.
    """

    hours: OfferKey
    tokens: OfferKey
    jobs_per_day: Bound
    capacity_per_day: float | None


@dataclass(frozen=True)
class TierPays:
    """A faster tier of one model and provider beside a slower one, a job: USD more, seconds less.

    usd_per_hour: the worth of time from which on the extra is worth its price; None where it saves no time,
    or costs nothing more.
    """

    slower: OfferKey
    faster: OfferKey
    extra_usd: Bound
    saved_s: Bound
    usd_per_hour: Bound | None


def draw_all(cases: Sequence[Case], replicates: int, seed: int) -> dict[OfferKey, Draws]:
    """Draws of each offer; offers are independent of each other."""
    from scipy.special import ndtr, stdtrit

    found = {}
    for place, case in enumerate(cases):
        rng = np.random.default_rng([seed, place])
        bill, time = case.draws(replicates, rng)
        blocks = max(case.block_sums.shape[1], 2)
        tail = float(ndtr(stdtrit(blocks - 1, _TAIL) * math.sqrt(blocks / (blocks - 1))))
        found[case.key] = Draws(bill, time, tail)
    return found


def price_flip(best: Case, rival: Case, draws: Mapping[OfferKey, Draws], worth: float) -> PriceFlip | None:
    """(total of the rival - total of the best) / bill of the best; total: bill + worth x time."""
    if best.bill is None or rival.bill is None or best.bill.value <= 0.0:
        return None
    a, b = draws[best.key], draws[rival.key]
    scale = worth / MS_PER_HOUR

    def rise(bill_a: Floats, time_a: Floats, bill_b: Floats, time_b: Floats) -> Floats:
        return np.asarray((bill_b - bill_a + scale * (time_b - time_a)) / bill_a)

    return PriceFlip(rival.key, _between(best, rival, a, b, rise))


def worth_flips(
    best: Case, rivals: Sequence[Case], draws: Mapping[OfferKey, Draws], worth: float
) -> list[WorthFlip]:
    """The nearest worth of an hour above, and below, at which a rival has the lower bill + worth x time."""
    above: list[WorthFlip] = []
    below: list[WorthFlip] = []
    for rival in rivals:
        if best.bill is None or rival.bill is None:
            continue
        saved_ms = best.time_ms.value - rival.time_ms.value
        extra_usd = rival.bill.value - best.bill.value
        if saved_ms * extra_usd <= 0.0:
            continue
        found = WorthFlip(
            rival.key,
            "above" if saved_ms > 0.0 else "below",
            _between(best, rival, draws[best.key], draws[rival.key], _worth),
        )
        (above if found.side == "above" else below).append(found)
    nearest_above = min(above, key=lambda one: one.usd_per_hour.value, default=None)
    nearest_below = max(below, key=lambda one: one.usd_per_hour.value, default=None)
    # Without a worth of time nothing lies below.
    return [one for one in (nearest_above, nearest_below if worth > 0.0 else None) if one is not None]


def volume_flips(best: Case, rivals: Sequence[Case]) -> list[VolumeFlip]:
    """Own hardware against tokens: 24 h x USD an hour over the USD of a job by tokens."""
    found = []
    for rival in rivals:
        kinds = {case.price.kind: case for case in (best, rival) if case.price is not None}
        hours, tokens = kinds.get("hours"), kinds.get("tokens")
        if hours is None or tokens is None or hours.price is None or tokens.bill is None:
            continue
        usd_per_day = _HOURS_PER_DAY * (hours.price.usd_per_hour or 0.0)
        if tokens.bill.value <= 0.0:
            continue
        ends = (tokens.bill.upper(_TAIL), tokens.bill.lower(_TAIL))
        bound = Bound(
            usd_per_day / tokens.bill.value,
            usd_per_day / ends[0] if math.isfinite(ends[0]) else None,
            usd_per_day / ends[1] if ends[1] > 0.0 else None,
        )
        found.append(VolumeFlip(hours.key, tokens.key, bound, capacity_per_day(hours)))
    return found


def capacity_per_day(case: Case) -> float | None:
    """Jobs that own hardware did a day at the pace of its fastest run; None where no run has a pace."""
    paces = [one.jobs_s if one.jobs is not None else one.requests_s for one in case.row.evidence.digests]
    known = [pace for pace in paces if pace]
    return 86_400.0 * max(known) if known else None


def tiers_paying(cases: Sequence[Case], draws: Mapping[OfferKey, Draws]) -> list[TierPays]:
    """Each pair of tiers of one model and provider of which one is the faster, the slower one first."""
    found = []
    for place, one in enumerate(cases):
        for other in cases[place + 1 :]:
            same = (one.key.model, one.key.provider) == (other.key.model, other.key.provider)
            if not same or one.bill is None or other.bill is None:
                continue
            slower, faster = sorted((one, other), key=lambda case: -case.time_ms.value)
            a, b = draws[slower.key], draws[faster.key]
            extra = _between(slower, faster, a, b, _extra_usd)
            saved = _between(slower, faster, a, b, _saved_s)
            pays = None
            if extra.value > 0.0 and saved.value > 0.0:
                pays = _between(slower, faster, a, b, _worth)
            found.append(TierPays(slower.key, faster.key, extra, saved, pays))
    return found


def _extra_usd(bill_a: Floats, _: Floats, bill_b: Floats, __: Floats) -> Floats:
    return np.asarray(bill_b - bill_a)


def _saved_s(_: Floats, time_a: Floats, __: Floats, time_b: Floats) -> Floats:
    return np.asarray((time_a - time_b) / 1e3)


def _worth(bill_a: Floats, time_a: Floats, bill_b: Floats, time_b: Floats) -> Floats:
    """USD more over hours less; inf where a draw saves nothing, 0 where it costs nothing more."""
    extra, saved = bill_b - bill_a, (time_a - time_b) / MS_PER_HOUR
    # Both turned round are the same trade, seen from the other side.
    turned = (extra < 0.0) & (saved < 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.where(saved > 0.0, np.maximum(extra, 0.0) / saved, np.inf)
        return np.where(turned, extra / saved, found)


def _between(best: Case, rival: Case, a: Draws, b: Draws, of: _OfBoth) -> Bound:
    """A figure of two offers with its percentile bootstrap."""
    point = [np.array([case.bill.value if case.bill else np.nan]) for case in (best, rival)]
    time = [np.array([case.time_ms.value]) for case in (best, rival)]
    value = float(of(point[0], time[0], point[1], time[1])[0])
    drawn = of(a.bill, a.time, b.bill, b.time)
    if np.isnan(drawn).any() or not len(drawn):
        return Bound(value, None, None)
    tail = min(a.tail, b.tail)
    lo, hi = (float(end) for end in np.quantile(drawn, [tail, 1.0 - tail], method="closest_observation"))
    return Bound(value, lo if math.isfinite(lo) else None, hi if math.isfinite(hi) else None)

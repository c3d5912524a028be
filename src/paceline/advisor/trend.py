"""An offer over time: did it become slower on Tuesday, or is that noise?

What is compared are hours, not requests: requests of one hour share whatever is going on, and thousands of
them say no more about the next hour than a few. An hour with too few requests is left out, and counted.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Literal

import numpy as np

from paceline.advisor.digest import WELL
from paceline.advisor.evidence import Floats, OfferEvidence
from paceline.advisor.identity import OfferKey
from paceline.stats.changes import ALPHA, FEWEST, Change, changes, detectable
from paceline.stats.quantiles import Estimate, quantile_estimate

TrendFigure = Literal["ttft_p50_ms", "ttfat_p50_ms", "output_tok_s", "e2e_p50_ms"]
COLUMN_OF: dict[TrendFigure, str] = {
    "ttft_p50_ms": "ttft_ms",
    "ttfat_p50_ms": "ttfat_ms",
    "output_tok_s": "output_tok_s",
    "e2e_p50_ms": "e2e_ms",
}
FEWEST_IN_HOUR = 5
SMALLEST = 0.05
"""A change below this share is of no interest."""
_HOUR_S = 3600.0
TrendVerdict = Literal["faster", "slower", "no change", "not enough data"]


@dataclass(frozen=True)
class Hour:
    """One hour, UTC: the median with its interval over n sampled requests, and the runs they are of."""

    at: datetime
    median: Estimate
    n: int
    runs: tuple[str, ...]


@dataclass(frozen=True)
class Shift:
    """A change of level. It lies after `after`, the last hour of the old level; `at` is the first of the new.

    better: whether the new level is the better one. p: how often chance alone would show as much.
    """

    after: datetime
    at: datetime
    ratio: float
    lo: float
    hi: float
    p: float
    better: bool


@dataclass(frozen=True)
class Trend:
    """verdict: of the latest change, or that there is none. hours: in order. left_out: those with too few
    requests.

    detectable: the lasting change, as a share, that would hardly have been missed; inf where nothing would.
    needs_hours: further hours until a change could be told, where there is not enough data.
    """

    key: OfferKey
    workload: str
    load: str
    figure: TrendFigure
    verdict: TrendVerdict
    hours: tuple[Hour, ...]
    shifts: tuple[Shift, ...]
    left_out: int
    detectable: float
    needs_hours: int | None


def trend(evidence: OfferEvidence, figure: TrendFigure = "ttft_p50_ms", *, alpha: float = ALPHA) -> Trend:
    """The median of an offer by hour, and its changes. `alpha`: how often chance may pass for one."""
    hours, left_out = _hours(evidence, COLUMN_OF[figure])
    medians = np.array([hour.median.value for hour in hours])
    found = changes(medians, alpha=alpha) if len(hours) else []
    lower = figure.endswith("_ms")
    shifts = tuple(
        Shift(
            after=hours[one.place - 1].at,
            at=hours[one.place].at,
            ratio=one.ratio,
            lo=one.lo,
            hi=one.hi,
            p=one.p,
            better=(one.ratio < 1.0) == lower,
        )
        for one in found
        if _of_interest(one)
    )
    return Trend(
        key=evidence.key,
        workload=evidence.workload,
        load=evidence.load,
        figure=figure,
        verdict=_verdict(shifts, len(hours)),
        hours=hours,
        shifts=shifts,
        left_out=left_out,
        detectable=detectable(medians),
        needs_hours=FEWEST - len(hours) if len(hours) < FEWEST else None,
    )


def trends(offers: Sequence[OfferEvidence], figure: TrendFigure = "ttft_p50_ms") -> list[Trend]:
    """The trend of each offer; chance may pass for a change in ALPHA of all of them together.

    Holm's correction: the least likely is held to ALPHA / n, the next to ALPHA / (n - 1), and so on.
    """
    found = [trend(one, figure) for one in offers]
    tested = [place for place, one in enumerate(found) if one.needs_hours is None]
    order = sorted(tested, key=lambda place: min((one.p for one in found[place].shifts), default=1.0))
    for number, place in enumerate(order):
        found[place] = trend(offers[place], figure, alpha=ALPHA / (len(order) - number))
        if not found[place].shifts:
            # Once one is held for chance, those that are likelier are, too.
            for rest in order[number:]:
                found[rest] = _without_shifts(found[rest])
            break
    return found


def _without_shifts(one: Trend) -> Trend:
    return replace(one, shifts=(), verdict=_verdict((), len(one.hours)))


def _of_interest(change: Change) -> bool:
    return not 1.0 - SMALLEST < change.ratio < 1.0 / (1.0 - SMALLEST)


def _verdict(shifts: Sequence[Shift], hours: int) -> TrendVerdict:
    if hours < FEWEST:
        return "not enough data"
    if not shifts:
        return "no change"
    return "faster" if shifts[-1].better else "slower"


def _hours(evidence: OfferEvidence, column: str) -> tuple[tuple[Hour, ...], int]:
    values, at_s = evidence.columns[column], evidence.columns["at_s"]
    known = (evidence.columns["outcome"] == WELL) & (values > 0.0)
    number = np.floor(at_s / _HOUR_S)
    found, left_out = [], 0
    for hour in np.unique(number[~np.isnan(number)]):
        mine = number == hour
        chosen = np.flatnonzero(mine & known)
        if len(chosen) < FEWEST_IN_HOUR:
            left_out += 1
            continue
        chosen = chosen[np.argsort(at_s[chosen], kind="stable")]
        places = sorted({int(place) for place in evidence.run[chosen]})
        found.append(
            Hour(
                at=datetime.fromtimestamp(hour * _HOUR_S, UTC),
                median=_median(values[chosen]),
                n=len(chosen),
                runs=tuple(evidence.digests[place].run_id for place in places),
            )
        )
    return tuple(found), left_out


def _median(values: Floats) -> Estimate:
    return quantile_estimate(values, 0.5)

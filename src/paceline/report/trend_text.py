"""Offers over time, in words: for the terminal, and as `paceline.trend/1`."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from paceline.report.figures import clean, json_text, moment_text, offer_dict
from paceline.report.lines import WIDTH, folded
from paceline.report.words import printable
from paceline.units import format_number

if TYPE_CHECKING:
    from paceline.advisor.trend import Shift, Trend

SCHEMA = "paceline.trend/1"
_BARS = "▁▂▃▄▅▆▇█"
_MOST_BARS = 60
_NAMES = {
    "ttft_p50_ms": ("TTFT p50", "ms"),
    "ttfat_p50_ms": ("time to the answer p50", "ms"),
    "output_tok_s": ("decode rate p50", "tok/s"),
    "e2e_p50_ms": ("E2E p50", "ms"),
}


def trend_words(trend: "Trend") -> str:
    """The verdict as a sentence or two."""
    if trend.needs_hours is not None:
        left = f", and {trend.left_out} with fewer than 5 requests" if trend.left_out else ""
        more = "1 more hour is" if trend.needs_hours == 1 else f"{trend.needs_hours} more hours are"
        return (
            f"Not enough data: {_hours(len(trend.hours))} with measurements{left}; "
            f"{more} the least that can show a change."
        )
    if not trend.shifts:
        seen = (
            "" if math.isinf(trend.detectable) else f" One of {trend.detectable:.0%} would hardly be missed."
        )
        return f"No change beyond noise in {len(trend.hours)} hours.{seen}"
    return " ".join(_shift_words(one) for one in trend.shifts)


def _hours(n: int) -> str:
    return "1 hour" if n == 1 else f"{n} hours"


def _shift_words(shift: "Shift") -> str:
    change = abs(shift.ratio - 1.0)
    ends = sorted(abs(end - 1.0) for end in (shift.lo, shift.hi))
    chance = f"1 of {max(round(1.0 / shift.p), 1):,}" if shift.p < 0.5 else f"{shift.p:.0%}"
    what = "Better" if shift.better else "Worse"
    return (
        f"{what} by {change:.0%} ({ends[0]:.0%} to {ends[1]:.0%}) since {shift.at:%a %Y-%m-%d %H:00} UTC: "
        f"chance alone shows as much in {chance} series."
    )


def bars(values: Sequence[float]) -> str:
    """Values as a row of bars from the least to the greatest, at most 60: of more, their means."""
    if not values:
        return ""
    width = -(-len(values) // _MOST_BARS)
    shown = [
        math.fsum(part) / len(part)
        for part in (values[at : at + width] for at in range(0, len(values), width))
    ]
    low, high = min(shown), max(shown)
    span = (high - low) or 1.0
    return "".join(_BARS[min(int((value - low) / span * len(_BARS)), len(_BARS) - 1)] for value in shown)


def trends_text(trends: "Sequence[Trend]") -> str:
    """Each offer's course and verdict, in lines of 80 columns."""
    lines: list[str] = []
    for one in trends:
        name, unit = _NAMES[one.figure]
        head = f"{one.key}, {one.workload}, {one.load}"
        lines += folded(printable(head))
        medians = [hour.median.value for hour in one.hours]
        if medians:
            low, high = format_number(min(medians)), format_number(max(medians))
            begin, end = one.hours[0].at, one.hours[-1].at
            lines += [
                f"  {bars(medians)}",
                f"  {name} by hour, {low} to {high} {unit}, {begin:%m-%d %H:00} to {end:%m-%d %H:00} UTC",
            ]
        lines += folded(trend_words(one), WIDTH, "  ", "  ")
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def trends_json(trends: "Sequence[Trend]") -> str:
    """`paceline.trend/1` (docs/guides/trend.md)."""
    document = {"schema": SCHEMA, "offers": [clean(_dict(one)) for one in trends]}
    return json_text(document)


def _dict(one: "Trend") -> dict[str, Any]:
    return {
        **offer_dict(one.key),
        "workload": one.workload,
        "load": one.load,
        "figure": one.figure,
        "verdict": one.verdict,
        "text": trend_words(one),
        "hours": [
            {"at": moment_text(hour.at), "n": hour.n, "runs": list(hour.runs), **hour.median.to_dict()}
            for hour in one.hours
        ],
        "shifts": [
            {
                "after": moment_text(shift.after),
                "at": moment_text(shift.at),
                "ratio": {"value": shift.ratio, "lo": shift.lo, "hi": shift.hi},
                "p": shift.p,
                "better": shift.better,
            }
            for shift in one.shifts
        ],
        "left_out": one.left_out,
        "detectable": one.detectable,
        "needs_hours": one.needs_hours,
    }

"""When a step is cut short: an endpoint that is plainly overloaded is not hammered to the step's end."""

from collections.abc import Mapping
from dataclasses import dataclass

from paceline.measure.live_stats import Snapshot
from paceline.units import format_number, format_percentage

# Fewer requests than these prove nothing.
FEWEST_FINISHED = 20
FEWEST_FAILED = 10
# More than this times what may be missed has failed.
MANY_FAILURES = 4.0
# An open loop piles up so many times what a load that is served has in flight.
PILE_UP = 4.0
SMALLEST_PILE = 64
_SHOWN = {"ttft_ms": "ttft_ms", "ttft_from_intended_ms": "ttft_ms", "itl_ms": "itl_ms", "tpot_ms": "itl_ms"}


@dataclass(frozen=True)
class OverloadRule:
    """Says why a step is hopeless, or nothing.

    `slo`: metric -> limit. `share`: of requests that have to meet them. `rate_requests_s`: of an open loop;
    None in a closed one, which cannot pile up. `usual_s`: the time that a request took at a load that was
    served; None where that is not known.
    """

    slo: Mapping[str, float]
    share: float
    rate_requests_s: float | None = None
    usual_s: float | None = None

    def __call__(self, now: Snapshot) -> str | None:
        """The reason to end the step now."""
        return self._failures(now) or self._slow(now) or self._pile_up(now)

    def _failures(self, now: Snapshot) -> str | None:
        failed = sum(n for name, n in now.outcomes.items() if name not in ("ok", "hung_up"))
        share = failed / max(sum(now.outcomes.values()), 1)
        if failed < FEWEST_FAILED or share <= min(MANY_FAILURES * (1.0 - self.share), 0.9):
            return None
        return f"{format_percentage(share)} of {now.finished} requests failed"

    def _slow(self, now: Snapshot) -> str | None:
        """The median misses, so at least half of the requests do."""
        if now.outcomes.get("ok", 0) < FEWEST_FINISHED:
            return None
        for name, limit in self.slo.items():
            shown = _SHOWN.get(name)
            three = getattr(now, shown) if shown else None
            if three is not None and three[0] > limit:
                return f"the median {shown} is {format_number(three[0])}, over the limit of {limit:g}"
        return None

    def _pile_up(self, now: Snapshot) -> str | None:
        """By Little's law what is in flight is the rate times the time that a request takes."""
        if self.rate_requests_s is None or self.usual_s is None:
            return None
        most = max(SMALLEST_PILE, PILE_UP * self.rate_requests_s * self.usual_s)
        if now.in_flight <= most:
            return None
        return f"{now.in_flight} requests have piled up, where about {most / PILE_UP:.0f} are usual"

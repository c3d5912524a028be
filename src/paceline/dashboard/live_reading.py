"""What a gateway says of itself at one moment, and what two moments together say of the time between."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from paceline.measure.exposition import read_page

# A gateway of hundreds of offers says a few hundred KB.
MOST_BYTES = 8 * 1024 * 1024
# More than any counter has, and few enough for every way of writing a number.
_MOST_DIGITS = 20
_PREFIX = "paceline_gateway_"
_COUNTERS = ("requests_total", "tokens_total", "cost_usd_total", "unpriced_total")
_GAUGES = ("requests_in_flight", "connections", "draining", "ledger_failing")
_OK = ("ok", "probe")


@dataclass(frozen=True)
class Reading:
    """One moment. at_s: seconds, monotonic. requests, failed, tokens (completion), cost_usd: since its start.

    unpriced: attempts that are not in cost_usd, as their price is not known.
    offers: as in `paceline.endpoints/1` (docs/reference/gateway-api.md).
    """

    at_s: float
    requests: float
    failed: float
    tokens: float
    cost_usd: float
    unpriced: float
    in_flight: int
    connections: int
    draining: bool
    ledger_failing: bool
    offers: tuple[Mapping[str, Any], ...] = field(repr=False)
    window_s: float | None = None


@dataclass(frozen=True)
class Rates:
    """Between two readings, each a second."""

    requests_s: float
    failed_s: float
    output_tok_s: float
    usd_h: float


def read_gateway(metrics: str, endpoints: str, at_s: float) -> Reading:
    """A reading of both pages. Raises ValueError where one is no page of a gateway."""
    document = json.loads(endpoints, parse_int=_whole)
    if not isinstance(document, dict) or document.get("schema") != "paceline.endpoints/1":
        raise ValueError("what answers there is no gateway of Paceline")
    offers = document.get("offers")
    page = read_page(metrics, {f"{_PREFIX}{name}" for name in (*_COUNTERS, *_GAUGES)})
    sums: dict[str, float] = {}
    for one in page.samples:
        name = one.name.removeprefix(_PREFIX)
        sums[name] = sums.get(name, 0.0) + one.value
        if name == "requests_total" and one.labels.get("outcome") not in _OK:
            sums["failed"] = sums.get("failed", 0.0) + one.value
        if name == "tokens_total" and one.labels.get("kind") == "completion":
            sums["completion"] = sums.get("completion", 0.0) + one.value
    return Reading(
        at_s=at_s,
        requests=sums.get("requests_total", 0.0),
        failed=sums.get("failed", 0.0),
        tokens=sums.get("completion", 0.0),
        cost_usd=sums.get("cost_usd_total", 0.0),
        unpriced=sums.get("unpriced_total", 0.0),
        in_flight=int(sums.get("requests_in_flight", 0.0)),
        connections=int(sums.get("connections", 0.0)),
        draining=bool(sums.get("draining")),
        ledger_failing=bool(sums.get("ledger_failing")),
        offers=tuple(one for one in offers if isinstance(one, dict)) if isinstance(offers, list) else (),
        window_s=_number(document.get("window_s")),
    )


def rates_between(before: Reading, now: Reading) -> Rates | None:
    """None where no time lies between, or the gateway began anew: its counters then went down."""
    seconds = now.at_s - before.at_s
    if seconds <= 0.0 or now.requests < before.requests:
        return None
    return Rates(
        requests_s=(now.requests - before.requests) / seconds,
        failed_s=max(now.failed - before.failed, 0.0) / seconds,
        output_tok_s=max(now.tokens - before.tokens, 0.0) / seconds,
        usd_h=max(now.cost_usd - before.cost_usd, 0.0) / seconds * 3600.0,
    )


def _whole(text: str) -> int:
    if len(text) > _MOST_DIGITS:
        raise ValueError("it says a number that no gateway has")
    return int(text)


def _number(value: Any) -> float | None:
    good = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if good else None

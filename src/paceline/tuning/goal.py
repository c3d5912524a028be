"""What the tuner is to reach: `min itl_ms`, or `max goodput @ ttft_ms<=500,itl_ms<=50`."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from paceline.config import choice_hint
from paceline.errors import ConfigError
from paceline.stats.metrics import METRICS

Direction = Literal["min", "max"]

# A request's own: one stream is measured, and settings are held against each other prompt by prompt.
REQUEST_METRICS: dict[str, Direction] = {
    "itl_ms": "min",
    "tpot_ms": "min",
    "ttft_ms": "min",
    "e2e_ms": "min",
    "output_tok_s": "max",
}
# Of a whole load: the best that a ladder of concurrencies shows, one value a block.
LOAD_METRICS: dict[str, Direction] = {"goodput": "max", "throughput": "max"}
_METRICS = REQUEST_METRICS | LOAD_METRICS
_UNITS = {"goodput": "requests/s", "throughput": "tok/s"}
_EXAMPLES = "write `min itl_ms`, or `max goodput @ ttft_ms<=500,itl_ms<=50`"


@dataclass(frozen=True, slots=True)
class Goal:
    """metric: of a request (REQUEST_METRICS), or of a whole load (LOAD_METRICS).

    slo: metric -> limit, for goodput: an upper limit, or a lower one where higher is better. text: as it was
    written.
    """

    direction: Direction
    metric: str
    slo: Mapping[str, float]
    text: str

    @property
    def one_stream(self) -> bool:
        """Measured with one stream; else on a ladder of concurrencies, one value a block, under key 0."""
        return self.metric in REQUEST_METRICS

    @property
    def unit(self) -> str:
        """Of the metric's values."""
        return _UNITS[self.metric] if self.metric in _UNITS else METRICS[self.metric].unit

    def better(self, a: float, b: float) -> bool:
        """Whether `a` is better than `b`; what is no number is never better."""
        if math.isnan(a) or math.isnan(b):
            return not math.isnan(a)
        return a < b if self.direction == "min" else a > b

    def ratio(self, default: float, tuned: float) -> float:
        """How many times better `tuned` is, above 1 where it is; nan where nothing can be said."""
        above, below = (default, tuned) if self.direction == "min" else (tuned, default)
        if math.isnan(above) or math.isnan(below) or (above == 0.0 and below == 0.0):
            return math.nan
        return above / below if below else math.inf

    def counts(self, value: float) -> bool:
        """Whether it is a value: finite and above 0, or 0 of a whole load (no request met the limits)."""
        return math.isfinite(value) and (value > 0.0 or (value == 0.0 and not self.one_stream))

    def middle(self, values: Iterable[float]) -> float:
        """The geometric mean of requests' values, which are told by ratios; the mean of a whole load's.

        Of one value at least, all of which count.
        """
        found = list(values)
        if self.one_stream:
            return math.exp(math.fsum(map(math.log, found)) / len(found))
        return math.fsum(found) / len(found)


def parse_goal(text: str) -> Goal:
    """Read `min|max METRIC [@ METRIC<=LIMIT,...]`. Raises ConfigError that says what is wrong in it."""
    head, at, limits = text.partition("@")
    words = head.split()
    if len(words) != 2:
        raise ConfigError(f"--goal {text!r} is not a direction and a metric", _EXAMPLES)
    asked, metric = words[0].lower(), words[1]
    if metric not in _METRICS:
        hint = choice_hint(metric, "metrics to tune for", _METRICS)
        raise ConfigError(f"--goal: there is no metric {metric!r} to tune for", hint)
    direction = _METRICS[metric]
    if asked not in ("min", "max"):
        raise ConfigError(f"--goal: {words[0]!r} is neither min nor max", f"write `{direction} {metric}`")
    if asked != direction:
        worse = "high" if direction == "min" else "low"
        raise ConfigError(
            f"--goal: `{asked} {metric}` asks for the worst: a {worse} {metric} is bad",
            f"write `{direction} {metric}`",
        )
    slo = _limits(limits) if at else {}
    _check_limits(metric, slo, at=bool(at))
    return Goal(direction, metric, slo, " ".join(text.split()))


def _check_limits(metric: str, slo: Mapping[str, float], *, at: bool) -> None:
    if metric == "goodput" and not slo:
        raise ConfigError(
            "--goal: goodput counts the requests within limits, and none is stated",
            "write `max goodput @ ttft_ms<=500,itl_ms<=50`",
        )
    if metric != "goodput" and at:
        raise ConfigError(
            f"--goal: limits belong to goodput, and this goal is {metric}",
            f"write `{_METRICS[metric]} {metric}`, or `max goodput @ ...` with these limits",
        )


def _limits(text: str) -> dict[str, float]:
    found: dict[str, float] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, sign, limit = _parted(part)
        if name not in METRICS:
            hint = choice_hint(name, "metrics", METRICS)
            raise ConfigError(f"--goal: there is no metric {name!r} to set a limit on", hint)
        right = "<=" if METRICS[name].better == "lower" else ">="
        if sign != right:
            raise ConfigError(
                f"--goal: {part!r} limits {name} on the wrong side", f"write {name}{right}{limit}"
            )
        if name in found:
            raise ConfigError(f"--goal limits {name} twice", "state one limit a metric")
        found[name] = _positive(name, limit)
    return found


def _parted(part: str) -> tuple[str, str, str]:
    for sign in ("<=", ">="):
        name, found, limit = part.partition(sign)
        if found:
            return name.strip(), sign, limit.strip()
    raise ConfigError(f"--goal: {part!r} states no limit", "write it as ttft_ms<=500")


def _positive(name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0.0):
        raise ConfigError(
            f"--goal: the limit of {name}, {text!r}, is no number above 0", f"write {name} with a number"
        )
    return value

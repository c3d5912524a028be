"""What an offer must be, judged on bounds: each constraint `meets`, `fails`, or there is not enough data."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from paceline.errors import ConfigError
from paceline.stats.goodput import Slo
from paceline.stats.metrics import JOB_METRICS

Outcome = Literal["meets", "fails", "not enough data"]
Per = Literal["job", "day", "month"]

PERS: tuple[Per, ...] = ("job", "day", "month")
SLO_SHARE = 0.95

COLUMN_OF = {
    "ttft_ms": "ttft_ms",
    "ttfat_ms": "ttfat_ms",
    "e2e_ms": "e2e_ms",
    "ttft_from_intended_ms": "ttft_ms",
    "ttfat_from_intended_ms": "ttfat_ms",
    "e2e_from_intended_ms": "e2e_ms",
    "tpot_ms": "output_tok_s",
    "itl_ms": "output_tok_s",
    "output_tok_s": "output_tok_s",
    "longest_stall_ms": "longest_stall_ms",
    "fluidity": "fluidity",
}
"""Metrics that a limit can be on, and the column of the evidence that tells of each."""

_CAPABILITY = re.compile(r"\s*([A-Za-z0-9][\w.:/+@-]*)?\s*>=\s*([0-9.]+)\s*(%?)\s*")
_BUDGET = re.compile(r"\s*\$?\s*([0-9.eE+-]+)\s*(?:USD)?\s*/\s*(job|day|month)\s*")
_QUANTILE = re.compile(r"p(\d{1,2}(?:\.\d+)?)\s*:\s*(.+)")


@dataclass(frozen=True)
class SloConstraint:
    """At least `share` of attempted requests (of jobs, where the limits are theirs) meet every limit.

    quantile: it was asked as a percentile (`p95:ttft_ms=500`), so that requests without the metric do not
    count; those that were cut count as misses.
    """

    kind: ClassVar[str] = "slo"
    limits: Mapping[str, float]
    share: float = SLO_SHARE
    quantile: bool = False

    @property
    def of_jobs(self) -> bool:
        """The limits are on whole jobs."""
        return any(name in JOB_METRICS for name in self.limits)

    @property
    def name(self) -> str:
        """As it was asked."""
        limits = ",".join(f"{name}={limit:g}" for name, limit in self.limits.items())
        return f"p{100.0 * self.share:g}:{limits}" if self.quantile else limits


@dataclass(frozen=True)
class CapabilityConstraint:
    """At least this share of the benchmark's items is solved. benchmark: None: the board's own."""

    kind: ClassVar[str] = "capability"
    least: float
    benchmark: str | None = None

    @property
    def name(self) -> str:
        """As it was asked."""
        return f"{self.benchmark or 'capability'} >= {self.least:g}"


@dataclass(frozen=True)
class BudgetConstraint:
    """The bill is at most this."""

    kind: ClassVar[str] = "budget"
    usd: float
    per: Per

    @property
    def name(self) -> str:
        """As it was asked."""
        return f"{self.usd:g} USD/{self.per}"


@dataclass(frozen=True)
class SuccessConstraint:
    """At least this share of attempted requests ends well."""

    kind: ClassVar[str] = "success"
    share: float

    @property
    def name(self) -> str:
        """As it was asked."""
        return f"success >= {self.share:g}"


Constraint = SloConstraint | CapabilityConstraint | BudgetConstraint | SuccessConstraint


@dataclass(frozen=True)
class Verdict:
    """How an offer stands to a constraint.

    value: the estimate; lo, hi: its one-sided bounds at the errors of the advice; None: no bound. limit: what
    was asked. n: observations (`unit`: requests, jobs, items); effective_n: what they are worth. needs: with
    `not enough data`, how many more observations settle it; None: too many, or no number does, and `why` says
    so. missing: it is not observations that are missing, but a fact: a price, a score, streaming; `why` says
    what to do.
    """

    constraint: Constraint
    outcome: Outcome
    limit: float
    value: float | None = None
    lo: float | None = None
    hi: float | None = None
    n: int = 0
    effective_n: float | None = None
    unit: str = "requests"
    needs: int | None = None
    missing: bool = False
    why: str | None = None

    @property
    def is_share(self) -> bool:
        """The figures are fractions, of which there is to be at least `limit`; else USD, at most `limit`."""
        return self.constraint.kind != "budget"

    def __str__(self) -> str:
        """`meets`; `not enough data (40 more requests)`."""
        if self.outcome != "not enough data":
            return self.outcome
        if self.needs is not None:
            unit = self.unit.removesuffix("s") if self.needs == 1 else self.unit
            return f"not enough data ({self.needs:,} more {unit})"
        return f"not enough data ({self.why})" if self.why else "not enough data"


TOO_CLOSE = "more than 100,000 more: too close to call"


def parse_slos(text: str, share: float = SLO_SHARE) -> list[SloConstraint]:
    """`ttft_ms=500,itl_ms=50` is one constraint, each `p95:ttft_ms=500` its own, `job_ms=9000` one of jobs.

    Raises ConfigError for an unknown metric, one that stored evidence does not tell of, or a bad limit.
    """
    requests: list[str] = []
    found: list[SloConstraint] = []
    jobs: dict[str, float] = {}
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        asked = _QUANTILE.fullmatch(part)
        if asked:
            found.append(SloConstraint(_limits(asked[2]), _percentile(asked[1]), quantile=True))
        elif part.partition("=")[0].strip() in JOB_METRICS:
            name, _, limit = part.partition("=")
            jobs[name.strip()] = _positive(limit, f"--slo: {part!r}")
        else:
            requests.append(part)
    if requests:
        found.insert(0, SloConstraint(_limits(",".join(requests)), share))
    if jobs:
        found.append(SloConstraint(jobs, share))
    return found


def slo_constraints(
    slo: Mapping[str, float], job_slo: Mapping[Any, float], share: float = SLO_SHARE
) -> list[SloConstraint]:
    """Those of a workload; limits that stored evidence does not tell of are left to `paceline measure`."""
    limits = {name: limit for name, limit in slo.items() if name in COLUMN_OF}
    return [SloConstraint(dict(one), share) for one in (limits, job_slo) if one]


def parse_capability(text: str) -> CapabilityConstraint:
    """`>= 0.7`, `gpqa >= 0.5`, `>= 70%`. Raises ConfigError."""
    hint = "write --capability '>= 0.7', or with a benchmark's name: 'gpqa >= 0.5'"
    asked = _CAPABILITY.fullmatch(text)
    if asked is None:
        raise ConfigError(f"--capability: {text!r} states no least share", hint)
    least = _positive(asked[2], f"--capability: {text!r}") / (100.0 if asked[3] else 1.0)
    if least > 1.0:
        raise ConfigError(f"--capability: {text!r} is more than all items", hint)
    return CapabilityConstraint(least, asked[1])


def parse_budget(text: str) -> BudgetConstraint:
    """`0.01/job`, `50/day`, `1500/month`, in USD. Raises ConfigError."""
    asked = _BUDGET.fullmatch(text)
    if asked is None:
        raise ConfigError(
            f"--budget: {text!r} is no amount per job, day or month",
            "write USD and what they are for: 0.01/job, 50/day or 1500/month",
        )
    per: Per = "job" if asked[2] == "job" else "day" if asked[2] == "day" else "month"
    return BudgetConstraint(_positive(asked[1], f"--budget: {text!r}"), per)


def _limits(text: str) -> dict[str, float]:
    limits = Slo.parse(text).limits
    for name in limits:
        if name not in COLUMN_OF:
            raise ConfigError(
                f"--slo: {name} is not among what is kept of each stored request",
                f"limits can be on: {', '.join(dict.fromkeys([*COLUMN_OF, *JOB_METRICS]))}",
            )
    return limits


def _percentile(text: str) -> float:
    share = float(text) / 100.0
    if not 0.0 < share < 1.0:
        raise ConfigError(f"--slo: p{text} is no percentile", "write p50, p95 or p99")
    return share


def _positive(text: str, where: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (value > 0.0 and math.isfinite(value)):
        raise ConfigError(f"{where}: {text.strip()!r} is no positive number", "give a number above 0")
    return value

"""Service level objectives, and the requests that met every one of them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paceline.errors import ConfigError
from paceline.stats.frame import Bools, Frame
from paceline.stats.metrics import JOB_METRICS, METRICS, MetricSamples

# Metrics that a request has none of when all its tokens came in one event, or on a reused connection: there
# was nothing to be late.
_NEEDS_SEVERAL_EVENTS = {"tpot_ms", "output_tok_s", "chunk_gap_ms", "itl_ms", "longest_stall_ms"}
_NEEDS_CONNECTION = {"connect_ms", "tls_ms"}
# Of a request whose caller hung up nobody knows how it would have ended.
_NEEDS_END = {"e2e_ms", "e2e_from_intended_ms", "tpot_ms", "output_tok_s", "fluidity"}
_NEEDS_HANGUP = {"stop_ms"}


@dataclass(frozen=True)
class Slo:
    """Limits by metric name, in the metric's unit: upper limits, or lower ones where higher is better.

    A limit on a pooled metric (`chunk_gap_ms`, `itl_ms`) is one on the request's mean; `longest_stall_ms`
    limits its largest gap.
    """

    limits: dict[str, float]

    @classmethod
    def parse(cls, text: str) -> "Slo":
        """Read `ttft_ms=500,itl_ms=50`; an empty text states none.

        Raises ConfigError for an unknown metric, a metric named twice, or a limit that is no positive number.
        """
        limits: dict[str, float] = {}
        for part in filter(None, (part.strip() for part in text.split(","))):
            name, equals, limit = (piece.strip() for piece in part.partition("="))
            if not equals:
                raise ConfigError(f"SLO {part!r} states no limit", "write it as ttft_ms=500,itl_ms=50")
            if name in JOB_METRICS:
                raise ConfigError(
                    f"{name} is a metric of jobs, and the SLO is of requests",
                    f"state it in the workload: --set job_slo.{name}={limit}",
                )
            if name not in METRICS:
                raise ConfigError(f"unknown metric {name!r} in the SLO", f"known are: {', '.join(METRICS)}")
            if name in limits:
                raise ConfigError(f"the SLO names {name} twice", "state one limit a metric")
            limits[name] = _positive(name, limit)
        return cls(limits)

    def __str__(self) -> str:
        return ",".join(f"{name}={limit:g}" for name, limit in self.limits.items())


@dataclass(frozen=True)
class Goodput:
    """`attempted`: measured requests of every outcome, and arrivals that were due and never sent.

    `met`: those that ended `ok`, or were hung up as asked, and met every limit that applies. `share`: met /
    attempted. `requests_s`: those that met, a second, in the windows of the throughput, and so never more
    than its `requests_s`. Both None where there is nothing to divide by. `met_by_limit`: by metric, those
    that ended so and met this limit.
    """

    attempted: int
    met: int
    share: float | None
    requests_s: float | None
    met_by_limit: dict[str, int]


def goodput(
    rows: pa.Table,
    metrics: dict[str, MetricSamples],
    slo: Slo,
    credit: npt.NDArray[np.float64],
    seconds: float,
    *,
    dropped: int = 0,
) -> Goodput:
    """Goodput of a run over its attempted requests.

    `metrics`: derived from the same rows. `credit`, `seconds`: those of their `steady.Throughput`. `dropped`:
    arrivals that were due and never sent.
    """
    frame = Frame(rows)
    met = frame.well.copy()
    by_limit = {}
    for name, limit in slo.limits.items():
        holds = frame.well & _meets(frame, metrics[name], limit)
        by_limit[name] = int(holds.sum())
        met &= holds
    attempted = int(frame.measured.sum()) + dropped
    count = int(met.sum())
    return Goodput(
        attempted=attempted,
        met=count,
        share=count / attempted if attempted else None,
        requests_s=float(credit[met].sum()) / seconds if seconds > 0.0 else None,
        met_by_limit=by_limit,
    )


def closeness(
    rows: pa.Table, metrics: dict[str, MetricSamples], slo: Slo, quantiles: Sequence[float]
) -> dict[str, list[float | None]]:
    """How close the measured requests came to each limit, by metric, and to the nearest, under `all`.

    Quantiles of value / limit (limit / value where higher is better), so that over 1 is a miss; 0 where a
    limit applies to nothing of a request. None in place of a quantile that failed, or without requests.
    """
    frame = Frame(rows)
    found: dict[str, list[float | None]] = {}
    nearest = np.zeros(frame.rows)
    for name, limit in slo.limits.items():
        mean, number, exempt = _means(frame, metrics[name])
        with np.errstate(divide="ignore"):
            ratio = mean / limit if METRICS[name].better == "lower" else limit / mean
        ratio = np.where(exempt, 0.0, np.where(frame.well & (number > 0), ratio, np.inf))
        found[name] = _quantiles(ratio[frame.measured], quantiles)
        nearest = np.maximum(nearest, ratio)
    found["all"] = _quantiles(nearest[frame.measured], quantiles)
    return found


def _quantiles(ratio: npt.NDArray[np.float64], quantiles: Sequence[float]) -> list[float | None]:
    if not len(ratio):
        return [None] * len(quantiles)
    return [
        float(value) if math.isfinite(value) else None
        for value in np.quantile(ratio, quantiles, method="inverted_cdf")
    ]


def _meets(frame: Frame, samples: MetricSamples, limit: float) -> Bools:
    """Rows that meet the limit, or have nothing that it could apply to, bool[r]."""
    mean, number, exempt = _means(frame, samples)
    within = mean <= limit if METRICS[samples.name].better == "lower" else mean >= limit
    meets: Bools = ((number > 0) & within) | exempt
    return meets


def _means(
    frame: Frame, samples: MetricSamples
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64], Bools]:
    """By row: the mean of its values, how many they are, and whether no limit applies to it, [r] each."""
    name = samples.name
    number = np.bincount(samples.row, minlength=frame.rows)
    total = np.bincount(samples.row, samples.values, frame.rows).astype(np.float64)
    mean = total / np.maximum(number, 1)
    exempt = np.zeros(frame.rows, np.bool_)
    if name in _NEEDS_SEVERAL_EVENTS:
        exempt = frame.streaming & (number == 0)
    elif name in _NEEDS_CONNECTION:
        exempt = number == 0
    elif name in _NEEDS_HANGUP:
        exempt = ~frame.hung_up
    if name in _NEEDS_END:
        exempt |= frame.hung_up
    return mean, number, exempt


def _positive(name: str, text: str) -> float:
    try:
        limit = float(text)
    except ValueError:
        limit = math.nan
    if not (limit > 0.0 and math.isfinite(limit)):
        unit = METRICS[name].unit
        raise ConfigError(f"SLO {name}={text!r} is no positive number", f"give the limit in {unit}")
    return limit

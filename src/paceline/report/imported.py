"""Runs that another tool measured: what their rows do not tell is left out of every figure."""

from dataclasses import replace

import numpy as np

from paceline.stats.metrics import MetricSamples
from paceline.stats.steady import Throughput
from paceline.store.manifest import RunManifest

RATES = "rates"
"""In `hidden`: the rows have no place in time, so there are no rates and no timeline."""


def hidden_metrics(manifest: RunManifest) -> frozenset[str]:
    """Metrics that the rows of the run would give and its file did not tell, and perhaps RATES."""
    return frozenset((manifest.imported or {}).get("hidden", ()))


def imported_from(manifest: RunManifest) -> str | None:
    """The tool that measured, as in `guidellm 0.8.1`; None for our own runs."""
    if manifest.imported is None:
        return None
    version = manifest.imported.get("version")
    return f"{manifest.imported['tool']} {version}" if version else str(manifest.imported["tool"])


def imported_lacks(manifest: RunManifest) -> tuple[str, ...]:
    """What the file of an imported run does not hold, in words."""
    return tuple((manifest.imported or {}).get("lacks", ()))


def told_samples(manifest: RunManifest, samples: dict[str, MetricSamples]) -> dict[str, MetricSamples]:
    """The samples, none of those metrics that the file did not tell."""
    hidden = hidden_metrics(manifest)
    return {name: _empty(metric) if name in hidden else metric for name, metric in samples.items()}


def told_rates(manifest: RunManifest, pace: Throughput) -> Throughput:
    """The rates; over no time where the rows have no place in it."""
    if RATES not in hidden_metrics(manifest):
        return pace
    return Throughput(None, None, 0.0, False, None, None, 0.0, np.zeros_like(pace.credit))


def _empty(metric: MetricSamples) -> MetricSamples:
    nothing = np.empty(0, np.int64)
    return replace(metric, values=np.empty(0), at_ns=nothing, row=nothing, censored=np.empty(0))

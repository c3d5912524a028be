"""Figures as JSON has them: no NaN, no infinity."""

import json
import math
from typing import Any

from paceline.stats.quantiles import Estimate
from paceline.stats.summary import Summary

QUANTILES = ("p50", "p90", "p95", "p99")


def json_text(document: Any) -> str:
    """A document as JSON for a file, with a line end. Raises ValueError for a NaN or an infinity."""
    return json.dumps(document, indent=2, allow_nan=False, ensure_ascii=False) + "\n"


def number(value: float | None) -> float | None:
    """The value, or None for what JSON has no number for."""
    return None if value is None or not math.isfinite(value) else value


def clean(value: Any) -> Any:
    """The value with every NaN and infinity as None."""
    if isinstance(value, dict):
        return {str(key): clean(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [clean(item) for item in value]
    return number(value) if isinstance(value, float) else value


def estimate_dict(estimate: Estimate) -> dict[str, Any]:
    """A percentile of `paceline.report/1`."""
    return {
        "value": number(estimate.value),
        "lo": number(estimate.lo),
        "hi": number(estimate.hi),
        "enough": estimate.enough,
    }


def metric_dict(summary: Summary) -> dict[str, Any]:
    """A metric of `paceline.report/1` (docs/reference/report.md)."""
    quantiles = {name: estimate_dict(getattr(summary, name)) for name in QUANTILES}
    return {"n": summary.n, "mean": number(summary.mean), **quantiles, "max": number(summary.max)}

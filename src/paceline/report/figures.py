"""Figures as JSON has them: no NaN, no infinity."""

import json
import math
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from paceline.stats.quantiles import Estimate
from paceline.stats.summary import Summary

if TYPE_CHECKING:
    from paceline.advisor.identity import OfferKey

QUANTILES = ("p50", "p90", "p95", "p99")


def json_text(document: Any) -> str:
    """A document as JSON for a file, with a line end. Raises ValueError for a NaN or an infinity."""
    return json.dumps(document, indent=2, allow_nan=False, ensure_ascii=False) + "\n"


def number(value: float | None) -> float | None:
    """The value, or None for what JSON has no number for."""
    return None if value is None or not math.isfinite(value) else value


_DIGITS = 9


def rounded(value: float | None) -> float | None:
    """Nine digits that say something, since below that it is noise; None for what JSON has no number for."""
    return None if value is None or not math.isfinite(value) else float(f"{value:.{_DIGITS}g}")


def moment_text(moment: datetime | None) -> str | None:
    """A moment as documents have it: in UTC, to the second."""
    return None if moment is None else moment.astimezone(UTC).isoformat(timespec="seconds")


def offer_dict(key: "OfferKey") -> dict[str, str]:
    """Which offer something is of."""
    return {"model": key.model, "provider": key.provider, "tier": key.tier}


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

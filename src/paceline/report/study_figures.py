"""What one step of a study has shown, brief enough to be kept in the study itself."""

from typing import Any

import numpy as np

from paceline.report.figures import clean, estimate_dict
from paceline.report.model import FROM_INTENDED, Report, build_report
from paceline.stats.capacity_margin import QUANTILES
from paceline.stats.frame import MISSING, Frame
from paceline.stats.goodput import Slo, closeness
from paceline.store.runs import StoredRun

# Reasons by which the load was not the one that was asked for.
CLIENT_CODES = (
    *("undelivered_share", "dropped_share", "starved_share"),
    *("stalled_share", "cpu_fraction", "runqueue_share"),
)
_STEMS = ("ttft", "e2e")
_WAITS = {
    "ttft_ms": "sent_ns",
    "ttft_from_intended_ms": "intended_ns",
    "e2e_ms": "sent_ns",
    "e2e_from_intended_ms": "intended_ns",
}


def step_figures(run: StoredRun, cut_short: bool) -> dict[str, Any]:
    """The figures of a step. `cut_short`: it was ended early as the endpoint was overloaded.

    Raises StoreError when the run cannot be read.
    """
    return report_figures(build_report(run), cut_short)


def report_figures(report: Report, cut_short: bool) -> dict[str, Any]:
    """The same from the report of its run."""
    evidence = report.evidence
    pace, met = evidence.throughput, evidence.goodput
    unknown = _unknown(report) if cut_short else 0
    dropped = 0 if cut_short or met is None else met.attempted - report.attempted
    found: dict[str, Any] = {
        "attempted": report.attempted - unknown + dropped,
        "unknown": unknown,
        "ok": report.well,
        "by_outcome": evidence.by_outcome,
        "met": None if met is None else met.met,
        "met_by_limit": {} if met is None else met.met_by_limit,
        "close": closeness(evidence.rows, evidence.samples, Slo(report.manifest.slo or {}), QUANTILES),
        "from_due": evidence.open_loop,
        "output_tok_s": pace.output_tok_s,
        "requests_s": pace.requests_s,
        "goodput_requests_s": None if met is None else met.requests_s,
        "steady": pace.steady,
        **_trust(report, cut_short),
    }
    for stem in _STEMS:
        found[stem] = _metric(report, stem + (FROM_INTENDED if evidence.open_loop else "_ms"))
    found["itl"] = _metric(report, "itl_ms")
    found["user_tok_s"] = _metric(report, "output_tok_s")
    found["e2e_mean_ms"] = None if found["e2e"] is None else found["e2e"]["mean"]
    if evidence.jobs is not None:
        found["jobs"] = evidence.jobs.to_dict()
    plain: dict[str, Any] = clean(found)
    return plain


def _trust(report: Report, cut_short: bool) -> dict[str, Any]:
    """The verdict on the step, its reasons, and whether the client failed, not the endpoint.

    Of a step that was cut short only the client can be doubted: that requests failed is what ended it.
    """
    reasons = [reason for reason in report.trust.reasons if reason.severity != "note"]
    if cut_short:
        reasons = [reason for reason in reasons if reason.code in CLIENT_CODES]
    invalid = [reason.code for reason in reasons if reason.severity == "invalid"]
    return {
        "trust": "invalid" if invalid else "suspect" if reasons else "trusted",
        "reasons": [{"code": reason.code, "text": reason.text} for reason in reasons],
        "client_failed": any(code in CLIENT_CODES for code in invalid),
    }


def _metric(report: Report, name: str) -> dict[str, Any] | None:
    metric = report.metrics.get(name)
    if metric is None:
        return None
    quantiles = {q: estimate_dict(metric.quantile(q)) for q in ("p50", "p95", "p99")}
    return {"n": metric.summary.n, "mean": metric.summary.mean, **quantiles}


def _unknown(report: Report) -> int:
    """Requests that were in flight when the step was cut short, and had not missed any objective by then.

    They would have been answered or not: leaving them out is fair to either.
    """
    frame = Frame(report.evidence.rows)
    cancelled = frame.measured & frame.equals("outcome", "cancelled")
    missed = np.zeros(frame.rows, np.bool_)
    for name, limit in (report.manifest.slo or {}).items():
        begin = _WAITS.get(name)
        if begin is None:
            continue
        start = frame.ints(begin)
        reached = frame.first_ns if name.startswith("ttft") else np.full(frame.rows, MISSING)
        until = np.where(reached == MISSING, frame.ints("end_ns"), reached)
        missed |= (start != MISSING) & (until - start > limit * 1e6)
    return int((cancelled & ~missed).sum())

"""Studies as they lie in the store, made up."""

from pathlib import Path
from typing import Any

from paceline.report.study import StudyReport, build_study_report
from paceline.store.studies import StoredStudy, StudyManifest, StudyStep


def figures(concurrency: float, **fields: Any) -> dict[str, Any]:
    """What an engine shows that slows by the requests in flight, and is full at 16."""
    slow = max(concurrency / 16.0, 1.0)
    ttft, itl = 20.0 * slow**3, 8.0 + 0.3 * min(concurrency, 16.0)
    rate = min(concurrency, 16.0) / (0.02 + 0.032 * itl)
    return {
        "attempted": int(100 * slow), "unknown": 0, "ok": 100, "by_outcome": {"ok": 100},
        "met": 0 if concurrency > 16 else 100, "met_by_limit": {"ttft_ms": 0 if concurrency > 16 else 100},
        "from_due": False, "output_tok_s": 32.0 * rate, "requests_s": rate,
        "goodput_requests_s": 0.0 if concurrency > 16 else rate, "steady": True, "trust": "trusted",
        "reasons": [], "client_failed": False, "ttft": metric(ttft), "itl": metric(itl),
        "e2e": metric(ttft + 32 * itl), "user_tok_s": metric(1000.0 / itl),
        "e2e_mean_ms": ttft + 32 * itl, **fields,
    }  # fmt: skip


def metric(value: float) -> dict[str, Any]:
    quantiles = {
        name: {"value": value * by, "lo": 0.95 * value * by, "hi": 1.05 * value * by, "enough": True}
        for name, by in (("p50", 1.0), ("p95", 1.5), ("p99", 2.0))
    }
    return {"n": 100, "mean": value, **quantiles}


def step(number: int, at: dict[str, Any], **fields: Any) -> StudyStep:
    own = {"run_id": f"r{number}", "seconds": 10.0, "figures": figures(at.get("concurrency", 1.0)), **fields}
    return StudyStep(number=number, at=at, **own)


def study(steps: list[StudyStep], **fields: Any) -> StudyReport:
    asked = {
        "workload": {"prompt_tokens": "128", "output_tokens": "32", "tokenizer": "words"},
        "load": {"arrival": {"kind": "closed", "concurrency": 1}, "duration_ns": 4_000_000_000},
        "slo": {"ttft_ms": 150.0}, "points": [{"concurrency": 1}] * len(steps), "repeats": 1,
        "order": "random", "settle_ns": 5_000_000_000, "connection": {"header_names": ["x-key"]},
        **fields.pop("asked", {}),
    }  # fmt: skip
    manifest = StudyManifest.model_validate(
        {
            "id": "20261130-100000-aaaa", "kind": "sweep", "version": "0.1.0", "state": "complete",
            "endpoint": "http://127.0.0.1:9100/v1", "model": "m", "protocol": "openai-chat",
            "asked": asked, "steps": steps, **fields,
        }
    )  # fmt: skip
    return build_study_report(StoredStudy(Path("nowhere"), manifest))


def sweep() -> StudyReport:
    """One to 64 in flight; the last step was cut short."""
    steps = [step(place, {"concurrency": c}) for place, c in enumerate((4, 1, 32, 2, 16, 8))]
    return study([*steps, step(6, {"concurrency": 64}, overload="the median ttft_ms is over the limit")])


def capacity(verdict: str = "found", **result: Any) -> StudyReport:
    search = {
        "share": 0.95,
        "lowest": 1.0,
        "highest": 64.0,
        "whole": True,
        "confidence": 0.95,
        "tolerance": 0.05,
    }
    found = {
        "verdict": verdict, "load": 16.0, "lo": 16.0, "hi": 16.0, "estimate": 16.0, "needs_share": None,
        "needs_s": None, "inflation": 2.0, "left_out": 0, **result,
    }  # fmt: skip
    steps = [step(place, {"concurrency": c}) for place, c in enumerate((1, 2, 4, 8, 16, 32, 16, 17, 15))]
    asked = {"axis": "concurrency", "search": search, "criteria": ["all"], "budget_s": 600.0}
    return study(steps, kind="capacity", asked=asked, result=found)

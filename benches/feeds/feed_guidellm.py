"""GuideLLM's own figures of given events. Runs in GuideLLM's Python; events on stdin, figures on stdout.

Made for 0.8.1: its statistics are filled with the requests as its backend would have timed them.
"""

import json
import sys
from types import SimpleNamespace

from guidellm.benchmark.schemas.accumulator import GenerativeBenchmarkTimings, GenerativeRequestsAccumulator
from guidellm.benchmark.schemas.metrics import GenerativeMetrics
from guidellm.schemas import GenerativeRequestStats, RequestInfo, RequestTimings
from guidellm.schemas.base.request import UsageMetrics

# Instants of 0 mean "none" to it.
BASE_S = 64.0
METRICS = {
    "ttft_ms": ("time_to_first_token_ms", 1.0),
    "itl_ms": ("inter_token_latency_ms", 1.0),
    "tpot_ms": ("time_per_output_token_ms", 1.0),
    "e2e_ms": ("request_latency", 1000.0),
    "output_tok_s": ("output_tokens_per_second", 1.0),
    "requests_s": ("requests_per_second", 1.0),
}


def stats(index: int, request: dict) -> GenerativeRequestStats:
    def at(ns):
        return None if ns is None else BASE_S + ns / 1e9

    events = request["event_ns"] if request["streaming"] else []
    first, last = (events[0], events[-1]) if events else (None, None)
    end = at(request["end_ns"])
    timings = RequestTimings(
        targeted_start=at(request["sent_ns"]),
        resolve_start=at(request["sent_ns"]),
        request_start=at(request["sent_ns"]),
        first_token_iteration=at(first),
        first_output_token_iteration=at(first),
        last_token_iteration=at(last),
        request_iterations=len(events),
        token_iterations=len(events),
        request_end=end,
        resolve_end=end,
    )
    status = "completed" if request["good"] else "errored"
    return GenerativeRequestStats(
        request_id=str(index),
        info=RequestInfo(request_id=str(index), status=status, timings=timings),
        input_metrics=UsageMetrics(),
        output_metrics=UsageMetrics(text_tokens=request["tokens"]),
    )


requests = json.load(sys.stdin)
groups = {name: GenerativeRequestsAccumulator() for name in ("completed", "errored", "incomplete")}
for index, request in enumerate(requests):
    groups["completed" if request["good"] else "errored"].requests_stats.append(stats(index, request))
start = BASE_S + min(request["sent_ns"] for request in requests) / 1e9
end = BASE_S + max(request["end_ns"] for request in requests) / 1e9
accumulator = SimpleNamespace(
    timings=GenerativeBenchmarkTimings(
        request_start=start, measure_start=start, measure_end=end, request_end=end
    ),
    config=SimpleNamespace(
        confidence=0.95, slo=None, strategy=SimpleNamespace(defines_arrival_schedule=False)
    ),
    **groups,
)
compiled = GenerativeMetrics.compile(accumulator)
found = {}
for name, (theirs, factor) in METRICS.items():
    summary = getattr(compiled, theirs).successful
    values = {"mean": summary.mean, "max": summary.max}
    values |= {quantile: getattr(summary.percentiles, quantile) for quantile in ("p50", "p90", "p95", "p99")}
    found[name] = {"n": summary.count, **{key: value * factor for key, value in values.items()}}
print(json.dumps(found))

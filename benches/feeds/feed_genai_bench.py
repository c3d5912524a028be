"""genai-bench's own figures of given events. Runs where genai-bench can be imported; events on stdin.

Made for 0.0.5: its request collector reads each request, its aggregated collector makes the percentiles.
"""

import json
import sys

from genai_bench.metrics.aggregated_metrics_collector import AggregatedMetricsCollector
from genai_bench.metrics.request_metrics_collector import RequestMetricsCollector
from genai_bench.protocol import UserChatResponse

METRICS = {"ttft_ms": "ttft", "tpot_ms": "tpot", "e2e_ms": "e2e_latency"}

requests = json.load(sys.stdin)
aggregated = AggregatedMetricsCollector()
for request in requests:
    if not request["good"] or not request["event_ns"]:
        continue
    one = RequestMetricsCollector()
    one.calculate_metrics(
        UserChatResponse(
            status_code=200,
            generated_text="x",
            tokens_received=request["tokens"],
            time_at_first_token=request["event_ns"][0] / 1e9,
            num_prefill_tokens=1,
            start_time=request["begun_ns"] / 1e9,
            end_time=request["end_ns"] / 1e9,
        )
    )
    aggregated.add_single_request_metrics(one.metrics)
aggregated.aggregate_metrics_data(
    min(request["begun_ns"] for request in requests) / 1e9,
    max(request["end_ns"] for request in requests) / 1e9,
    None,
    None,
)
result = aggregated.aggregated_metrics
figures = {}
for name, theirs in METRICS.items():
    field = getattr(result.stats, theirs)
    figures[name] = {key: getattr(field, key) * 1000.0 for key in ("mean", "p50", "p90", "p95", "p99", "max")}
figures["output_tok_s"] = {"mean": result.mean_output_throughput_tokens_per_s}
figures["requests_s"] = {"mean": result.requests_per_second}
print(json.dumps(figures))

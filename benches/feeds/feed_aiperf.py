"""AIPerf's own figures of given events. Runs in AIPerf's Python; events on stdin, figures on stdout.

Made for 0.13.0: each request becomes a parsed record, each metric's own class reads it, and its own summary
makes the percentiles.
"""

import json
import sys

import numpy as np
from aiperf.common.exceptions import NoMetricValue
from aiperf.common.models import ParsedResponse, ParsedResponseRecord, RequestRecord
from aiperf.common.models.record_models import TextResponseData, TokenCounts
from aiperf.metrics.metric_dicts import MetricRecordDict, metric_result_from_array
from aiperf.metrics.types.inter_chunk_latency_metric import InterChunkLatencyMetric
from aiperf.metrics.types.inter_token_latency_metric import InterTokenLatencyMetric
from aiperf.metrics.types.output_sequence_length_metric import OutputSequenceLengthMetric
from aiperf.metrics.types.request_latency_metric import RequestLatencyMetric
from aiperf.metrics.types.ttft_metric import TTFTMetric

# Instants of 0 are not valid to it.
BASE_NS = 1_000_000_000
METRICS = {
    "ttft_ms": TTFTMetric,
    "e2e_ms": RequestLatencyMetric,
    "osl": OutputSequenceLengthMetric,
    "itl_ms": InterTokenLatencyMetric,
    "chunk_gap_ms": InterChunkLatencyMetric,
}


def record(request: dict) -> ParsedResponseRecord:
    responses = [
        ParsedResponse(perf_ns=BASE_NS + at, data=TextResponseData(text="x")) for at in request["event_ns"]
    ]
    return ParsedResponseRecord(
        request=RequestRecord(
            start_perf_ns=BASE_NS + request["begun_ns"],
            timestamp_ns=BASE_NS + request["begun_ns"],
            end_perf_ns=BASE_NS + request["end_ns"],
        ),
        responses=responses,
        token_counts=TokenCounts(output=request["tokens"]),
    )


values = {name: [] for name in METRICS}
for request in json.load(sys.stdin):
    parsed = record(request)
    # Errors never reach these classes: it asks the record.
    if not request["good"] or not parsed.valid:
        continue
    found = MetricRecordDict()
    for name, kind in METRICS.items():
        if not request["streaming"] and name not in ("e2e_ms", "osl"):
            continue
        try:
            found[kind.tag] = kind().parse_record(parsed, found)
        except NoMetricValue:
            continue
        value = found[kind.tag]
        values[name] += value if isinstance(value, list) else [value]
figures = {}
for name, samples in values.items():
    if name == "osl" or not samples:
        continue
    array = np.asarray(samples, np.float64) / 1e6
    summary = metric_result_from_array(name, name, "ms", array.copy(), float(array.sum()))
    figures[name] = {
        "n": summary.count,
        "mean": summary.avg,
        **{key: getattr(summary, key) for key in ("p50", "p90", "p95", "p99", "max")},
    }
print(json.dumps(figures))
